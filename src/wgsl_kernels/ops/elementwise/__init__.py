"""Ops on elements, with broadcasting."""
