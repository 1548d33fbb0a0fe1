"""Ops on strings, on the cpu backend."""
