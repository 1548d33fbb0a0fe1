"""The sample table: a module per family."""
