"""Operators whose meaning changed: each version gives what ONNX Runtime gives for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.from_onnx.graphs import FLOAT, INT64, model, peer

import wgsl_kernels as wk

Case = tuple[str, int, dict[str, Any], dict[str, Any]]
"""An operator, the version of the operators, its attributes, its constants."""

_OVERHANGING = {"ceil_mode": 1, "count_include_pad": 1}
CASES: list[Case] = [
    ("Softmax", 11, {"axis": 1}, {}),
    ("Softmax", 13, {"axis": 1}, {}),
    ("LogSoftmax", 11, {}, {}),
    ("Hardmax", 11, {"axis": 1}, {}),
    ("Clip", 9, {"min": -0.5, "max": 0.25}, {}),
    ("Clip", 13, {}, {"min": np.float32(-0.5), "max": np.float32(0.25)}),
    ("Slice", 9, {"starts": [1, -3], "ends": [9, 2], "axes": [1, 2]}, {}),
    ("Slice", 13, {}, {"s": [-1], "e": [-4], "a": [2], "p": [-2]}),
    ("Pad", 2, {"pads": [0, 1, 0, 0, 2, 1], "mode": "reflect"}, {}),
    ("Pad", 10, {"pads": [0, 1, 0, 2, 0, 1], "value": 0.5}, {}),
    ("Pad", 18, {"mode": "edge"}, {"p": [1, 2], "v": np.float32(0), "a": [2]}),
    ("ReduceSum", 11, {"axes": [0, -1]}, {}),
    ("ReduceSum", 13, {"keepdims": 0}, {"axes": [1]}),
    ("ReduceMean", 11, {"axes": [1], "keepdims": 0}, {}),
    ("ReduceMax", 18, {}, {"axes": [-1]}),
    ("ReduceLogSumExp", 13, {"axes": [2]}, {}),
    ("Squeeze", 11, {"axes": [0]}, {}),
    ("Squeeze", 13, {}, {"axes": [0]}),
    ("Unsqueeze", 11, {"axes": [0, -1]}, {}),
    ("Unsqueeze", 13, {}, {"axes": [4, 0]}),
    ("Split", 11, {"axis": 2, "split": [3, 2]}, {}),
    ("Split", 13, {"axis": 2}, {"split": [1, 4]}),
    ("TopK", 9, {"k": 2, "axis": 1}, {}),
    ("TopK", 11, {"axis": 1, "largest": 0}, {"k": [2]}),
    ("Dropout", 10, {"ratio": 0.3}, {}),
    ("Dropout", 13, {}, {"ratio": np.float32(0.3)}),
    ("Upsample", 7, {"scales": [1.0, 2.0, 1.6], "mode": "nearest"}, {}),
    ("Upsample", 9, {"mode": "nearest"}, {"scales": np.array([1, 1, 2], np.float32)}),
    ("Resize", 10, {"mode": "nearest"}, {"scales": np.array([1, 2, 0.6], np.float32)}),
    ("Tile", 7, {}, {"r": [1, 2, 3]}),
    ("CumSum", 14, {"reverse": 1}, {"axis": 2}),
    ("Cast", 9, {"to": TensorProto.INT64}, {}),
    ("LayerNormalization", 17, {"axis": 1}, {"s": np.full((4, 5), 1.5, np.float32)}),
    ("Gelu", 20, {"approximate": "tanh"}, {}),
    ("Trilu", 14, {"upper": 0}, {"k": -1}),
    ("ArgMax", 12, {"axis": -1, "select_last_index": 1}, {}),
    ("DepthToSpace", 10, {"blocksize": 2}, {}),
    *(
        ("AveragePool", 19, {"kernel_shape": [3, 2], "strides": [2, 2], **_OVERHANGING, **more}, {})
        for more in (
            {"auto_pad": "VALID"},
            {"auto_pad": "VALID", "dilations": [2, 2]},
            {"pads": [1, 1, 1, 1]},
            {"pads": [0, 0, 0, 1]},
        )
    ),
]
SHAPES = {"AveragePool": (1, 1, 9, 8), "DepthToSpace": (1, 4, 2, 3)}
COUNTS = {"Split": 2, "TopK": 2}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_a_version_of_an_operator_gives_what_onnx_runtime_gives(case: Case) -> None:
    op, version, attrs, constants = case
    x = np.random.default_rng(4).standard_normal(SHAPES.get(op, (1, 4, 5))).astype(np.float32)
    outputs = [f"y{i}" for i in range(COUNTS.get(op, 1))]
    node = helper.make_node(op, ["x", *constants], outputs, **attrs)
    kinds = {"Cast": INT64, "ArgMax": INT64}
    types: dict[str, tuple[int, Any]] = {name: (kinds.get(op, FLOAT), None) for name in outputs}
    if op == "TopK":
        types["y1"] = (INT64, None)
    proto = model([node], {"x": (FLOAT, list(x.shape))}, types, constants, opset=version)
    proto.ir_version = 8
    got = wk.onnx.load(proto).numpy(x)

    for one, want in zip(got, peer(proto.SerializeToString(), {"x": x}), strict=True):
        assert one.dtype == want.dtype
        np.testing.assert_allclose(one, want, rtol=2e-5, atol=2e-6)
