"""Running sums and products along an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.scans import accumulated
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.variants import declare
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import flag
from wgsl_kernels.engine.values.shapes import normalize_axis, require_dtype
from wgsl_kernels.ops.elementwise import cast, complex_maps
from wgsl_kernels.ops.rules.specs import counted
from wgsl_kernels.ops.shapes import creation, joining, shape

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DTypeLike
    from wgsl_kernels.engine.values.spec import Spec


@public(tfjs="cumprod", method="cumulative_prod cumprod")
def cumulative_prod(
    x: TensorLike,
    axis: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """Return the products of the elements along ``axis`` up to each; int32 wraps.

    Of n floats it is off by at most 2 n units in the last place, also where a product on the way
    is beyond float32, as long as none is beyond float64.

    Args:
        x: Any shape, real or bool; bool, int8 and uint8 count as int32.
        axis: The axis; may be left out where there is only one, since NumPy would flatten more
            than one and TensorFlow.js would take the first.
        dtype: What ``x`` is cast to first, and the result's dtype.
        include_initial: Whether a 1 comes first, or last with ``reverse``: the result is longer
            by one.
        exclusive: Whether an element itself is left out: the first result is 1.
        reverse: Whether to go from the last element to the first: products from each place to the
            end.

    Raises:
        ArgumentError: No ``axis``, and ``x`` has several.

    Example:
        >>> cumulative_prod([1, 2, 3, 4]).tolist()
        [1, 2, 6, 24]
    """
    return _cumulative("Cumprod", x, axis, dtype, include_initial, exclusive, reverse)


def _cumulative(
    kernel: str,
    x: TensorLike,
    axis: int | None,
    dtype: DTypeLike | None,
    include_initial: bool,
    exclusive: bool,
    reverse: bool,
) -> Tensor:
    given = x if dtype is None else cast.astype(x, dtype, copy=False)
    at = _only_axis(kernel, given) if axis is None else axis
    try:
        y = run(kernel, given, axis=at, exclusive=exclusive, reverse=reverse)
        y = cast.as_asked(y, dtype)
    except DTypeError:
        y = complex_maps.cumulative(kernel, given, at, exclusive, reverse)
    if include_initial is False or not flag(kernel, "include_initial", include_initial):
        return y
    return _with_initial(y, at, int(kernel == "Cumprod"), reverse)


def _only_axis(kernel: str, x: TensorLike) -> int:
    rank = as_tensor(x).ndim
    if rank > 1:
        raise ArgumentError(
            f"{kernel}: axis is left out, and x has {rank} axes; say which, or flatten x as NumPy "
            "does: x.reshape(-1)."
        )
    return 0


def _with_initial(y: Tensor, axis: int, value: int, reverse: bool) -> Tensor:
    """Return running totals with the one of no elements where they start from."""
    place = normalize_axis("include_initial", axis, y.ndim)
    first = [1 if at == place else length for at, length in enumerate(y.shape)]
    initial = creation.full(first, value, dtype=y.dtype)
    return joining.concat([y, initial] if reverse else [initial, y], axis=place)


@signature("Cumprod")
def _cumprod_signature(
    x: Spec, /, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Spec:
    return _scanned("Cumprod", x, axis)


@cpu_kernel("Cumprod")
@silent
def _cumprod_cpu(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
    return _accumulated(np.multiply, x, axis, exclusive, reverse)


@wgsl_kernel("Cumprod", dtypes=("float32", "float16", "int32", "bool"), repeats=False)
def _cumprod_webgpu(
    gpu: Gpu, x: GpuArray, *, axis: int, exclusive: bool, reverse: bool
) -> GpuArray:
    whole = x.dtype in ("int32", "bool")
    shader = "reductions/scan/cumprod_int32.wgsl" if whole else "reductions/scan/cumprod.wesl"
    dtype = "int32" if whole else x.dtype
    return gpu.scan(shader, x, dtype, axis=axis, exclusive=exclusive, reverse=reverse)


@gradient("Cumprod")
def _cumprod_grad(dy: Tensor, x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    # dx_k = product of x before k * sum over j >= k of dy_j * product of x between k and j: it
    # divides by nothing, so it is right where x has zeros
    if x.ndim == 0 or x.size == 0:
        return dy * 0.0 if exclusive else dy
    axis %= x.ndim
    before = cumulative_prod(x, axis=axis, exclusive=True, reverse=reverse)
    factors, terms = _as_rows(x, axis, reverse), _as_rows(dy, axis, reverse)
    if exclusive:
        terms = _moved_up(terms)
    after = _recurrence(_moved_up(factors), terms)
    return before * _from_rows(after, x, axis, reverse)


def _recurrence(factors: Tensor, terms: Tensor) -> Tensor:
    """Return, for each row, r with ``r[k] = terms[k] + factors[k] * r[k + 1]``; 0 past the end.

    Pairs are joined up a tree and their results handed down it: about 3 multiplications per
    element, in log2 of the row's length steps.
    """
    count = terms.shape[1]
    if count < 2:
        return terms
    if count % 2:
        factors, terms = _with_zero(factors), _with_zero(terms)
    half = terms.shape[1] // 2
    f, t = (shape.reshape(one, (one.shape[0], half, 2)) for one in (factors, terms))
    first = _recurrence(
        f[:, :, 0] * f[:, :, 1],
        t[:, :, 0] + f[:, :, 0] * t[:, :, 1],
    )
    second = t[:, :, 1] + f[:, :, 1] * _moved_up(first)
    both = [shape.expand_dims(one, axis=2) for one in (first, second)]
    return shape.reshape(joining.concat(both, axis=2), (terms.shape[0], 2 * half))[:, :count]


def _moved_up(rows: Tensor) -> Tensor:
    """Return each row without its first element, and a 0 at its end."""
    return _with_zero(rows[:, 1:])


def _with_zero(rows: Tensor) -> Tensor:
    zero = shape.broadcast_to(as_tensor(0.0, dtype=rows.dtype), (rows.shape[0], 1))
    return joining.concat([rows, zero], axis=1)


def _as_rows(x: Tensor, axis: int, reverse: bool) -> Tensor:
    """Return the elements along ``axis`` as rows, in the order in which they are combined."""
    length = x.shape[axis]
    order = (*(one for one in range(x.ndim) if one != axis), axis)
    moved = shape.permute_dims(shape.flip(x, axis=axis) if reverse else x, order)
    return shape.reshape(moved, (math.prod(x.shape[one] for one in order[:-1]), length))


def _from_rows(rows: Tensor, x: Tensor, axis: int, reverse: bool) -> Tensor:
    """Return rows that `_as_rows` made in the shape of ``x``."""
    order = (*(one for one in range(x.ndim) if one != axis), axis)
    moved = shape.reshape(rows, tuple(x.shape[one] for one in order))
    back = shape.permute_dims(moved, tuple(order.index(one) for one in range(x.ndim)))
    return shape.flip(back, axis=axis) if reverse else back


@public(tfjs="cumsum", method="cumulative_sum cumsum")
def cumulative_sum(
    x: TensorLike,
    axis: int | None = None,
    *,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    exclusive: bool = False,
    reverse: bool = False,
) -> Tensor:
    """Return the sums of the elements along ``axis`` up to each; int32 wraps.

    The error is at most ``min(n, 1024 + 3 * sqrt(n))`` units in the last place of the sum of
    ``|x|`` up to there, n being the axis's length.

    Args:
        x: Any shape, real or bool; bool, int8 and uint8 count as int32.
        axis: The axis; may be left out where there is only one, since NumPy would flatten more
            than one and TensorFlow.js would take the first.
        dtype: What ``x`` is cast to first, and the result's dtype.
        include_initial: Whether a 0 comes first, or last with ``reverse``: the result is longer
            by one.
        exclusive: Whether an element itself is left out: the first result is 0.
        reverse: Whether to go from the last element to the first: sums from each place to the end.

    Raises:
        ArgumentError: No ``axis``, and ``x`` has several.

    Example:
        >>> cumulative_sum([1, 2, 3, 4]).tolist()
        [1, 3, 6, 10]
        >>> cumulative_sum([1, 2, 3], include_initial=True, reverse=True).tolist()
        [6, 5, 3, 0]
    """
    return _cumulative("Cumsum", x, axis, dtype, include_initial, exclusive, reverse)


@signature("Cumsum")
def _cumsum_signature(
    x: Spec, /, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Spec:
    return _scanned("Cumsum", x, axis)


@cpu_kernel("Cumsum")
@silent
def _cumsum_cpu(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
    return _accumulated(np.add, x, axis, exclusive, reverse)


wgsl_kernel(
    "Cumsum",
    "reductions/scan/cumsum.wgsl",
    form="scan",
    dtypes=("float32", "float16", "int32", "bool"),
)


declare("Cumsum", ("one_by_one", "columns", "fours", "tiles"))


@gradient("Cumsum")
def _cumsum_grad(dy: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    return cumulative_sum(dy, axis=axis, exclusive=exclusive, reverse=not reverse)


def _scanned(kernel: str, x: Spec, axis: int) -> Spec:
    require_dtype(kernel, "x", x, "float32", "int32", "bool")
    normalize_axis(kernel, axis, max(x.ndim, 1))  # a scalar stands for one element
    return x.like(dtype=counted(x.dtype))


def _counted(x: Array) -> np.dtype[np.generic]:
    return np.dtype(np.int32) if x.dtype == np.bool_ else x.dtype


def _accumulated(combine: np.ufunc, x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
    dtype = _counted(x)
    rows = np.atleast_1d(x)
    at = axis % rows.ndim
    y = accumulated(combine, np.flip(rows, at) if reverse else rows, at, dtype)
    if exclusive:
        before = (slice(None),) * at
        first = np.full_like(y[(*before, slice(0, 1))], combine.identity)
        y = np.concatenate([first, y[(*before, slice(0, -1))]], axis=at)
    return (np.flip(y, at) if reverse else y).reshape(x.shape)


def running_sums(gpu: Gpu, counts: GpuArray) -> GpuArray:
    """Return for each element of int32 rows, [rows, length], the sum of those before it."""
    return gpu.scan("reductions/scan/cumsum.wgsl", counts, "int32", axis=1, exclusive=True)
