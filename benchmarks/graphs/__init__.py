"""Models of ONNX for the benchmark: operators alone, two networks, and ONNX's own light models."""
