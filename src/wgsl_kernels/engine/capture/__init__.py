"""Capturing functions: recorded once per signature, replayed after."""
