"""Losses, metrics, cells."""
