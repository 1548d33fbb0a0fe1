"""Quantised numbers: types narrower than a byte holds, and products of them."""
