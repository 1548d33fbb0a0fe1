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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode

_SAME = (
    "Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "BitwiseAnd", "Ceil",
    "Complex", "ComplexAbs", "Cos", "Cosh", "Elu", "Equal", "Erf", "Exp", "Expm1", "FFT", "Floor",
    "Greater", "GreaterEqual", "IFFT", "Imag", "IsFinite", "IsInf", "IsNan", "Less", "LessEqual",
    "Log", "Log1p", "LogSoftmax", "LogicalAnd", "LogicalNot", "LogicalOr", "LowerBound",
    "MatrixBandPart", "Maximum", "Minimum", "Mod", "Neg", "NotEqual", "OnesLike", "Pow", "Prelu",
    "Real", "RealDiv", "Reciprocal", "Relu", "Relu6", "Round", "Rsqrt", "Selu", "Sigmoid", "Sign",
    "Sin", "Sinh", "Softmax", "Softplus", "Sqrt", "Square", "SquaredDifference", "Sub", "Tan",
    "Tanh", "TensorScatterUpdate", "UpperBound", "ZerosLike",
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
WITH_ATTRIBUTES: Mapping[str, tuple[str, Mapping[str, tuple[str, Any]]]] = {
    "BatchMatMul": (
        "BatchMatMul",
        {"transpose_a": ("adj_x", False), "transpose_b": ("adj_y", False)},
    ),
    "BatchMatMulV2": (
        "BatchMatMul",
        {"transpose_a": ("adj_x", False), "transpose_b": ("adj_y", False)},
    ),
    "LRN": (
        "LRN",
        {
            "depth_radius": ("depth_radius", 5),
            "bias": ("bias", 1.0),
            "alpha": ("alpha", 1.0),
            "beta": ("beta", 0.5),
        },
    ),
    "DepthToSpace": (
        "DepthToSpace",
        {"block_size": ("block_size", None), "data_format": ("data_format", "NHWC")},
    ),
    "LeakyRelu": ("LeakyRelu", {"alpha": ("alpha", 0.2)}),
    "MatMul": (
        "BatchMatMul",
        {"transpose_a": ("transpose_a", False), "transpose_b": ("transpose_b", False)},
    ),
}
"""By TensorFlow's name the kernel, and by its attributes theirs with the default."""


def _kernel(name: str, attrs: Mapping[str, tuple[str, Any]]) -> Callable[..., Tensor]:
    def call(node: OnnxNode, *xs: Tensor) -> Tensor:
        given = {ours: node.attr(theirs, default) for ours, (theirs, default) in attrs.items()}
        return run(name, *xs, **given)

    call.__signature__ = _signature(name)  # type: ignore[attr-defined]  # functions may have one
    return call


def _signature(kernel: str) -> inspect.Signature:
    """Return the signature of a function of a node and the kernel's inputs."""
    declared = find_signature(kernel)
    assert declared is not None, kernel
    names = ["node", *(one.name for one in declared.inputs)]
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def _by_numpy(function: Callable[..., Any] | None) -> Callable[..., Any] | None:
    return None if function is None else lambda node, *arrays: function(*arrays)


SAME: Mapping[str, str] = {**{one: one for one in _SAME}, **_OTHERWISE}
"""By TensorFlow's name the kernel that has its inputs and no attributes."""
for _name, _ours in SAME.items():
    rule(_name, numpy=_by_numpy(_NUMPY.get(_name)))(_kernel(_ours, {}))
for _name, (_ours, _attrs) in WITH_ATTRIBUTES.items():
    rule(_name)(_kernel(_ours, _attrs))


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
