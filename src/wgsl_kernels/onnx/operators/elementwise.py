"""Maps of one tensor: mathematical functions, activations, classification of numbers, windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.onnx.narrow import fit
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.types import element
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode

_MAPS = {
    "Abs": ops.abs,
    "Acos": ops.acos,
    "Acosh": ops.acosh,
    "Asin": ops.asin,
    "Asinh": ops.asinh,
    "Atan": ops.atan,
    "Atanh": ops.atanh,
    "BitwiseNot": ops.bitwise_invert,
    "Ceil": ops.ceil,
    "Cos": ops.cos,
    "Cosh": ops.cosh,
    "Erf": ops.erf,
    "Exp": ops.exp,
    "Floor": ops.floor,
    "IsNaN": ops.isnan,
    "Log": ops.log,
    "Neg": ops.negative,
    "Not": ops.logical_not,
    "Reciprocal": ops.reciprocal,
    "Relu": ops.relu,
    "Round": ops.round,
    "Sigmoid": ops.sigmoid,
    "Sign": ops.sign,
    "Sin": ops.sin,
    "Sinh": ops.sinh,
    "Softplus": ops.softplus,
    "Sqrt": ops.sqrt,
    "Tan": ops.tan,
    "Tanh": ops.tanh,
}


def _map(function: Callable[[Tensor], Tensor]) -> Callable[[OnnxNode, Tensor], Tensor]:
    return lambda node, x: function(x)


for _name, _function in _MAPS.items():
    operator(_name)(_map(_function))


@operator("Identity", "Optional", "OptionalGetElement", raw=True)
def identity(node: OnnxNode, x: Any = None) -> Any:
    """Return ``x``, which may be a sequence, or nothing."""
    return x


@operator("Celu")
def celu(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``."""
    alpha = node.attr("alpha")
    return ops.maximum(x, 0.0) + ops.minimum(alpha * ops.expm1(x / alpha), 0.0)


@operator("Clip")
def clip(
    node: OnnxNode, x: Tensor, low: Tensor | None = None, high: Tensor | None = None
) -> Tensor:
    """Return ``x`` between two bounds, which are attributes before version 11."""
    low, high = node.attr("min", low), node.attr("max", high)
    return x if low is None and high is None else ops.clip(x, low, high)


@operator("Elu")
def elu(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` where it is not below 0, else ``alpha * (exp(x) - 1)``."""
    alpha = node.attr("alpha")
    return ops.elu(x) if alpha == 1 else ops.where(x < 0, alpha * ops.expm1(x), x)


@operator("Gelu")
def gelu(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` times the normal distribution's function of it, exactly or by tanh."""
    return ops.gelu(x, approximate=node.attr("approximate") == "tanh")


@operator("HardSigmoid")
def hard_sigmoid(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``alpha * x + beta`` between 0 and 1."""
    return ops.clip(node.attr("alpha") * x + node.attr("beta"), 0.0, 1.0)


@operator("HardSwish")
def hard_swish(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` times ``x / 6 + 1 / 2`` between 0 and 1."""
    return x * ops.clip(x / 6.0 + 0.5, 0.0, 1.0)


@operator("IsInf")
def is_infinite(node: OnnxNode, x: Tensor) -> Tensor:
    """Return whether ``x`` is infinite, of the signs that are asked for."""
    above, below = node.attr("detect_positive"), node.attr("detect_negative")
    if above and below:
        return ops.isinf(x)
    if not above and not below:
        return ops.zeros(x.shape, "bool")
    return ops.logical_and(ops.isinf(x), x > 0 if above else x < 0)


@operator("LeakyRelu")
def leaky_relu(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` where it is not below 0, else ``alpha * x``."""
    return ops.leaky_relu(x, alpha=node.attr("alpha"))


@operator("Mish")
def mish(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x * tanh(log(1 + exp(x)))``."""
    return x * ops.tanh(ops.softplus(x))


@operator("PRelu")
def prelu(node: OnnxNode, x: Tensor, slope: Tensor) -> Tensor:
    """Return ``x`` where it is not below 0, else ``slope * x``.

    Before version 7 a slope per channel was no more than the channels.
    """
    if node.version < 7 and slope.ndim == 1 and slope.size > 1:
        slope = ops.reshape(slope, (-1, *(1,) * (x.ndim - 2)))
    return ops.where(x < 0, slope * x, x)


@operator("Selu")
def selu(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``gamma * x`` where it is above 0, else ``gamma * alpha * (exp(x) - 1)``."""
    return ops.multiply(node.attr("gamma"), ops.where(x > 0, x, node.attr("alpha") * ops.expm1(x)))


@operator("Shrink")
def shrink(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` moved toward 0 by ``bias`` beyond ``lambd``, and 0 within."""
    edge, bias = node.attr("lambd"), node.attr("bias")
    return ops.where(x < -edge, x + bias, ops.where(x > edge, x - bias, ops.zeros_like(x)))


@operator("Softsign")
def softsign(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x / (1 + |x|)``."""
    return x / (1.0 + ops.abs(x))


@operator("Swish")
def swish(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x * sigmoid(alpha * x)``."""
    return ops.silu(x) if node.attr("alpha") == 1 else x * ops.sigmoid(node.attr("alpha") * x)


@operator("ThresholdedRelu")
def thresholded_relu(node: OnnxNode, x: Tensor) -> Tensor:
    """Return ``x`` where it is above ``alpha``, else 0."""
    return ops.where(x > node.attr("alpha"), x, ops.zeros_like(x))


@operator("HannWindow", "HammingWindow", "BlackmanWindow", host=(0,))
def window(node: OnnxNode, size: Any) -> Tensor:
    """Return a window of cosines, of one period or symmetric.

    Source: Harris, On the Use of Windows for Harmonic Analysis, Proceedings of the IEEE, 1978.
    """
    length = int(size)
    span = length if node.attr("periodic") else length - 1
    angle = ops.arange(float(length)) * (2 * math.pi / max(span, 1))
    hamming = 25 / 46
    terms = {
        "HannWindow": (0.5, 0.5, 0.0),
        "HammingWindow": (hamming, 1 - hamming, 0.0),
        "BlackmanWindow": (0.42, 0.5, 0.08),
    }
    first, second, third = terms[node.op]
    found = first - second * ops.cos(angle)
    found = found + third * ops.cos(2.0 * angle) if third else found
    return fit(found, element(node.out_types[0]))
