"""The public functions, one module per family."""
