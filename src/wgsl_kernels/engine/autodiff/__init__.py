"""The tape, and derivatives of Python functions."""
