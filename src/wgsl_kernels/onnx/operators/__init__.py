"""ONNX's operators by family, each computed by ops of this library."""
