"""What is registered: kernels, signatures, gradients, and the rules for registering them."""
