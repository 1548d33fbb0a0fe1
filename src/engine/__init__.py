"""Tensors, registries, signatures, the tape: everything that knows no backend."""
