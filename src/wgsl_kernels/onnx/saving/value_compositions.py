"""Kernels that compute values, as other kernels that every format has."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.onnx.saving.tracing import CannotSayError
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.saving.tracing import Composition


def _floats(*xs: Tensor) -> list[Tensor]:
    """Return values as floats."""
    return [x if "float" in str(x.dtype) else ops.astype(x, "float32") for x in xs]


def _is_below(x: Tensor) -> Tensor:
    """Return whether the sign of floats is minus, as that of -0 is."""
    return ops.where(x == 0.0, 1.0 / x, x) < 0.0


def _add_n(xs: Sequence[Tensor]) -> Tensor:
    found = xs[0]
    for one in xs[1:]:
        found = found + one
    return found


def _atan2(a: Tensor, b: Tensor) -> Tensor:
    a, b = _floats(a, b)
    high, wide = ops.abs(a), ops.abs(b)
    steep = high > wide
    least, most = ops.where(steep, wide, high), ops.where(steep, high, wide)
    ratio = ops.where(least == most, ops.where(most == 0.0, 0.0, 1.0), least / most)
    ratio = ops.where(ops.isnan(a + b * 0.0), least + most, ratio)
    angle = ops.atan(ratio)
    angle = ops.where(steep, math.pi / 2 - angle, angle)
    angle = ops.where(_is_below(b), math.pi - angle, angle)
    return ops.where(_is_below(a), -angle, angle)


def _copy_sign(a: Tensor, b: Tensor) -> Tensor:
    a, b = _floats(a, b)
    size = ops.abs(a)
    return ops.where(_is_below(b), -size, size)


def _elu_grad(dy: Tensor, y: Tensor) -> Tensor:
    return ops.where(y >= 0.0, dy, dy * (y + 1.0))


def _expm1(x: Tensor) -> Tensor:
    (x,) = _floats(x)  # (e^x - 1) = tanh(x/2) (e^x + 1), which loses no digits near 0
    return ops.tanh(x * 0.5) * (ops.exp(x) + 1.0)


def _hypot(a: Tensor, b: Tensor) -> Tensor:
    a, b = map(ops.abs, _floats(a, b))
    most, least = ops.maximum(a, b), ops.minimum(a, b)
    ratio = least / ops.where(most == 0.0, 1.0, most)
    found = most * ops.sqrt(ratio * ratio + 1.0)
    return ops.where(ops.isinf(most), most, ops.where(ops.isinf(a), a, found))


def _is_finite(x: Tensor) -> Tensor:
    return ops.logical_not(ops.logical_or(ops.isnan(x), ops.isinf(x)))


def _log10(x: Tensor) -> Tensor:
    return ops.log(*_floats(x)) * (1 / math.log(10))


def _log1p(x: Tensor) -> Tensor:
    (x,) = _floats(x)  # what 1 + x loses of x is made up for by a factor
    u = x + 1.0
    found = ops.where(u == 1.0, x, ops.log(u) * (x / ops.where(u == 1.0, 1.0, u - 1.0)))
    return ops.where(ops.isinf(u), u, found)


def _log2(x: Tensor) -> Tensor:
    return ops.log(*_floats(x)) * (1 / math.log(2))


def _log_add_exp(a: Tensor, b: Tensor) -> Tensor:
    a, b = _floats(a, b)
    most = ops.maximum(a, b)
    apart = ops.where(a == b, 0.0, ops.minimum(a, b) - most)
    return most + _log1p(ops.exp(apart))


def _logical_xor(a: Tensor, b: Tensor) -> Tensor:
    return ops.not_equal(ops.astype(a, "bool"), ops.astype(b, "bool"))


def _squared_difference(a: Tensor, b: Tensor) -> Tensor:
    apart = a - b
    return apart * apart


def _step(x: Tensor, *, alpha: float) -> Tensor:
    (x,) = _floats(x)
    return ops.where(ops.isnan(x), x, ops.where(x > 0.0, 1.0, alpha))


def _fused_batch_norm(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    offset: Tensor | None = None,
    scale: Tensor | None = None,
    *,
    variance_epsilon: float,
) -> Tensor:
    factor = ops.rsqrt(variance + variance_epsilon)
    found = (x - mean) * (factor if scale is None else factor * scale)
    return found if offset is None else found + offset


def _layer_norm(
    x: Tensor, scale: Tensor | None, offset: Tensor | None, *, axis: int, epsilon: float
) -> Tensor:
    axes = tuple(range(axis % x.ndim, x.ndim))
    apart = x - ops.mean(x, axes, keepdims=True)
    found = apart / ops.sqrt(ops.mean(ops.square(apart), axes, keepdims=True) + epsilon)
    if scale is not None:
        found = found * scale
    return found if offset is None else found + offset


def _log_sum_exp(x: Tensor, *, axis: Any, keep_dims: bool) -> Tensor:
    if not x.size:
        raise CannotSayError("of no elements")
    (x,) = _floats(x)
    most = ops.max(x, axis, keepdims=True)
    most = ops.where(ops.isinf(most), 0.0, most)
    found = ops.log(ops.sum(ops.exp(x - most), axis, keepdims=True)) + most
    return found if keep_dims else ops.reshape(found, ops.sum(x, axis).shape)


def _variance(x: Tensor, *, axis: Any, correction: float, keep_dims: bool) -> Tensor:
    if not x.size:
        raise CannotSayError("of no elements")
    (x,) = _floats(x)
    apart = x - ops.mean(x, axis, keepdims=True)
    squares = ops.square(apart)
    if not correction:
        return ops.mean(squares, axis, keepdims=keep_dims)
    total = ops.sum(squares, axis, keepdims=keep_dims)
    return total / max(x.size // max(total.size, 1) - correction, 0.0)


def _cumprod(x: Tensor, *, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    """Multiply each element by those 1, 2, 4 and so on before it."""
    if not x.ndim or not x.size:
        raise CannotSayError("of a scalar, or of no elements")
    length, step = x.shape[axis], 1
    found = ops.flip(x, axis) if reverse else x

    def moved(z: Tensor, by: int) -> Tensor:
        widths = [(by, 0) if i == axis % z.ndim else (0, 0) for i in range(z.ndim)]
        return ops.split(ops.pad(z, widths, constant_value=1), [length, by], axis)[0]

    if exclusive:
        found = moved(found, 1)
    while step < length:
        found, step = found * moved(found, step), step * 2
    return ops.flip(found, axis) if reverse else found


def _diag(x: Tensor) -> Tensor:
    count = x.size
    mask = np.eye(count, dtype=np.bool_)
    rows = ops.broadcast_to(ops.reshape(x, (count, 1)), (count, count))
    return ops.reshape(ops.where(mask, rows, ops.zeros_like(rows)), x.shape * 2)


def _band(input: Tensor, num_lower: Tensor, num_upper: Tensor) -> Tensor:
    rows, cols = input.shape[-2:]
    below = np.arange(rows)[:, None] - np.arange(cols)
    places = tensor(below.astype(np.int32))
    lower = ops.logical_or(places <= num_lower, num_lower < 0)
    upper = ops.logical_or(-places <= num_upper, num_upper < 0)
    return ops.where(ops.logical_and(lower, upper), input, ops.zeros_like(input))


def _fused(kernel: str) -> Composition:
    def compose(
        x: Tensor,
        filter: Tensor,
        bias: Tensor | None = None,
        prelu_activation_weights: Tensor | None = None,
        *,
        activation: str,
        leakyrelu_alpha: float | None,
        **attrs: Any,
    ) -> Tensor:
        found = run(kernel, x, filter, **attrs)
        first = attrs.get("data_format") in ("NCHW", "NCDHW")
        slopes = prelu_activation_weights
        if first and any(one is not None and one.size > 1 for one in (bias, slopes)):
            raise CannotSayError("with a bias or slopes for channels that come first")
        found = found if bias is None else found + bias
        if activation == "leakyrelu":
            return run("LeakyRelu", found, alpha=leakyrelu_alpha)
        if activation == "prelu":
            return run("Prelu", found, slopes)
        if activation == "linear":
            return found
        return run(activation[:1].upper() + activation[1:], found)

    return compose


COMPOSITIONS: Mapping[str, Composition] = MappingProxyType(
    {
        "AddN": _add_n,
        "Atan2": _atan2,
        "CopySign": _copy_sign,
        "Cumprod": _cumprod,
        "Diag": _diag,
        "EluGrad": _elu_grad,
        "Expm1": _expm1,
        "FusedBatchNorm": _fused_batch_norm,
        "FusedConv2D": _fused("Conv2D"),
        "FusedDepthwiseConv2D": _fused("DepthwiseConv2dNative"),
        "Hypot": _hypot,
        "IsFinite": _is_finite,
        "LayerNorm": _layer_norm,
        "Log10": _log10,
        "Log1p": _log1p,
        "Log2": _log2,
        "LogAddExp": _log_add_exp,
        "LogSumExp": _log_sum_exp,
        "LogicalXor": _logical_xor,
        "MatrixBandPart": _band,
        "SquaredDifference": _squared_difference,
        "Step": _step,
        "Variance": _variance,
        "_FusedMatMul": _fused("BatchMatMul"),
    }
)
