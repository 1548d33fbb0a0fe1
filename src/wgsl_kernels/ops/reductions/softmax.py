"""Softmax, its logarithm, and the logarithm of a sum of exponentials, all without overflow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.variants import SPREADS, declare
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import normalize_axis, require_dtype
from wgsl_kernels.ops.elementwise import exponential, logical
from wgsl_kernels.ops.reductions import reduce

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.ops.reductions.reduce import Axes


@public(tfjs="logSoftmax", method=True)
def log_softmax(logits: TensorLike, axis: int = -1) -> Tensor:
    """Return ``logits - log(sum(exp(logits)))`` along ``axis``.

    Args:
        logits: At least one axis, float.
        axis: The axis whose probabilities sum to 1.

    Example:
        >>> wk.log_softmax([0.0, 0.0]).numpy().round(3)
        array([-0.693, -0.693], dtype=float32)
    """
    return run("LogSoftmax", logits, axis=axis)


@signature("LogSoftmax", floats=("logits",))
def _log_softmax_signature(logits: Spec, /, *, axis: int = -1) -> Spec:
    require_dtype("LogSoftmax", "logits", logits, "float32")
    normalize_axis("LogSoftmax", axis, logits.ndim)
    return logits


@cpu_kernel("LogSoftmax")
def _log_softmax_cpu(logits: Array, *, axis: int) -> Array:
    return numerics.log_softmax(logits, axis)


wgsl_kernel("LogSoftmax", "reductions/softmax/log_softmax.wesl", dtypes=("float32", "float16"))


@gradient("LogSoftmax")
def _log_softmax_grad(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    # dy - e^y * sum(dy), of which 1 - e^y is taken apart: it cancels where y is near 0
    others = reduce.sum(dy, axis=axis, keepdims=True) - dy
    return -(dy * exponential.expm1(y)) - others * exponential.exp(y)


@public(tfjs="logSumExp", method=True)
def logsumexp(x: TensorLike, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return ``log(sum(exp(x)))`` along ``axis``; -Inf of no elements.

    Args:
        x: Any shape, float.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> f"{wk.logsumexp([1000.0, 1000.0]):.3f}"
        '1000.693'
    """
    return run("LogSumExp", x, axis=axis, keep_dims=keepdims)


@signature("LogSumExp", floats=("x",))
def _logsumexp_signature(x: Spec, /, *, axis: Axes = None, keep_dims: bool = False) -> Spec:
    require_dtype("LogSumExp", "x", x, "float32")
    return reduce.spec_without("LogSumExp", x, axis, keep_dims)


@cpu_kernel("LogSumExp")
def _logsumexp_cpu(x: Array, *, axis: Axes, keep_dims: bool) -> Array:
    return numerics.logsumexp(x, reduce.axes_of(axis, x), keep_dims)


wgsl_kernel("LogSumExp", "reductions/softmax/log_sum_exp.wesl", dtypes=("float32", "float16"))


@gradient("LogSumExp")
def _logsumexp_grad(dy: Tensor, x: Tensor, y: Tensor, axis: Axes) -> Tensor:
    # d/dx log(sum(exp(x))) = exp(x - y); where y is -Inf nothing moves it
    top = reduce.kept(y, x.shape, axis)
    top = logical.where(top == -math.inf, as_tensor(0.0, dtype=y.dtype), top)
    return reduce.kept(dy, x.shape, axis) * exponential.exp(x - top)


@public(tfjs="softmax", method=True)
def softmax(logits: TensorLike, axis: int = -1) -> Tensor:
    """Return ``exp(logits) / sum(exp(logits))`` along ``axis``.

    Args:
        logits: At least one axis, float.
        axis: The axis along which the result sums to 1.

    Example:
        >>> wk.softmax([[0.0, 0.0], [1000.0, 0.0]]).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
    """
    return run("Softmax", logits, dim=axis)


@signature("Softmax", floats=("logits",))
def _softmax_signature(logits: Spec, /, *, dim: int = -1) -> Spec:
    require_dtype("Softmax", "logits", logits, "float32")
    normalize_axis("Softmax", dim, logits.ndim, "dim")
    return logits


@cpu_kernel("Softmax")
def _softmax_cpu(logits: Array, *, dim: int) -> Array:
    return numerics.softmax(logits, dim)


wgsl_kernel("Softmax", "reductions/softmax/softmax.wesl", dtypes=("float32", "float16"))
declare("Softmax", SPREADS)


@gradient("Softmax")
def _softmax_grad(dy: Tensor, y: Tensor, dim: int) -> Tensor:
    # The sum of dy * y is dy itself where y is near 1. What is left without it is so small that its
    # own sum keeps the digits.
    left = dy - reduce.sum(dy * y, axis=dim, keepdims=True)
    return (left - reduce.sum(left * y, axis=dim, keepdims=True)) * y
