"""Samples of the ops of `images`."""
