"""Samples of the ops of `linear_algebra`."""
