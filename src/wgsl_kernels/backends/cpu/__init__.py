"""The CPU backend: NumPy arrays, NumPy kernels."""
