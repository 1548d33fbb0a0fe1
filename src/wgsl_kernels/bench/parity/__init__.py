"""Certificates of parity: how far kernels are from float64 on a machine, and how they compare."""
