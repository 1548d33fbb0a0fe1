"""Composing shaders: from an author's file and the tensors at hand to a text that runs."""
