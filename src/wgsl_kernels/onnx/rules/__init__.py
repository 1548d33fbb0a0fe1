"""What kernels are in ONNX: a rule for each writes the nodes that compute the same."""
