"""A graph with a node of nearly every operator that is known, as TensorFlow.js has computed it.

Left out is what TensorFlow.js 4.22 computes otherwise than TensorFlow: it drops an axis of a slice
whose strides are not 1 at the wrong place, takes the lower width of a band for the upper, and
cannot run BitwiseAnd. Where only its dtype is another one (FloorDiv, ShapeN), values are compared.

``python -m tests.graph_models.every_operator FOLDER`` writes it; make.mjs runs it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from tests.graph_models.graphs import GraphWriter

DRAW = np.random.default_rng(7)


def floats(*shape: int, low: float = -1.0, high: float = 1.0) -> Any:
    return DRAW.uniform(low, high, shape).astype(np.float32)


def single(values: Any) -> Any:
    """Return float32 values."""
    return np.asarray(values, np.float32)


def words(text: str) -> list[str]:
    """Return the names in a text."""
    return text.split()


WINDOW = {"strides": [1, 2, 2, 1], "padding": "SAME"}
CONV = {**WINDOW, "data_format": "NHWC", "dilations": [1, 1, 1, 1]}
FUSED = {**CONV, "fused_ops": ["BiasAdd", "Relu6"], "num_args": 1, "epsilon": 0.0}
POOL = {**WINDOW, "ksize": [1, 2, 2, 1], "data_format": "NHWC"}
VOLUME = {"strides": [1] * 5, "padding": "VALID", "data_format": "NDHWC"}
IMAGES = floats(2, 5, 6, 3)
BOXES = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 2.0, 1.0, 3.0]]
SCORES = [0.9, 0.8, 0.7]

MAPS = words(
    "Abs Acos Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Expm1 Floor IsFinite IsInf IsNan "
    "LogSoftmax Neg OnesLike Reciprocal Relu Relu6 Round Selu Sigmoid Sign Sin Sinh Softmax "
    "Softplus Square Tan Tanh ZerosLike Identity Snapshot StopGradient"
)
POSITIVE = words("Log Log1p Rsqrt Sqrt")
PAIRS = words(
    "Add AddV2 Atan2 Div DivNoNan Equal FloorMod Greater GreaterEqual Less LessEqual Maximum "
    "Minimum Mod Mul NotEqual RealDiv SquaredDifference Sub Prelu"
)
REDUCTIONS = words("EuclideanNorm Max Mean Min Prod Sum")
ON_HOST = words(
    "Add AddV2 FloorDiv FloorMod Maximum Minimum Mul Sub Equal Greater GreaterEqual Less LessEqual "
    "NotEqual"
)

CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    *((op, [floats(2, 3, low=-0.9, high=0.9)], {}) for op in MAPS),
    *((op, [floats(2, 3, low=0.1, high=2.0)], {}) for op in POSITIVE),
    ("Acosh", [floats(3, low=1.1, high=3.0)], {}),
    ("LeakyRelu", [floats(2, 3)], {"alpha": 0.3}),
    ("Pow", [floats(3, low=0.1), floats(3)], {}),
    *((op, [floats(2, 3), floats(3)], {}) for op in PAIRS),
    *((op, [[7, -8, 9], [2, 3, 9]], {}) for op in ON_HOST),
    ("LogicalAnd", [[True, False, True], [True, True, False]], {}),
    ("LogicalOr", [[True, False, False], [True, True, False]], {}),
    ("LogicalNot", [[True, False]], {}),
    ("AddN", [floats(2, 2), floats(2, 2), floats(2, 2)], {}),
    ("BiasAdd", [floats(2, 3), floats(3)], {}),
    ("ClipByValue", [floats(5), single(-0.5), single(0.25)], {}),
    ("Cast", [floats(4, high=9.0)], {"SrcT": "DT_FLOAT", "DstT": "DT_INT32"}),
    ("Cast", [[1, 2]], {"SrcT": "DT_INT32", "DstT": "DT_FLOAT"}),
    ("MatMul", [floats(2, 3), floats(4, 3)], {"transpose_a": False, "transpose_b": True}),
    ("BatchMatMulV2", [floats(2, 3, 2), floats(2, 3, 4)], {"adj_x": True, "adj_y": False}),
    ("BatchMatMul", [floats(2, 3, 2), floats(2, 2, 4)], {"adj_x": False, "adj_y": False}),
    (
        "_FusedMatMul",
        [floats(2, 3), floats(3, 4), floats(4)],
        {"fused_ops": ["BiasAdd", "Elu"], "num_args": 1, "transpose_a": False,
         "transpose_b": False, "epsilon": 0.0},
    ),
    (
        "_FusedMatMul",
        [floats(2, 3), floats(3, 4), floats(4), floats(4)],
        {"fused_ops": ["BiasAdd", "Prelu"], "num_args": 2, "transpose_a": False,
         "transpose_b": False, "epsilon": 0.0},
    ),
    ("Einsum", [floats(2, 3), floats(3, 4)], {"equation": "ij,jk->ki", "N": 2}),
    ("MatrixBandPart", [floats(3, 4), 1, 1], {}),
    ("Conv2D", [IMAGES, floats(3, 3, 3, 2)], CONV),
    (
        "Conv2D",
        [IMAGES, floats(3, 2, 3, 2)],
        {"strides": [1, 1, 2, 1], "padding": "EXPLICIT", "data_format": "NHWC",
         "dilations": [1, 1, 1, 1], "explicit_paddings": [0, 0, 1, 0, 2, 1, 0, 0]},
    ),
    ("_FusedConv2D", [IMAGES, floats(3, 3, 3, 2), floats(2)], FUSED),
    (
        "_FusedConv2D",
        [IMAGES, floats(3, 3, 3, 2), floats(2)],
        {**FUSED, "fused_ops": ["BiasAdd", "LeakyRelu"], "leakyrelu_alpha": 0.3},
    ),
    ("DepthwiseConv2dNative", [IMAGES, floats(3, 3, 3, 2)], CONV),
    ("FusedDepthwiseConv2dNative", [IMAGES, floats(3, 3, 3, 2), floats(6)], FUSED),
    ("Conv2DBackpropInput", [[2, 6, 4, 3], floats(3, 3, 3, 5), floats(2, 3, 2, 5)], CONV),
    ("Conv3D", [floats(1, 4, 4, 4, 2), floats(2, 2, 2, 2, 3)], {**VOLUME, "dilations": [1] * 5}),
    ("Dilation2D", [IMAGES, floats(2, 2, 3)],
     {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}),
    ("AvgPool", [IMAGES], POOL),
    ("MaxPool", [IMAGES], {**POOL, "explicit_paddings": []}),
    ("AvgPool3D", [floats(1, 4, 4, 4, 2)], {**VOLUME, "ksize": [1, 2, 2, 2, 1]}),
    ("MaxPool3D", [floats(1, 4, 4, 4, 2)], {**VOLUME, "ksize": [1, 2, 2, 2, 1]}),
    ("MaxPoolWithArgmax", [floats(1, 4, 4, 2)],
     {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID",
      "include_batch_in_index": False}),
    (
        "FusedBatchNormV3",
        [IMAGES, floats(3), floats(3), floats(3), floats(3, low=0.5)],
        {"epsilon": 0.001, "is_training": False, "data_format": "NHWC"},
    ),
    ("LRN", [IMAGES], {"depth_radius": 1, "bias": 1.5, "alpha": 0.7, "beta": 0.4}),
    *((op, [floats(2, 3, 4), [0, -1]], {"keep_dims": True}) for op in REDUCTIONS),
    *((op, [floats(2, 3, 4), [1]], {"keep_dims": False}) for op in REDUCTIONS),
    *((op, [[[3, -4], [5, 6]], [0]], {"keep_dims": False}) for op in ("Max", "Min", "Prod", "Sum")),
    *((op, [[[True, False], [True, True]], [0]], {"keep_dims": False}) for op in ("All", "Any")),
    ("ArgMax", [floats(2, 5), 1], {"output_type": "DT_INT64"}),
    ("ArgMin", [floats(2, 5), 0], {"output_type": "DT_INT64"}),
    ("Cumsum", [floats(2, 5), 1], {"exclusive": True, "reverse": False}),
    ("Cumprod", [floats(2, 5), 0], {"exclusive": False, "reverse": True}),
    ("FloorDiv", [floats(4, high=9.0), single([2, 2, 3, -1])], {}),
    ("SelectV2", [[True, False, True], floats(2, 3), floats(2, 3)], {}),
    ("Select", [[True, False], floats(2), floats(2)], {}),
    ("GatherV2", [floats(4, 3, 2), [2, 0], 1], {"batch_dims": 0, "Tparams": "DT_FLOAT"}),
    ("GatherV2", [[5, 6, 7], [2, 0], 0], {"batch_dims": 0, "Tparams": "DT_INT32"}),
    ("Gather", [floats(4, 3), [2, 0]], {"Tparams": "DT_FLOAT"}),
    ("GatherNd", [floats(4, 3), [[2, 0], [1, 1]]], {"Tparams": "DT_FLOAT"}),
    ("ScatterNd", [[[2], [0]], floats(2, 3), [4, 3]], {}),
    ("TensorScatterUpdate", [floats(4, 3), [[2], [0]], floats(2, 3)], {}),
    ("SparseToDense", [[[0, 1], [2, 0]], [3, 2], floats(2), single(0.5)],
     {"validate_indices": True}),
    ("TopKV2", [floats(2, 5), 2], {"sorted": True}),
    ("LowerBound", [[[1, 3, 5]], [[3, 4]]], {}),
    ("UpperBound", [[[1, 3, 5]], [[3, 4]]], {}),
    ("Unique", [[3, 1, 3, 2]], {}),
    ("Where", [[[True, False], [True, True]]], {}),
    ("DenseBincount", [[1, 1, 3], 5, floats(3)], {"binary_output": False}),
    ("Bincount", [[1, 1, 3], 5, floats(3)], {}),
    ("ResizeBilinear", [IMAGES, [7, 4]], {"align_corners": False, "half_pixel_centers": True}),
    ("ResizeNearestNeighbor", [IMAGES, [10, 12]],
     {"align_corners": False, "half_pixel_centers": False}),
    ("CropAndResize", [IMAGES, floats(2, 4, low=0.1, high=0.9), [0, 1], [3, 3]],
     {"method": "bilinear", "extrapolation_value": 0.0}),
    ("NonMaxSuppressionV3",
     [single(BOXES), single(SCORES), 3, single(0.5), single(0.0)], {}),
    ("NonMaxSuppressionV4",
     [single(BOXES), single(SCORES), 3, single(0.5), single(0.0)],
     {"pad_to_max_output_size": True}),
    ("NonMaxSuppressionV5",
     [single(BOXES), single(SCORES), 3, single(0.5), single(0.0),
      single(0.5)], {}),
    ("Shape", [floats(2, 3)], {}),
    ("ShapeN", [floats(2, 3), floats(4)], {"N": 2}),
    ("Size", [floats(2, 3)], {}),
    ("Rank", [floats(2, 3)], {}),
    ("Reshape", [floats(2, 3), [3, -1]], {}),
    ("Reshape", [[1, 2], [2, 1]], {}),
    ("Squeeze", [floats(1, 3, 1)], {"squeeze_dims": [0]}),
    ("ExpandDims", [floats(2, 3), -1], {}),
    ("Transpose", [floats(2, 3, 4), [2, 0, 1]], {}),
    ("ReverseV2", [floats(2, 3), [1]], {}),
    ("BroadcastTo", [floats(1, 3), [2, 3]], {}),
    ("BroadcastArgs", [[1, 3], [2, 1]], {}),
    ("Tile", [floats(2, 3), [1, 2]], {}),
    ("ConcatV2", [floats(2, 3), floats(2, 1), 1], {"N": 2}),
    ("ConcatV2", [[1, 2], [3], 0], {"N": 2}),
    ("Concat", [1, floats(2, 3), floats(2, 1)], {"N": 2}),
    ("Pack", [floats(3), floats(3)], {"axis": 1, "N": 2}),
    ("Pack", [3, 4], {"axis": 0, "N": 2}),
    ("Unpack", [floats(2, 3)], {"axis": 0, "num": 2}),
    ("Split", [1, floats(2, 4)], {"num_split": 2}),
    ("SplitV", [floats(2, 5), [2, 3], 1], {"num_split": 2}),
    ("Slice", [floats(3, 4), [1, 0], [2, -1]], {}),
    (
        "StridedSlice",
        [floats(4, 5, 3), [0, -4, 1], [3, -9, 2], [1, 1, 1]],
        {"begin_mask": 1, "end_mask": 2, "shrink_axis_mask": 4, "new_axis_mask": 0,
         "ellipsis_mask": 0},
    ),
    (
        "StridedSlice",
        [floats(4, 5, 3), [0, 0, 1], [0, 0, 3], [1, 1, 1]],
        {"begin_mask": 0, "end_mask": 0, "shrink_axis_mask": 0, "new_axis_mask": 2,
         "ellipsis_mask": 1},
    ),
    (
        "StridedSlice",
        [floats(4, 5), [0, -1], [3, -9], [2, -2]],
        {"begin_mask": 1, "end_mask": 2, "shrink_axis_mask": 0, "new_axis_mask": 0,
         "ellipsis_mask": 0},
    ),
    (
        "StridedSlice",
        [[7, 8, 9], [1], [2], [1]],
        {"begin_mask": 0, "end_mask": 0, "shrink_axis_mask": 1, "new_axis_mask": 0,
         "ellipsis_mask": 0},
    ),
    ("Pad", [floats(2, 3), [[1, 0], [0, 2]]], {}),
    ("PadV2", [floats(2, 3), [[1, 0], [0, 2]], single(0.5)], {}),
    ("MirrorPad", [floats(2, 3), [[1, 0], [0, 2]]], {"mode": "REFLECT"}),
    ("SpaceToBatchND", [floats(1, 3, 4, 1), [2, 2], [[0, 1], [0, 0]]], {}),
    ("BatchToSpaceND", [floats(4, 2, 2, 1), [2, 2], [[0, 1], [0, 0]]], {}),
    ("DepthToSpace", [floats(1, 2, 2, 8)], {"block_size": 2, "data_format": "NHWC"}),
    ("Fill", [[2, 3], single(1.5)], {"T": "DT_FLOAT"}),
    ("Fill", [[2], 3], {"T": "DT_INT32"}),
    ("Range", [0, 5, 2], {"Tidx": "DT_INT32"}),
    ("LinSpace", [single(0), single(1), 5], {}),
    ("OneHot", [[1, 0, 2], 3, single(2), single(0.5)], {"axis": -1, "T": "DT_FLOAT"}),
]  # fmt: skip


def every_operator() -> tuple[GraphWriter, dict[str, str]]:
    """Return the graph and its outputs, one for each of the cases."""
    writer = GraphWriter()
    outputs = {}
    for i, (op, inputs, attrs) in enumerate(CASES):
        outputs[f"{op}_{i}"] = writer.node(op, *inputs, **attrs) + ":0"
    return writer, outputs


if __name__ == "__main__":
    every_operator()[0].save(Path(sys.argv[1]), every_operator()[1])
