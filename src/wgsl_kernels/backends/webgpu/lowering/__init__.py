"""Lowering: from a kernel and the layouts of its tensors to a program."""
