"""Trees: models, and nested arguments and results, with tensors as leaves."""
