"""Graphs of ONNX, node by node, with weights drawn from a seed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from benchmarks.items.item import Array, Draw
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8
"""What every version of ONNX Runtime with a provider for WebGPU reads."""


class Builder:
    """A graph that grows: each call adds a node and returns the name of what it gives.

    Args:
        draw: Where weights come from.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def __call__(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Add a node with one output."""
        output = f"{op.lower()}-{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, list(inputs), [output], **attrs))
        return output

    def constant(self, values: Array) -> str:
        """Add a constant."""
        name = f"constant-{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(values, name))
        return name

    def number(self, value: float) -> str:
        """Add a scalar of float32."""
        return self.constant(np.array(value, np.float32))

    def lengths(self, *values: int) -> str:
        """Add a vector of int64, as shapes and axes are."""
        return self.constant(np.array(values, np.int64))

    def weights(self, *shape: int, scale: float) -> str:
        """Add float32 numbers around 0."""
        return self.constant(self._draw.normal(*shape, scale=scale))

    def model(self, inputs: Mapping[str, tuple[int, ...]], output: str) -> onnx.ModelProto:
        """Return the model, with the shapes of its inputs."""
        graph = helper.make_graph(
            self._nodes,
            "benchmark",
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in inputs.items()
            ],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            self._constants,
        )
        versions = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(graph, opset_imports=versions, ir_version=IR_VERSION)
        return onnx.shape_inference.infer_shapes(made)
