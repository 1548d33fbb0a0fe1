"""Lazy maps: arrays that are expressions until somebody needs them, and their fused dispatches."""
