"""Samples of the ops of `pooling`."""
