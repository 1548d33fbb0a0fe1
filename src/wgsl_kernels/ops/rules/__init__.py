"""What the kernels of several families share."""
