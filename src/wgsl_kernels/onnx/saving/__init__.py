"""Saving functions as models: what every format of graphs needs, ONNX's and TensorFlow's."""
