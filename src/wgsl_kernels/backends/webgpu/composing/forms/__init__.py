"""The loops around authors' functions, a module for each form."""
