"""The nine light models of ONNX with drawn weights: what they give, and how long they take.

As the package ``onnx`` has them all weights are one number each, so that every output is one
number too, whatever a convolution does with its channels. Here weights are drawn, and what is
compared are logits: a softmax of drawn logits is 0 and 1.

``python -m tests.from_onnx.light_models [NAME ...]`` compares on both backends with ONNX Runtime on
the CPU; ``--time`` times the cpu backend in turns with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

Array = np.ndarray[Any, Any]

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NAMES = sorted(file.stem.removeprefix("light_") for file in LIGHT.glob("*.onnx"))
BACKENDS = ("cpu", "webgpu")
WITHIN = 1e-5
"""What logits may differ by, relative to the largest."""


def seeded(name: str) -> onnx.ModelProto:
    """Return a light model with drawn weights, which gives logits."""
    model = onnx.load(LIGHT / f"light_{name}.onnx")
    graph, draw = model.graph, np.random.default_rng(0)
    if graph.node[-1].op_type == "Softmax":
        graph.output[0].name = graph.node[-1].input[0]
        graph.output[0].type.tensor_type.ClearField("shape")
        del graph.node[-1]
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    lengths = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    drawn = {
        node.output[0]: _drawn(draw, _use(kept, node.output[0]), lengths[node.input[0]])
        for node in graph.node
        if node.op_type == "ConstantOfShape"
    }
    read = {name for node in kept for name in node.input}
    constants = [one for one in graph.initializer if one.name in read]
    constants += [numpy_helper.from_array(value, name) for name, value in drawn.items()]
    names = {one.name for one in constants}
    inputs = [one for one in graph.input if one.name in read - names]
    for field, values in (
        (graph.node, kept),
        (graph.initializer, constants),
        (graph.input, inputs),
    ):
        del field[:]
        field.extend(values)
    model.ir_version = max(model.ir_version, 4)
    return model


def _use(nodes: list[onnx.NodeProto], name: str) -> tuple[str, int]:
    """Return which operator reads a weight, and as which of its inputs."""
    for node in nodes:
        if name in node.input:
            if node.op_type == "Unsqueeze":
                return _use(nodes, node.output[0])
            return node.op_type, list(node.input).index(name)
    return "", 0


def _drawn(draw: np.random.Generator, use: tuple[str, int], lengths: Array) -> Array:
    """Return weights that keep the size of what goes through."""
    shape = tuple(int(n) for n in lengths)
    if use in {("BatchNormalization", 1), ("BatchNormalization", 4)} or use[0] == "Mul":
        value = draw.uniform(0.7, 1.3, shape)
    elif len(shape) > 1:
        value = draw.standard_normal(shape, np.float32) * (2 / np.prod(shape[1:])) ** 0.5
    else:
        value = draw.normal(0, 0.1 if use[0] == "BatchNormalization" else 0.02, shape)
    return value.astype(np.float32)


def image(model: onnx.ModelProto) -> dict[str, Array]:
    """Return the one input of a model, drawn."""
    (info,) = model.graph.input
    shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    draw = np.random.default_rng(7)
    return {info.name: draw.standard_normal(shape, np.float32)}
