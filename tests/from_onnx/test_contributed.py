"""Operators of ONNX Runtime in models: against its own results."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from tests.from_onnx.graphs import FLOAT, INT64, model, peer

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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("shape", "places", "attrs"),
    [
        ([2, 3, 5, 8], [2, 5], {}),
        ([2, 5, 24], [2, 5], {"interleaved": 1}),
        ([2, 5, 24], [1], {}),
        ([2, 5, 24], [2, 5], {"num_heads": 3, "rotary_embedding_dim": 4}),
    ],
)
def test_numbers_are_turned_as_onnx_runtime_does(
    shape: list[int], places: list[int], attrs: dict[str, int], backend: str
) -> None:
    draw = np.random.default_rng(2)
    half = attrs.get("rotary_embedding_dim", 8) // 2
    tables = {n: draw.standard_normal((9, half)).astype(np.float32) for n in ("cos", "sin")}
    proto = model(
        [_node("RotaryEmbedding", ["x", "places", "cos", "sin"], **attrs)],
        {"x": (FLOAT, shape), "places": (INT64, places)}, {"y": (FLOAT, shape)}, tables,
        opset_imports=OPSETS,
    )  # fmt: skip
    given = {
        "x": draw.standard_normal(shape).astype(np.float32),
        "places": draw.integers(0, 4, places),
    }
    with wk.use_backend(backend):
        found = wk.onnx.load(proto)(**given).numpy()

    want = peer(proto.SerializeToString(), given)[0]
    assert np.abs(found - want).max() <= 1e-6 * np.abs(want).max()


def test_packed_batches_and_scaled_positions_are_refused() -> None:
    proto = model(
        [_node("RotaryEmbedding", ["x", "places", "cos", "sin"], is_packed_batching=1)],
        {"x": (FLOAT, [2, 5, 24]), "places": (INT64, [2, 5])}, {"y": (FLOAT, [2, 5, 24])},
        {name: np.ones((9, 4), np.float32) for name in ("cos", "sin")}, opset_imports=OPSETS,
    )  # fmt: skip
    net = wk.onnx.load(proto)
    with pytest.raises(wk.ArgumentError, match="is_packed_batching or scale is set; want batches"):
        net(np.ones((2, 5, 24), np.float32), np.zeros((2, 5), np.int64))
