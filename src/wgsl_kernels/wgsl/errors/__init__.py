"""Errors about shaders: what is found wrong, as values, and how messages show it."""
