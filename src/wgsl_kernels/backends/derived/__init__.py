"""What follows from a kernel's shader: its gradient, and its CPU kernel.

What cannot be derived, or not run on NumPy, raises a ``ShaderError`` that points at the reason.
"""
