"""Backends by name: what the engine asks of one, which one is active, what it holds."""
