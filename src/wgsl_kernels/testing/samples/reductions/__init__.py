"""Samples of the ops of `reductions`."""
