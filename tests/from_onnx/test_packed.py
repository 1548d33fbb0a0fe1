"""Weights of few bits in models: what stays packed, what reads it, what a device holds of it."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from tests.from_onnx.graphs import FLOAT, INT64, model

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
ROWS, COLS = 64, 48
node = helper.make_node
BFLOAT16 = TensorProto.BFLOAT16


def _draw(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng([7, *shape]).standard_normal(shape).astype(np.float32)


def _peer(proto: onnx.ModelProto, given: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return what ONNX Runtime gives node by node; else it rounds inputs of such products, too."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers)
    return np.asarray(session.run(None, given)[0])


def _weights(kind: str, shape: tuple[int, ...] = (ROWS, COLS)) -> np.ndarray[Any, Any]:
    dtype = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    if "float" in kind:
        return _draw(*shape).astype(dtype)
    bits = int(kind.lstrip("uint"))
    low = 0 if kind[0] == "u" else -(1 << bits - 1)
    draw = np.random.default_rng([3, *shape])
    return draw.integers(low, low + (1 << bits), shape).astype(np.int32).astype(dtype)


def _quantised(
    kind: str, scales: tuple[int, ...], *, zeros: bool, gemm: bool = False, **attrs: Any
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """Return a model of one product with a matrix that is quantised, and its input."""
    constants: dict[str, Any] = {"w": _weights(kind), "s": np.abs(_draw(*scales)) / 8}
    if zeros:
        constants["z"] = _weights(kind, scales)
    nodes = [node("DequantizeLinear", ["w", "s", *(["z"] if zeros else [])], ["f"], **attrs)]
    terms, columns = (COLS, ROWS) if gemm else (ROWS, COLS)
    if gemm:
        constants["c"] = _draw(columns)
        nodes.append(node("Gemm", ["x", "f", "c"], ["y"], transB=1, alpha=0.5))
    else:
        nodes.append(node("MatMul", ["x", "f"], ["y"]))
    shape: list[Any] = [5, terms]
    proto = model(nodes, {"x": (FLOAT, shape)}, {"y": (FLOAT, [5, columns])}, constants, opset=25)
    return proto, {"x": _draw(5, terms)}


CASES: dict[str, dict[str, Any]] = {
    "tensor": {"kind": "uint4", "scales": (), "zeros": True},
    "columns": {"kind": "int4", "scales": (COLS,), "zeros": False, "axis": 1},
    "rows": {"kind": "uint4", "scales": (ROWS,), "zeros": True, "axis": 0},
    "blocks": {"kind": "int4", "scales": (4, COLS), "zeros": True, "axis": 0, "block_size": 16},
    "across": {"kind": "uint4", "scales": (ROWS, 3), "zeros": True, "axis": 1, "block_size": 16},
    "gemm": {
        "kind": "int4",
        "scales": (ROWS, 3),
        "zeros": True,
        "axis": -1,
        "block_size": 16,
        "gemm": True,
    },
    "bytes": {"kind": "int8", "scales": (COLS,), "zeros": True, "axis": 1},
}


@BACKENDS
@pytest.mark.parametrize("case", CASES)
def test_products_read_quantised_weights_as_onnx_runtime_has_them(case: str, backend: str) -> None:
    proto, given = _quantised(**CASES[case])
    want = _peer(proto, given)
    with wk.use_backend(backend):
        net = wk.onnx.load(proto)
        found = net(**given).numpy()
        again = net(**given).numpy()

    assert [one.op for one in net.nodes] == ["Gemm" if case == "gemm" else "MatMul"]
    assert net.optimised.packed == 1
    assert "1 weights packed" in str(net.optimised)
    assert np.abs(found - want).max() <= 1e-5 * np.abs(want).max()
    np.testing.assert_array_equal(found, again)


@BACKENDS
@pytest.mark.parametrize("kind", ["int2", "uint2", "float8_e4m3fn", "float8_e5m2fnuz"])
def test_other_kinds_are_read_as_their_numbers(kind: str, backend: str) -> None:
    proto, given = _quantised(kind, (COLS,), zeros=False, axis=1)
    weights = _weights(kind).astype(np.float32) * (np.abs(_draw(COLS)) / 8)
    with wk.use_backend(backend):
        found = wk.onnx.load(proto)(**given).numpy()
    want = given["x"] @ weights
    assert np.abs(found - want).max() <= 1e-5 * np.abs(want).max()


@BACKENDS
def test_weights_of_bfloat16_are_gathered_cast_multiplied_and_added_packed(backend: str) -> None:
    table, weights, more = (_weights("bfloat16", one) for one in ((40, 33), (33, 48), (9, 48)))
    nodes = [
        node("Gather", ["table", "places"], ["rows"]),
        node("Cast", ["rows"], ["wide"], to=FLOAT),
        node("Cast", ["weights"], ["w"], to=FLOAT),
        node("MatMul", ["wide", "w"], ["product"]),
        node("Cast", ["more"], ["m"], to=FLOAT),
        node("Add", ["product", "m"], ["y"]),
    ]
    proto = model(
        nodes, {"places": (INT64, [9])}, {"y": (FLOAT, [9, 48])},
        {"table": table, "weights": weights, "more": more},
    )  # fmt: skip
    places = np.array([3, -1, 0, 39, 5, 5, 1, -40, 2])
    with wk.use_backend(backend):
        net = wk.onnx.load(proto)
        found = net(places).numpy()

    want = table.astype(np.float32)[places] @ weights.astype(np.float32) + more.astype(np.float32)
    assert net.optimised.packed == 3
    assert np.abs(found - want).max() <= 1e-5 * np.abs(want).max()


def test_products_of_bfloat16_round_as_the_type_does() -> None:
    weights = _weights("bfloat16")
    proto = model(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": (BFLOAT16, [5, ROWS])}, {"y": (BFLOAT16, [5, COLS])}, {"w": weights},
    )  # fmt: skip
    x = _draw(5, ROWS).astype(ml_dtypes.bfloat16)
    net = wk.onnx.load(proto)
    (found,) = net.numpy(x)
    want = x.astype(np.float32) @ weights.astype(np.float32)
    assert (net.optimised.packed, found.dtype) == (1, ml_dtypes.bfloat16)
    assert np.abs(found.astype(np.float32) - want).max() <= 2**-8 * np.abs(want).max()


def test_a_device_holds_the_codes_and_no_floats() -> None:
    proto, given = _quantised("int4", (4, COLS), zeros=True, axis=0, block_size=16)
    with wk.use_backend("webgpu"):
        gc.collect()
        before = wk.memory().num_bytes
        net = wk.onnx.load(proto)
        y = net(**given)
        y.numpy()
        del y
        gc.collect()
        held = wk.memory().num_bytes - before
    scales = 2 * 4 * COLS * 4  # and the zero points
    assert wk.summary(net).bytes == ROWS * COLS // 2 + scales
    assert ROWS * COLS // 2 <= held <= ROWS * COLS // 2 + scales + 5 * (ROWS + COLS) * 4


@BACKENDS
@pytest.mark.parametrize(
    "kind", ["int2", "uint4", "int16", "uint16", "bfloat16", "float4_e2m1fn", "float8_e5m2"]
)
def test_inputs_of_few_bits_come_as_codes(kind: str, backend: str) -> None:
    dtype = _weights(kind).dtype
    declared = helper.np_dtype_to_tensor_dtype(dtype)
    nodes = [node("Cast", ["x"], ["wide"], to=FLOAT), node("Add", ["wide", "wide"], ["y"])]
    dims: list[Any] = ["batch", 3, "last"]
    proto = model(nodes, {"x": (declared, dims)}, {"y": (FLOAT, dims)}, opset=25)
    entered = []

    def note(call: Any, proceed: Any) -> Any:
        entered.extend([call.inputs[0].dtype] * (call.name == "Widen"))
        return proceed(call)

    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        net = wk.onnx.load(proto)
        for shape in ((2, 3, 5), (2, 3, 5), (1, 3, 260), (2, 3, 5), (1, 3, 0)):
            x = _weights(kind, shape)
            np.testing.assert_array_equal(net(x).numpy(), 2 * x.astype(np.float32))
        if "int16" in kind:
            swapped = _weights(kind, (2, 3, 5)).astype(f">{dtype.str[1:]}")
            np.testing.assert_array_equal(net(swapped).numpy(), 2 * swapped.astype(np.float32))
        with wk.engine().intercept(note):
            net(_weights(kind, (2, 3, 5)))
    assert entered == ["uint8"]


@BACKENDS
def test_scales_of_packed_weights_can_be_trained(backend: str) -> None:
    proto, given = _quantised("int4", (COLS,), zeros=False, axis=1)
    with wk.use_backend(backend):
        net = wk.onnx.load(proto, trainable=True)
        (scale,) = net.parameters.values()
        with wk.GradientTape() as tape:
            total = wk.sum(net(**given))
        found = tape.gradient(total, scale)
        assert found is not None
        want = (given["x"] @ _weights("int4").astype(np.float32)).sum(0)
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-4, atol=1e-3)


def test_filters_and_small_constants_are_floats_from_the_start() -> None:
    filters = _weights("int8", (8, 3, 3, 5))
    scale = np.array(0.1, np.float32)
    proto = model(
        [
            node("DequantizeLinear", ["w", "s"], ["f"]),
            node("Conv", ["x", "f"], ["y"]),
            node("DequantizeLinear", ["b", "s"], ["bias"]),
            node("Add", ["y", "bias"], ["z"]),
        ],
        {"x": (FLOAT, [1, 3, 7, 7])}, {"z": (FLOAT, [1, 8, 5, 3])},
        {"w": filters, "s": scale, "b": _weights("int4", (8, 1, 1))},
    )  # fmt: skip
    net = wk.onnx.load(proto)
    x = _draw(1, 3, 7, 7)
    assert (net.optimised.packed, net.optimised.folded) == (0, 2)
    want = _peer(proto, {"x": x})
    assert np.abs(net(x).numpy() - want).max() <= 1e-5 * np.abs(want).max()
