"""What will run, as a value."""
