"""Samples of the ops of `elementwise`."""
