"""Ops that tell how far elements lie from their mean along axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.sums import deviations, total
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import normalize_axes, require_dtype
from wgsl_kernels.ops.elementwise import unary
from wgsl_kernels.ops.reductions import reduce

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.ops.reductions.reduce import Axes


@public(tfjs="moments")
def moments(x: TensorLike, axis: Axes = None, *, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the mean along ``axis``, and the mean of the squared deviations from it.

    Args:
        x: Any shape, real or bool.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> mean, variance = moments(tensor([1.0, 3.0]))
        >>> mean.item(), variance.item()
        (2.0, 1.0)
    """
    given = as_tensor(x)
    mean = reduce.mean(given, axis=axis, keepdims=keepdims)
    return mean, var(given, axis=axis, keepdims=keepdims)


@public(method=True)
def std(
    x: TensorLike, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the standard deviation along ``axis``, the root of ``var``.

    Where all elements are equal it is 0 and its gradient is NaN.

    Args:
        x: Any shape, real or bool.
        axis: One axis, several, or None for all.
        correction: Subtracted from the number of elements; see ``var``.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> std(tensor([1.0, 3.0])).item()
        1.0
        >>> grad(std)(tensor([2.0, 2.0])).tolist()
        [nan, nan]
    """
    return unary.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


@public(method=True)
def var(
    x: TensorLike, axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the sum of squared deviations from the mean along ``axis``, divided by their number.

    It is computed from differences, never from a difference of large squares, nor from a sum that
    overflows where the differences do not. NaN of no elements.

    Args:
        x: Any shape, real or bool; of int32 and bool the result is float32.
        axis: One axis, several, or None for all.
        correction: Subtracted from the number of elements, which then is at least 0; 1 estimates
            the variance that a sample was drawn from.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> var(tensor([[1.0, 3.0], [2.0, 6.0]]), axis=1, correction=1.0).tolist()
        [2.0, 8.0]
        >>> var(full(64, 1e38)).item()
        0.0

    Source: Chan, Golub, LeVeque, Algorithms for Computing the Sample Variance, 1983.
    """
    return run("Variance", x, axis=axis, correction=correction, keep_dims=keepdims)


@signature("Variance")
def _var_signature(
    x: Spec, /, *, axis: Axes = None, correction: float = 0.0, keep_dims: bool = False
) -> Spec:
    if not math.isfinite(correction):
        raise ArgumentError(f"Variance: correction is {correction}; want a finite number.")
    require_dtype("Variance", "x", x, "float32", "int32", "bool")
    dtype = "float32" if x.dtype in ("int32", "bool") else x.dtype
    return reduce.spec_without("Variance", x, axis, keep_dims).like(dtype=dtype)


@cpu_kernel("Variance")
@silent
def _var_cpu(x: Array, *, axis: Axes, correction: float, keep_dims: bool) -> Array:
    is_whole = x.dtype.kind in "ib"
    wide = np.dtype(np.float64) if is_whole or x.dtype == np.float16 else x.dtype
    axes = reduce.axes_of(axis, x)
    count = math.prod(x.shape[one] for one in axes)
    y = deviations(x.astype(wide, copy=False), axes)
    np.square(y, out=y)
    divisor = max(count - correction, 0.0) if count else np.nan
    variance = np.divide(total(y, axes, keepdims=keep_dims), wide.type(divisor))
    return np.asarray(variance).astype(np.float32 if is_whole else x.dtype, copy=False)


wgsl_kernel("Variance", "reductions/statistics/variance.wesl")


@gradient("Variance")
def _var_grad(dy: Tensor, x: Tensor, axis: Axes, correction: float) -> Tensor:
    # d/dx_i sum_j (x_j - mean)^2 = 2 (x_i - mean): what the mean's own change adds up to is 0
    count = math.prod(x.shape[one] for one in normalize_axes("Variance", axis, x.ndim))
    freedom = max(count - correction, 0.0)
    deviation = x - reduce.mean(x, axis=axis, keepdims=True)
    return reduce.kept(dy, x.shape, axis) * deviation * (2.0 / freedom if freedom else math.nan)
