"""TensorFlow's graphs, as TensorFlow.js's graph models have them: run as those of ONNX are."""
