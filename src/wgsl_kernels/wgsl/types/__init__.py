"""The types of expressions: what WGSL makes of every part of a module."""
