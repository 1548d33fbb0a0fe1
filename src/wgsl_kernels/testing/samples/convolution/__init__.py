"""Samples of the ops of `convolution`."""
