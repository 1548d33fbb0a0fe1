"""What a function with full control is given, and what it does with that."""
