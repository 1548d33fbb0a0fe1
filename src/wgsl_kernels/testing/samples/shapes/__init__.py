"""Samples of the ops of `shapes`."""
