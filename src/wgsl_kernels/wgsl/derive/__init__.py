"""Derivatives of WGSL functions, as WGSL: forward mode, by transforming the text.

What cannot be followed raises a ``NotDerivableError``, which has the place of the reason.
"""
