"""Operators of ONNX Runtime in models: against its own results."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from tests.from_onnx.graphs import FLOAT, model, peer

import wgsl_kernels as wk

BACKENDS = ("cpu", "webgpu")
OPSETS = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]


def _node(op: str, inputs: list[str], **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, ["y"], domain="com.microsoft", **attrs)


def _product(
    bits: int, terms: int, *, zeros: str, bias: bool = False, columns: int = 24
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """Return a model of one product with packed weights, and its input."""
    draw = np.random.default_rng([bits, terms])
    blocks = -(-terms // 16)
    constants: dict[str, Any] = {
        "b": draw.integers(0, 256, (columns, blocks, 2 * bits), np.uint8),
        "scales": draw.standard_normal((columns, blocks)).astype(np.float32),
    }
    if zeros == "packed":
        constants["zeros"] = draw.integers(0, 256, (columns, -(-blocks * bits // 8)), np.uint8)
    elif zeros:
        constants["zeros"] = draw.uniform(0, 15, (columns, blocks)).astype(np.float32)
    if bias:
        constants["bias"] = draw.standard_normal(columns).astype(np.float32)
    inputs = ["x", "b", "scales", "zeros" if zeros else "", "", "bias" if bias else ""]
    while not inputs[-1]:
        inputs.pop()
    proto = model(
        [_node("MatMulNBits", inputs, K=terms, N=columns, bits=bits, block_size=16)],
        {"x": (FLOAT, [2, 3, terms])}, {"y": (FLOAT, [2, 3, columns])}, constants,
        opset_imports=OPSETS,
    )  # fmt: skip
    return proto, {"x": draw.standard_normal((2, 3, terms)).astype(np.float32)}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("bits", "terms", "zeros", "bias"),
    [
        (4, 64, "packed", True),
        (4, 40, "", False),
        (4, 48, "floats", False),
        (8, 32, "packed", True),
    ],
)
def test_products_of_few_bits_are_those_of_onnx_runtime(
    bits: int, terms: int, zeros: str, bias: bool, backend: str
) -> None:
    proto, given = _product(bits, terms, zeros=zeros, bias=bias)
    with wk.use_backend(backend):
        found = wk.onnx.load(proto)(**given).numpy()

    want = peer(proto.SerializeToString(), given)[0]
    assert np.abs(found - want).max() <= 1e-5 * np.abs(want).max()


def test_what_is_not_known_of_them_is_refused() -> None:
    proto, _ = _product(4, 32, zeros="")
    proto.graph.node[0].attribute.append(helper.make_attribute("weight_prepacked", 1))
    x = np.zeros((2, 3, 32), np.float32)
    with pytest.raises(wk.ArgumentError, match="MatMulNBits: weight_prepacked is set; want b as"):
        wk.onnx.load(proto)(x)
    proto, _ = _product(4, 32, zeros="")
    del proto.graph.node[0].attribute[0]
    with pytest.raises(wk.ArgumentError, match="lacks the attribute 'K'"):
        wk.onnx.load(proto)
