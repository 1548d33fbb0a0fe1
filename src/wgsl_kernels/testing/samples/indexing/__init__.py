"""Samples of the ops of `indexing`."""
