"""What follows from a kernel's shader: its gradient, and its CPU kernel."""
