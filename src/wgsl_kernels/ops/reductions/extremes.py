"""Ops that find the largest and the smallest elements along axes, and where they lie.

NaN wins everywhere; among equal ones the first. -0 equals 0.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.extremes import zeros_in_order
from wgsl_kernels.backends.cpu.folds import folded
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.variants import SPREADS, declare
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.engine.values.shapes import normalize_axis, reduced, require_dtype
from wgsl_kernels.engine.values.spec import Shape, Spec
from wgsl_kernels.ops.elementwise import logical
from wgsl_kernels.ops.reductions.reduce import Axes, axes_of, broadcast_gradient, kept, spec_without
from wgsl_kernels.ops.rules.specs import NUMBERS
from wgsl_kernels.ops.shapes import shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(numpy="argmax", tfjs="argMax", method=True)
def argmax(x: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Return, as int32, the index of the first largest element along ``axis``; 0 of none.

    Args:
        x: Any shape, real or bool.
        axis: One axis; None for the index into ``x`` laid out row by row.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> wk.argmax([[1.0, 5.0], [7.0, 3.0]], axis=1).tolist()
        [1, 0]
    """
    return _place_of("ArgMax", x, axis, keepdims)


@public(numpy="argmin", tfjs="argMin", method=True)
def argmin(x: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Return, as int32, the index of the first smallest element along ``axis``; 0 of none.

    Args:
        x: Any shape, real or bool.
        axis: One axis; None for the index into ``x`` laid out row by row.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> wk.argmin([[1.0, 5.0], [7.0, 3.0]], axis=1).tolist()
        [0, 1]
    """
    return _place_of("ArgMin", x, axis, keepdims)


def _declare_places(kernel: str, find: Callable[..., Any], shader: str) -> None:
    @signature(kernel)
    @exact(*NUMBERS)
    def places_signature(x: Spec, /, *, axis: int = 0) -> Spec:
        return _place_spec(kernel, x, axis)

    @cpu_kernel(kernel)
    def places_cpu(x: Array, *, axis: int) -> Array:
        places = find(_as_writable(x), axis) if x.shape[axis] else np.zeros(_left(x, axis))
        return np.asarray(places).astype(np.int32)

    wgsl_kernel(kernel, shader)
    no_gradient(kernel, because="its output is an index")


_declare_places("ArgMax", np.argmax, "reductions/extremes/arg_max.wesl")
_declare_places("ArgMin", np.argmin, "reductions/extremes/arg_min.wesl")
declare("ArgMax", SPREADS)


@public(numpy="amax max", tfjs="max", method=True)
def max(x: TensorLike, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return the largest element along ``axis``, NaN where there is one.

    Of no elements it is -Inf, 0 of int32, false of bool. Each of several largest elements gets
    the whole gradient; where one is NaN the gradient is 0.

    Args:
        x: Any shape, real or bool.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> grad(max)(tensor([3.0, 1.0, 3.0])).tolist()
        [1.0, 0.0, 1.0]
        >>> grad(max)(tensor([3.0, np.nan, 3.0])).tolist()
        [0.0, 0.0, 0.0]
    """
    return run("Max", x, reduction_indices=axis, keep_dims=keepdims)


@signature("Max")
@exact(*NUMBERS)
def _max_signature(x: Spec, /, *, reduction_indices: Axes = None, keep_dims: bool = False) -> Spec:
    require_dtype("Max", "x", x, "float32", "int32", "bool")
    return spec_without("Max", x, reduction_indices, keep_dims, "reduction_indices")


@cpu_kernel("Max")
def _max_cpu(x: Array, *, reduction_indices: Axes, keep_dims: bool) -> Array:
    lowest = -np.inf if x.dtype.kind == "f" else None
    return _extreme(np.maximum, x, axes_of(reduction_indices, x), keep_dims, lowest, 0)


wgsl_kernel("Max", "reductions/extremes/max.wesl")


@gradient("Max")
def _max_grad(dy: Tensor, x: Tensor, y: Tensor, reduction_indices: Axes) -> Tensor:
    return _to_equals(dy, x, y, reduction_indices)


@public(numpy="amin min", tfjs="min", method=True)
def min(x: TensorLike, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """Return the smallest element along ``axis``, NaN where there is one.

    Of no elements it is Inf, 0 of int32, true of bool. Each of several smallest elements gets
    the whole gradient; where one is NaN the gradient is 0.

    Args:
        x: Any shape, real or bool.
        axis: One axis, several, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> grad(min)(tensor([1.0, 3.0, 1.0])).tolist()
        [1.0, 0.0, 1.0]
        >>> grad(min)(tensor([1.0, np.nan, 1.0])).tolist()
        [0.0, 0.0, 0.0]
    """
    return run("Min", x, axis=axis, keep_dims=keepdims)


@signature("Min")
@exact(*NUMBERS)
def _min_signature(x: Spec, /, *, axis: Axes = None, keep_dims: bool = False) -> Spec:
    require_dtype("Min", "x", x, "float32", "int32", "bool")
    return spec_without("Min", x, axis, keep_dims)


@cpu_kernel("Min")
def _min_cpu(x: Array, *, axis: Axes, keep_dims: bool) -> Array:
    highest = np.inf if x.dtype.kind == "f" else None
    return _extreme(np.minimum, x, axes_of(axis, x), keep_dims, highest, x.dtype == np.bool_)


wgsl_kernel("Min", "reductions/extremes/min.wesl")


@gradient("Min")
def _min_grad(dy: Tensor, x: Tensor, y: Tensor, axis: Axes) -> Tensor:
    return _to_equals(dy, x, y, axis)


def _place_of(kernel: str, x: TensorLike, axis: int | None, keepdims: bool) -> Tensor:
    given, keepdims = as_tensor(x), flag(kernel, "keepdims", keepdims)
    if axis is None:
        flat = run(kernel, shape.reshape(given, (-1,)), axis=0)
        return shape.reshape(flat, (1,) * given.ndim) if keepdims else flat
    places = run(kernel, given, axis=axis)
    return shape.expand_dims(places, axis=axis) if keepdims else places


def _place_spec(kernel: str, x: Spec, axis: int) -> Spec:
    require_dtype(kernel, "x", x, "float32", "int32", "bool")
    one = normalize_axis(kernel, axis, x.ndim)
    return Spec(reduced(x.shape, (one,), False), "int32")


def _left(x: Array, axis: int) -> Shape:
    return reduced(x.shape, (axis % x.ndim,), False)


def _as_writable(x: Array) -> Array:
    """Return ``x`` under a flag without which NumPy copies it before it looks for a place."""
    facts = dict(x.__array_interface__)
    facts["data"] = (facts["data"][0], False)
    return np.asarray(SimpleNamespace(__array_interface__=facts, array=x))


def _extreme(
    ufunc: np.ufunc,
    x: Array,
    axes: tuple[int, ...],
    keep_dims: bool,
    initial: float | None,
    of_nothing: bool | int,
) -> Array:
    y = _reduced(ufunc, x, axes, keep_dims, initial, of_nothing)
    return zeros_in_order(
        ufunc, y, x, lambda words: _reduced(ufunc, words, axes, keep_dims, None, 0)
    )


def _reduced(
    ufunc: np.ufunc,
    x: Array,
    axes: tuple[int, ...],
    keep_dims: bool,
    initial: float | None,
    of_nothing: bool | int,
) -> Array:
    if x.flags.c_contiguous and axes[-1:] == (len(axes) - 1,) and x.size:  # leading ones
        left = x.shape[len(axes) :]
        y = folded(ufunc, x.reshape(-1, math.prod(left)))
        return y.reshape((1,) * len(axes) + left if keep_dims else left)
    if initial is None and 0 in (x.shape[one] for one in axes):
        return np.full(reduced(x.shape, axes, keep_dims), of_nothing, x.dtype)
    if initial is None:
        return np.asarray(ufunc.reduce(x, axis=axes, keepdims=keep_dims))
    return np.asarray(ufunc.reduce(x, axis=axes, keepdims=keep_dims, initial=initial))


def _to_equals(dy: Tensor, x: Tensor, y: Tensor, axis: Axes) -> Tensor:
    """Return ``dy`` where x equals its row's extreme, else 0."""
    mask = x == kept(y, x.shape, axis)
    return logical.where(mask, broadcast_gradient(dy, x.shape, axis), as_tensor(0.0, dtype=x.dtype))
