"""Ops that make, join, cut and rearrange tensors."""
