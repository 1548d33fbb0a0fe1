"""Choosing among a kernel's variants by measured time."""
