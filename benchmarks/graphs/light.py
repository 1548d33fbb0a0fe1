"""ONNX's own light models, with weights that tell results apart.

The package ``onnx`` has nine well-known networks whose weights are all made by ``ConstantOfShape``.
Every output is then one number, whatever the kernels do, so weights are drawn here instead, and
the softmax at the end, which such weights saturate, is left out: results are logits.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from benchmarks.items.item import Array, Draw
from onnx import numpy_helper

NAMES = {
    "alexnet": "bvlc_alexnet",
    "densenet121": "densenet121",
    "inception-v1": "inception_v1",
    "inception-v2": "inception_v2",
    "resnet50": "resnet50",
    "shufflenet": "shufflenet",
    "squeezenet": "squeezenet",
    "vgg19": "vgg19",
    "zfnet512": "zfnet512",
}
"""The file of each model, without ``light_`` in front."""
IR_WITHOUT_INPUTS = 4
"""From this version on initializers need not be inputs too."""


def light(draw: Draw, name: str) -> onnx.ModelProto:
    """Return a model, by its file of `NAMES`, with drawn weights and without its softmax."""
    model = _shipped(name)
    graph = model.graph
    shapes = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    made = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    roles = _roles(kept)
    weights = [
        numpy_helper.from_array(
            _drawn(draw, roles[node.output[0]], tuple(map(int, shapes[node.input[0]]))),
            node.output[0],
        )
        for node in made
    ]
    read = {name for node in kept for name in node.input}
    constants = [one for one in graph.initializer if one.name in read] + weights
    given = {one.name for one in constants}
    inputs = [one for one in graph.input if one.name in read - given]
    if kept[-1].op_type == "Softmax":
        softmax = kept.pop()
        graph.output[0].name = softmax.input[0]
        graph.output[0].type.tensor_type.ClearField("shape")
    changed: list[tuple[Any, list[Any]]] = [
        (graph.node, kept),
        (graph.initializer, constants),
        (graph.input, inputs),
    ]
    for field, values in changed:
        del field[:]
        field.extend(values)
    model.ir_version = max(model.ir_version, IR_WITHOUT_INPUTS)
    return model


def _shipped(name: str) -> onnx.ModelProto:
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return onnx.load(folder / f"light_{name}.onnx")


def _roles(nodes: list[onnx.NodeProto]) -> dict[str, str]:
    """Return, by constant, the operator that reads it, and as which input."""
    roles: dict[str, str] = {}
    for node in nodes:
        for i, name in enumerate(node.input):
            roles.setdefault(name, f"{node.op_type} {i}")
    for node in nodes:
        if node.op_type == "Unsqueeze":  # a scale that is brought to an image's rank
            roles[node.input[0]] = roles[node.output[0]]
    return roles


def _drawn(draw: Draw, role: str, shape: tuple[int, ...]) -> Array:
    """Return weights that keep values about as large from layer to layer."""
    if role in _SPECIAL:
        return _SPECIAL[role](draw, shape)
    if len(shape) > 1:
        return draw.normal(*shape, scale=(2 / math.prod(shape[1:])) ** 0.5)
    return draw.normal(*shape, scale=0.02)


def _near_one(draw: Draw, shape: tuple[int, ...]) -> Array:
    found: Array = np.float32(0.4) + np.float32(0.6) * draw.positive(*shape)
    return found


def _near_zero(draw: Draw, shape: tuple[int, ...]) -> Array:
    return draw.normal(*shape, scale=0.1)


_SPECIAL: dict[str, Callable[[Draw, tuple[int, ...]], Array]] = {
    "BatchNormalization 1": _near_one,
    "BatchNormalization 2": _near_zero,
    "BatchNormalization 3": _near_zero,
    "BatchNormalization 4": _near_one,
    "Mul 1": _near_one,
}
