"""File formats of tensors: safetensors, and those that PyTorch writes."""
