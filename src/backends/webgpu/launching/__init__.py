"""Launching kernels: from arrays to recorded dispatches, for each form of a kernel."""
