"""Small models for tests, written by the helpers of the package ``onnx``."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, Any]],
    outputs: dict[str, tuple[int, Any]],
    constants: dict[str, Any] | None = None,
    *,
    opset: int = 21,
    **more: Any,
) -> onnx.ModelProto:
    """Return a model; inputs and outputs are names with element type and shape."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, *one) for name, one in inputs.items()],
        [helper.make_tensor_value_info(name, *one) for name, one in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), name) for name, v in (constants or {}).items()],
    )
    opsets = more.pop("opset_imports", [helper.make_opsetid("", opset)])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **more)


def network(seed: int = 0) -> onnx.ModelProto:
    """Return a small network of images: convolutions, one in groups, batch norms, a product."""
    draw = np.random.default_rng(seed)

    def floats(*shape: int, scale: float = 0.5) -> np.ndarray[Any, Any]:
        return (draw.standard_normal(shape) * scale).astype(np.float32)

    constants: dict[str, Any] = {
        "w1": floats(8, 3, 3, 3), "b1": floats(8), "w2": floats(8, 4, 3, 3), "w3": floats(8, 5),
        "b3": floats(5), "shape": np.array([0, -1]), "last": np.array(8),
    }  # fmt: skip
    for name in ("n1", "n2"):
        constants[f"{name}.scale"] = 1 + floats(8, scale=0.1)
        constants[f"{name}.offset"], constants[f"{name}.mean"] = floats(8), floats(8)
        constants[f"{name}.variance"] = 1 + np.abs(floats(8))
    norm = ("scale", "offset", "mean", "variance")
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["c1", *(f"n1.{one}" for one in norm)], ["d1"]),
        node("Relu", ["d1"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1], group=2),
        node("BatchNormalization", ["c2", *(f"n2.{one}" for one in norm)], ["d2"]),
        node("Add", ["d2", "r1"], ["sum"]),
        node("GlobalAveragePool", ["sum"], ["pooled"]),
        node("Shape", ["pooled"], ["lengths"]),
        node("Cast", ["last"], ["unused"], to=FLOAT),
        node("Reshape", ["pooled", "shape"], ["flat"]),
        node("Gemm", ["flat", "w3", "b3"], ["y"]),
    ]
    return model(
        nodes, {"x": (FLOAT, ["batch", 3, 12, 12])}, {"y": (FLOAT, ["batch", 5])}, constants
    )


def peer(source: Any, given: dict[str, Any]) -> list[Any]:
    """Return what ONNX Runtime gives on the CPU for a file, or the bytes of a model."""
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    names = {one.name for one in session.get_inputs()}
    found: Any = session.run(None, {name: one for name, one in given.items() if name in names})
    return list(found)
