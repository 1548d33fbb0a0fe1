"""Bounds from a kernel's own syntax tree: its shaders run on intervals instead of numbers."""
