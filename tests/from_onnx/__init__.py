"""Tests of models from ONNX."""
