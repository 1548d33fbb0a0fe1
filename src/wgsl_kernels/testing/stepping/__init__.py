"""Traces of one invocation, as values that print: what `wk.dev.step` returns."""
