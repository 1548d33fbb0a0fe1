"""The sections of a check: compiles, portable, right, gradient, safe, fast."""
