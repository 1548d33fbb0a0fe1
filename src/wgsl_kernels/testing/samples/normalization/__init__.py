"""Samples of the ops of `normalization`."""
