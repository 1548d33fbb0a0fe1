"""TensorFlow's operators that are kernels of this library: of the same name, or of another.

Their inputs are the kernel's, in its order, and their attributes are at most called otherwise.
Source: TensorFlow, core/ops/*.cc; TensorFlow.js, tfjs-converter/src/operations/op_list.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.graphdef.rules import rule
from wgsl_kernels.graphdef.shapes import pairs
from wgsl_kernels.onnx.running import ints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Inputs = Mapping[int, tuple[str, Callable[[Any], Any]]]

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode

_SAME = (
    "Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "BitwiseAnd",
    "Ceil", "Complex", "ComplexAbs", "Cos", "Cosh", "Elu", "Equal", "Erf", "Exp", "Expm1",
    "FFT", "Floor", "GatherNd", "Greater", "GreaterEqual", "IFFT", "Imag", "IsFinite", "IsInf",
    "IsNan", "Less", "LessEqual", "Log", "Log1p", "LogSoftmax", "LogicalAnd", "LogicalNot",
    "LogicalOr", "LowerBound", "MatrixBandPart", "Maximum", "Minimum", "Mod", "Neg",
    "NotEqual", "OnesLike", "Pow", "Prelu", "Real", "RealDiv", "Reciprocal", "Relu", "Relu6",
    "Round", "Rsqrt", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Sqrt",
    "Square", "SquaredDifference", "Sub", "Tan", "Tanh", "TensorScatterUpdate", "UpperBound",
    "ZerosLike",
)  # fmt: skip
_OTHERWISE = {
    "AddV2": "Add",
    "Div": "RealDiv",
    "FloorMod": "Mod",
    "Mul": "Multiply",
}
_NUMPY = {
    "Add": np.add,
    "AddV2": np.add,
    "Equal": np.equal,
    "FloorMod": np.remainder,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "LogicalAnd": np.logical_and,
    "LogicalNot": np.logical_not,
    "LogicalOr": np.logical_or,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Mul": np.multiply,
    "Neg": np.negative,
    "NotEqual": np.not_equal,
    "Sub": np.subtract,
}


def _same(**defaults: Any) -> dict[str, tuple[str, Any]]:
    """Return attributes that TensorFlow calls as the kernel does, with their defaults."""
    return {name: (name, default) for name, default in defaults.items()}


WITH_ATTRIBUTES: Mapping[str, tuple[str, Mapping[str, tuple[str, Any]]]] = {
    **dict.fromkeys(
        ("BatchMatMul", "BatchMatMulV2"),
        ("BatchMatMul", {"transpose_a": ("adj_x", False), "transpose_b": ("adj_y", False)}),
    ),
    "LRN": (
        "LRN",
        _same(depth_radius=5, bias=1.0, alpha=1.0, beta=0.5),
    ),
    "DepthToSpace": ("DepthToSpace", _same(block_size=None, data_format="NHWC")),
    "LeakyRelu": ("LeakyRelu", _same(alpha=0.2)),
    "MatMul": ("BatchMatMul", _same(transpose_a=False, transpose_b=False)),
}
"""By TensorFlow's name the kernel, and by its attributes theirs with the default."""


def _number(x: Any) -> Any:
    return x.item()


_CUMULATIVE = ({1: ("axis", int)}, {"exclusive": False, "reverse": False})
_LIMITS: Inputs = {
    2: ("max_output_size", int),
    3: ("iou_threshold", _number),
    4: ("score_threshold", _number),
}
_RESIZE = ({1: ("size", ints)}, {"align_corners": False, "half_pixel_centers": False})
_FROM_INPUTS: Mapping[str, tuple[Inputs, Mapping[str, Any]]] = {
    "BatchToSpaceND": ({1: ("block_shape", ints), 2: ("crops", pairs)}, {}),
    "Bincount": ({1: ("size", int)}, {}),
    "ClipByValue": ({1: ("clip_value_min", _number), 2: ("clip_value_max", _number)}, {}),
    "CropAndResize": (
        {3: ("crop_size", ints)},
        {"method": "bilinear", "extrapolation_value": 0.0},
    ),
    "Cumprod": _CUMULATIVE,
    "Cumsum": _CUMULATIVE,
    "DenseBincount": ({1: ("size", int)}, {"binary_output": False}),
    "NonMaxSuppressionV3": (_LIMITS, {}),
    "NonMaxSuppressionV4": (_LIMITS, {"pad_to_max_output_size": False}),
    "NonMaxSuppressionV5": ({**_LIMITS, 5: ("soft_nms_sigma", _number)}, {}),
    "ResizeBilinear": _RESIZE,
    "ResizeNearestNeighbor": _RESIZE,
    "ScatterNd": ({2: ("shape", ints)}, {}),
    "SpaceToBatchND": ({1: ("block_shape", ints), 2: ("paddings", pairs)}, {}),
    "SparseToDense": ({1: ("output_shape", ints)}, {}),
}
"""By name the inputs that are the kernel's attributes, and attributes of its with the default."""


def _kernel(
    name: str, attrs: Mapping[str, tuple[str, Any]], inputs: Inputs, outputs: int = 1
) -> Callable[..., Any]:
    declared = find_signature(name)
    assert declared is not None, name
    runs = run_many if outputs > 1 else run

    def call(node: OnnxNode, *xs: Any) -> Any:
        given = {ours: node.attr(theirs, default) for ours, (theirs, default) in attrs.items()}
        given |= {ours: convert(xs[at]) for at, (ours, convert) in inputs.items()}
        tensors = [x for at, x in enumerate(xs) if at not in inputs]
        return runs(name, *tensors, **given)

    every = ["node", *(one.name for one in declared.inputs), *(ours for ours, _ in inputs.values())]
    kind = inspect.Parameter.POSITIONAL_ONLY
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # functions may have one
        [inspect.Parameter(one, kind) for one in every]
    )
    return call


def _by_numpy(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    return None if function is None else lambda node, *arrays: function(*arrays)


SAME: Mapping[str, str] = {**{one: one for one in _SAME}, **_OTHERWISE}
"""By TensorFlow's name the kernel that has its inputs and no attributes."""
for _name, _ours in SAME.items():
    rule(_name, numpy=_by_numpy(_NUMPY.get(_name)))(_kernel(_ours, {}, {}))
for _name, (_ours, _attrs) in WITH_ATTRIBUTES.items():
    rule(_name)(_kernel(_ours, _attrs, {}))
for _name, (_inputs, _defaults) in _FROM_INPUTS.items():
    _outputs = 2 if _name in ("NonMaxSuppressionV4", "NonMaxSuppressionV5") else 1
    rule(_name, host=tuple(_inputs), reads=_name.startswith("NonMax"), outputs=_outputs)(
        _kernel(_name, _same(**_defaults), _inputs, _outputs)
    )


@rule("AddN")
def add_n(node: OnnxNode, *xs: Tensor) -> Tensor:
    """Return the sum of tensors of one shape."""
    return run("AddN", list(xs))


@rule("Einsum")
def einsum(node: OnnxNode, *xs: Tensor) -> Tensor:
    """Return the sum of products that an equation names."""
    return run("Einsum", list(xs), equation=node.attrs["equation"])


@rule("TopKV2", host=(1,), outputs=2)
def top_k(node: OnnxNode, x: Tensor, k: Any) -> tuple[Tensor, ...]:
    """Return the largest elements of each row, and where they are."""
    return run_many("TopK", x, k=int(k), sorted=node.attr("sorted", True))
