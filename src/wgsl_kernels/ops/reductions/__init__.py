"""Ops that combine elements along axes."""
