"""Recording runs and replaying them."""
