"""Softmax, its logarithm, and the logarithm of a sum of exponentials, all without overflow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.autodiff import stop_gradient
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import normalize_axes, normalize_axis, reduced, require_dtype
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops import exponential, extremes, logical, reduce, shape, unary

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Spec
    from wgsl_kernels.ops.reduce import Axes

_GROUP = 64
_PART = _GROUP * 8192
"""Elements of a row that one workgroup takes; longer rows take several."""


def log_softmax(logits: TensorLike, *, axis: int = -1) -> Tensor:
    """Return ``logits - log(sum(exp(logits)))`` along ``axis``.

    Args:
        logits: At least one axis, float.
        axis: The axis whose probabilities sum to 1.
    """
    return run("LogSoftmax", logits, axis=axis)


@signature("LogSoftmax")
def _log_softmax_signature(logits: Spec, /, *, axis: int = -1) -> Spec:
    require_dtype("LogSoftmax", "logits", logits, "float32")
    normalize_axis("LogSoftmax", axis, logits.ndim)
    return logits


@cpu_kernel("LogSoftmax")
def _log_softmax_cpu(logits: Array, *, axis: int) -> Array:
    return numerics.log_softmax(logits, axis)


@wgsl_kernel("LogSoftmax", dtypes=("float32", "float16"))
def _log_softmax_webgpu(gpu: Gpu, logits: GpuArray, *, axis: int) -> GpuArray:
    return _by_rows(gpu, "softmax/log_softmax.wgsl", logits, axis)


@gradient("LogSoftmax")
def _log_softmax_grad(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    return dy - reduce.sum(dy, axis=axis, keepdims=True) * exponential.exp(y)


def logsumexp(x: TensorLike, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return ``log(sum(exp(x)))`` along ``axis``; -Inf of no elements.

    Args:
        x: Any shape, float.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.
    """
    given = as_tensor(x)
    top = stop_gradient(extremes.max(given, axis=axis, keepdims=True))
    zero = as_tensor(0.0, dtype=given.dtype)
    top = logical.where(unary.abs(top) == math.inf, zero, top)
    y = exponential.log(reduce.sum(exponential.exp(given - top), axis=axis, keepdims=True)) + top
    axes = normalize_axes("logsumexp", axis, given.ndim)
    return y if keepdims else shape.reshape(y, reduced(given.shape, axes, False))


def softmax(logits: TensorLike, *, axis: int = -1) -> Tensor:
    """Return ``exp(logits) / sum(exp(logits))`` along ``axis``.

    Args:
        logits: At least one axis, float.
        axis: The axis along which the result sums to 1.
    """
    return run("Softmax", logits, dim=axis)


@signature("Softmax")
def _softmax_signature(logits: Spec, /, *, dim: int = -1) -> Spec:
    require_dtype("Softmax", "logits", logits, "float32")
    normalize_axis("Softmax", dim, logits.ndim, "dim")
    return logits


@cpu_kernel("Softmax")
def _softmax_cpu(logits: Array, *, dim: int) -> Array:
    return numerics.softmax(logits, dim)


@wgsl_kernel("Softmax", dtypes=("float32", "float16"))
def _softmax_webgpu(gpu: Gpu, logits: GpuArray, *, dim: int) -> GpuArray:
    return _by_rows(gpu, "softmax/softmax.wgsl", logits, dim)


@gradient("Softmax")
def _softmax_grad(dy: Tensor, y: Tensor, dim: int) -> Tensor:
    weighted = dy * y
    return weighted - reduce.sum(weighted, axis=dim, keepdims=True) * y


def _by_rows(gpu: Gpu, shader: str, logits: GpuArray, axis: int) -> GpuArray:
    """Run a kernel that includes softmax/rows.wgsl."""
    y = gpu.empty(logits.shape, logits.dtype)
    if y.size == 0:
        return y
    length = logits.shape[axis]
    parts = -(-length // _PART)
    lanes = min(_GROUP, 1 << (length - 1).bit_length())
    rows = y.size // length
    params = {
        "rows": rows,
        "length": length,
        "inner": math.prod(logits.shape[axis % len(logits.shape) + 1 :]),
        "parts": parts,
        "part_size": _PART,
        "lanes": lanes,
    }
    statistics = gpu.empty((rows, parts) if parts > 1 else (1, 1), "complex64")
    if parts > 1:
        arrays = {"logits": logits, "statistics": statistics}
        gpu.dispatch(
            "softmax/measure.wgsl", arrays, params=params, groups=gpu.grid(rows * parts, 1)
        )
    arrays = {"logits": logits, "statistics": statistics, "y": y}
    groups = gpu.grid(rows * parts * lanes, _GROUP)
    gpu.dispatch(shader, arrays, params=params, groups=groups)
    return y
