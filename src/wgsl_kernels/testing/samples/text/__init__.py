"""Samples of the ops of `text`."""
