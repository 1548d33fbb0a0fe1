"""Products: how they are tiled, split and dispatched, and those that users write."""
