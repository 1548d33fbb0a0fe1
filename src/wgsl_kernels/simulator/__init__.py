"""WGSL on NumPy: all invocations of a dispatch at once, without a GPU."""
