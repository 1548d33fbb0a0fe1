"""Samples of the ops of `random`."""
