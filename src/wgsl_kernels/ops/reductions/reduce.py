"""Ops that combine all elements along axes: sums, means, products, and whether all or any hold.

int32 wraps; bool counts as 0 and 1. What the ops of `extremes` share stands here too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import WIDER, silent
from wgsl_kernels.backends.cpu.sums import ADD, total
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.variants import SPREADS, declare
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import normalize_axes, reduced, require_dtype
from wgsl_kernels.ops.elementwise import cast, compare, complex_maps
from wgsl_kernels.ops.rules.specs import NUMBERS, counted
from wgsl_kernels.ops.shapes import joining, shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DTypeLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

Axes = int | Sequence[int] | None

_MULTIPLY: np.ufunc = np.multiply


@public(numpy="all", tfjs="all", method=True)
def all(x: TensorLike, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return whether every element of ``x`` along ``axis`` is true, or not 0; True for empty input.

    Args:
        x: Any shape, any dtype but string. NaN is not 0.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> wk.all([[True, True], [True, False]], axis=1).tolist()
        [True, False]
    """
    return run("All", _truth(x), axis=axis, keep_dims=keepdims)


def _truth(x: TensorLike) -> Tensor:
    given = as_tensor(x)
    return given if given.spec.dtype in ("bool", "string") else compare.not_equal(given, 0)


@public(numpy="any", tfjs="any", method=True)
def any(x: TensorLike, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return whether some element of ``x`` along ``axis`` is true, or not 0; False for empty input.

    Args:
        x: Any shape, any dtype but string. NaN is not 0.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> wk.any([[True, True], [False, False]], axis=1).tolist()
        [True, False]
    """
    return run("Any", _truth(x), axis=axis, keep_dims=keepdims)


def _declare_truths(kernel: str, combine: Callable[..., Any], shader: str) -> None:
    @signature(kernel)
    @exact(*NUMBERS)
    def truths_signature(x: Spec, /, *, axis: Axes = None, keep_dims: bool = False) -> Spec:
        require_dtype(kernel, "x", x, "bool")
        return spec_without(kernel, x, axis, keep_dims)

    @cpu_kernel(kernel)
    def truths_cpu(x: Array, *, axis: Axes, keep_dims: bool) -> Array:
        return np.asarray(combine(x, axis=axes_of(axis, x), keepdims=keep_dims))

    wgsl_kernel(kernel, shader)
    no_gradient(kernel, because="its input is bool")


_declare_truths("All", np.all, "reductions/reduce/all.wgsl")
_declare_truths("Any", np.any, "reductions/reduce/any.wgsl")


@public(numpy="mean", tfjs="mean", method=True)
def mean(x: TensorLike, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return the mean along ``axis``; of int32 and bool as float32; NaN of no elements.

    Args:
        x: Any shape, any dtype but string.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> wk.mean([[1.0, 2.0], [3.0, 6.0]], axis=0).tolist()
        [2.0, 4.0]
    """
    return run("Mean", x, axis=axis, keep_dims=keepdims)


@signature("Mean")
def _mean_signature(x: Spec, /, *, axis: Axes = None, keep_dims: bool = False) -> Spec:
    require_dtype("Mean", "x", x, "float32", "int32", "bool", "complex64")
    dtype = "float32" if x.dtype in ("int32", "bool") else x.dtype
    return spec_without("Mean", x, axis, keep_dims).like(dtype=dtype)


@cpu_kernel("Mean")
@silent
def _mean_cpu(x: Array, *, axis: Axes, keep_dims: bool) -> Array:
    is_whole = x.dtype.kind in "ib"
    wide = np.dtype(np.float64) if is_whole else WIDER.get(x.dtype, x.dtype)
    axes = axes_of(axis, x)
    count = math.prod(x.shape[one] for one in axes)
    if x.dtype == np.float32:
        return np.asarray(total(x, axes, keepdims=keep_dims) / np.float32(count))
    summed = np.asarray(ADD.reduce(x, axis=axes, keepdims=keep_dims, dtype=wide))
    return np.asarray(np.divide(summed, count)).astype(np.float32 if is_whole else x.dtype)


wgsl_kernel("Mean", "reductions/reduce/mean.wgsl")


@gradient("Mean")
def _mean_grad(dy: Tensor, x_shape: Shape, axis: Axes) -> Tensor:
    axes = normalize_axes("Mean", axis, len(x_shape))
    count = math.prod(x_shape[one] for one in axes)
    return broadcast_gradient(dy * (1.0 / (count or 1)), x_shape, axis)


@public(numpy="prod", tfjs="prod", method=True)
def prod(
    x: TensorLike, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """Return the product along ``axis``; of bool as int32; 1 of no elements.

    On webgpu products of floats on the way are float32: where one overflows or underflows, the
    result may be infinite, NaN or 0. `cumulative_prod` ends in the product that does not.

    Args:
        x: Any shape, real or bool.
        axis: One axis, several, or None for all.
        dtype: What ``x`` is cast to first; without it bool, int8 and uint8 count as int32.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> wk.prod([[1.0, 2.0], [3.0, 4.0]], axis=1).tolist()
        [2.0, 12.0]
    """
    given = x if dtype is None else cast.astype(x, dtype, copy=False)
    try:
        return cast.as_asked(run("Prod", given, axis=axis, keep_dims=keepdims), dtype)
    except DTypeError:
        return complex_maps.product(given, axis, keepdims)


@signature("Prod")
@exact("int32", "bool")
def _prod_signature(x: Spec, /, *, axis: Axes = None, keep_dims: bool = False) -> Spec:
    require_dtype("Prod", "x", x, "float32", "int32", "bool")
    return spec_without("Prod", x, axis, keep_dims).like(dtype=counted(x.dtype))


@cpu_kernel("Prod")
@silent
def _prod_cpu(x: Array, *, axis: Axes, keep_dims: bool) -> Array:
    axes = axes_of(axis, x)
    product = _MULTIPLY.reduce(x, axis=axes, keepdims=keep_dims, dtype=_accumulator(x))
    return np.asarray(product).astype(_result(x), copy=False)


wgsl_kernel("Prod", "reductions/reduce/prod.wgsl")


@gradient("Prod")
def _prod_grad(dy: Tensor, x: Tensor, axis: Axes) -> Tensor:
    # d/dx_i = the product of all others, which divides by nothing: right where x has zeros
    axes = normalize_axes("Prod", axis, x.ndim)
    others = tuple(one for one in range(x.ndim) if one not in axes)
    order = others + axes
    moved = shape.permute_dims(x, order)
    count = math.prod(x.shape[one] for one in axes)
    rows = shape.reshape(moved, (math.prod(x.shape[one] for one in others), count))
    products = shape.reshape(_others(rows), moved.shape)
    back = tuple(order.index(one) for one in range(x.ndim))
    return kept(dy, x.shape, axis) * shape.permute_dims(products, back)


def _others(x: Tensor) -> Tensor:
    """Return, for each element of a row, the product of the row's other elements.

    Pairs are multiplied up a tree and each product's "others" handed down it, to the partner's
    side: about 2 multiplications per element.
    """
    rows, count = x.shape
    if count < 2:
        return _ones(rows, x) if count else x
    if count % 2:
        x = joining.concat([x, _ones(rows, x)], axis=1)
    pairs = shape.reshape(x, (rows, x.shape[1] // 2, 2))
    above = shape.expand_dims(_others(pairs[:, :, 0] * pairs[:, :, 1]), axis=2)
    return shape.reshape(above * shape.flip(pairs, axis=2), x.shape)[:, :count]


def _ones(rows: int, x: Tensor) -> Tensor:
    return shape.broadcast_to(as_tensor(1.0, dtype=x.dtype), (rows, 1))


@public(numpy="sum", tfjs="sum", method=True)
def sum(
    x: TensorLike, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """Return the sum along ``axis``; of bool, as int32, how many are true; 0 of no elements.

    Args:
        x: Any shape, any dtype but string.
        axis: One axis, several, or None for all.
        dtype: What ``x`` is cast to first; without it bool, int8 and uint8 count as int32.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> wk.sum([[1.0, 2.0], [3.0, 4.0]], axis=0).tolist()
        [4.0, 6.0]
    """
    given = x if dtype is None else cast.astype(x, dtype, copy=False)
    return cast.as_asked(run("Sum", given, axis=axis, keep_dims=keepdims), dtype)


@signature("Sum")
@exact("int32", "bool")
def _sum_signature(x: Spec, /, *, axis: Axes = None, keep_dims: bool = False) -> Spec:
    require_dtype("Sum", "x", x, "float32", "int32", "bool", "complex64")
    return spec_without("Sum", x, axis, keep_dims).like(dtype=counted(x.dtype))


@cpu_kernel("Sum")
@silent
def _sum_cpu(x: Array, *, axis: Axes, keep_dims: bool) -> Array:
    axes = axes_of(axis, x)
    if x.dtype == np.float32:
        return total(x, axes, keepdims=keep_dims)
    summed = ADD.reduce(x, axis=axes, keepdims=keep_dims, dtype=_accumulator(x))
    return np.asarray(summed).astype(_result(x), copy=False)


wgsl_kernel("Sum", "reductions/reduce/sum.wgsl")
declare("Sum", SPREADS)


@gradient("Sum")
def _sum_grad(dy: Tensor, x_shape: Shape, axis: Axes) -> Tensor:
    return broadcast_gradient(dy, x_shape, axis)


def spec_without(kernel: str, x: Spec, axis: Axes, keep_dims: bool, name: str = "axis") -> Spec:
    """Return what is left of ``x`` without ``axis``, the attribute ``name`` of ``kernel``."""
    return x.like(shape=reduced(x.shape, normalize_axes(kernel, axis, x.ndim, name), keep_dims))


def axes_of(axis: Axes, x: Array) -> tuple[int, ...]:
    """Return the axes that a checked attribute stands for, counted from the front."""
    return normalize_axes("", axis, x.ndim)


def _result(x: Array) -> np.dtype[np.generic]:
    return np.dtype(np.int32) if x.dtype == np.bool_ else x.dtype


def _accumulator(x: Array) -> np.dtype[np.generic]:
    return WIDER.get(x.dtype, _result(x))


def kept(dy: Tensor, x_shape: Shape, axis: Axes) -> Tensor:
    """Return ``dy`` with the reduced axes back, of length 1."""
    axes = normalize_axes("", axis, len(x_shape))
    return shape.reshape(dy, reduced(x_shape, axes, True))


def broadcast_gradient(dy: Tensor, x_shape: Shape, axis: Axes) -> Tensor:
    """Return ``dy`` repeated along the reduced axes."""
    return shape.broadcast_to(kept(dy, x_shape, axis), x_shape)
