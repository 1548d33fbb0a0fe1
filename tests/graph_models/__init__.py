"""Tests of graph models of TensorFlow.js."""
