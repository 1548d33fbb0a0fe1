"""Samples of the ops of `signal`."""
