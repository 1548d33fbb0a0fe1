"""Samples of the ops of quantised numbers."""
