"""Running kernels on tensors, and making tensors of what a user gives."""
