"""Derivatives of WGSL functions, as WGSL: forward mode, by transforming the text."""
