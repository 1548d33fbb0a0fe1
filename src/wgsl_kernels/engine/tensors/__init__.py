"""Tensors, and running kernels on them."""
