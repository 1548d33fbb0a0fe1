"""Graphs of one operator, or of the few that others write for one function."""

from collections.abc import Callable, Mapping

import numpy as np
import onnx
from benchmarks.graphs.builder import Builder
from benchmarks.items.item import Draw

Shape = tuple[int, ...]
Make = Callable[[Builder, Shape], str]
"""Add the nodes for inputs of a shape, and return the name of the output."""


def operator(draw: Draw, name: str, inputs: Mapping[str, Shape]) -> onnx.ModelProto:
    """Return the graph of a name of `OPERATORS`, whose inputs are all of one shape."""
    builder = Builder(draw)
    return builder.model(inputs, OPERATORS[name](builder, next(iter(inputs.values()))))


def gelu(o: Builder, x: str) -> str:
    """Return x / 2 (1 + erf(x / sqrt 2)), as exporters write it before version 20."""
    inner = o("Erf", o("Div", x, o.number(2**0.5)))
    return o("Mul", o("Mul", x, o("Add", inner, o.number(1.0))), o.number(0.5))


def layer_norm(o: Builder, x: str, width: int) -> str:
    """Return ``x`` [..., width], normalized along its last axis."""
    scale = o.constant(np.ones(width, np.float32))
    return o("LayerNormalization", x, scale, o.weights(width, scale=0.1), axis=-1, epsilon=1e-5)


def _conv(o: Builder, shape: Shape) -> str:
    channels = shape[1]
    filters = o.weights(channels, channels, 3, 3, scale=(2 / (9 * channels)) ** 0.5)
    return o("Conv", "x", filters, kernel_shape=[3, 3], pads=[1] * 4)


def _depthwise(o: Builder, shape: Shape) -> str:
    filters = o.weights(shape[1], 1, 3, 3, scale=0.3)
    return o("Conv", "x", filters, kernel_shape=[3, 3], pads=[1] * 4, group=shape[1])


def _attention(o: Builder, shape: Shape) -> str:
    """Return attention of [batch, heads, length, width], written in products."""
    product = o("MatMul", "query", o("Transpose", "key", perm=[0, 1, 3, 2]))
    weight = o("Softmax", o("Mul", product, o.number(shape[-1] ** -0.5)), axis=-1)
    return o("MatMul", weight, "value")


OPERATORS: dict[str, Make] = {
    "matmul": lambda o, shape: o("MatMul", "x", "y"),
    "conv": _conv,
    "depthwise": _depthwise,
    "softmax": lambda o, shape: o("Softmax", "x", axis=-1),
    "layer-norm": lambda o, shape: layer_norm(o, "x", shape[-1]),
    "gelu": lambda o, shape: gelu(o, "x"),
    "attention": _attention,
    "add": lambda o, shape: o("Add", "x", "y"),
    "reduce-sum": lambda o, shape: o("ReduceSum", "x", o.lengths(1), keepdims=0),
}
