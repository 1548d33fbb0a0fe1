"""Tensors: what they hold, who may look at them, and how long they live."""
