"""Running sums and products along an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.scans import accumulated
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import normalize_axis, require_dtype
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops import joining, shape

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.dtypes import DType
    from wgsl_kernels.engine.spec import Spec


def cumulative_prod(
    x: TensorLike, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    """Return the products of the elements along ``axis`` up to each; int32 wraps.

    Of n floats it is off by at most 2 n units in the last place, also where a product on the way
    is beyond float32, as long as none is beyond float64.

    Args:
        x: Any shape, real or bool, which counts as int32.
        axis: The axis.
        exclusive: Whether an element itself is left out: the first result is 1.
        reverse: Whether to go from the last element to the first.

    Example:
        >>> cumulative_prod([1, 2, 3, 4]).tolist()
        [1, 2, 6, 24]
    """
    return run("Cumprod", x, axis=axis, exclusive=exclusive, reverse=reverse)


@signature("Cumprod")
def _cumprod_signature(
    x: Spec, /, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Spec:
    return _scanned("Cumprod", x, axis)


@cpu_kernel("Cumprod")
@silent
def _cumprod_cpu(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
    return _accumulated(np.multiply, x, axis, exclusive, reverse)


@wgsl_kernel("Cumprod", dtypes=("float32", "float16", "int32", "bool"))
def _cumprod_webgpu(
    gpu: Gpu, x: GpuArray, *, axis: int, exclusive: bool, reverse: bool
) -> GpuArray:
    if x.dtype in ("int32", "bool"):
        return _by_rows(gpu, "cumprod_int32", "int32", x, axis, exclusive, reverse)
    pair: DType = "complex64"
    return _by_rows(gpu, "cumprod", pair, x, axis, exclusive, reverse)


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


def cumulative_sum(
    x: TensorLike, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Tensor:
    """Return the sums of the elements along ``axis`` up to each; int32 wraps.

    The error is at most ``min(n, 1024 + 3 * sqrt(n))`` units in the last place of the sum of
    ``|x|`` up to there, n being the axis's length.

    Args:
        x: Any shape, real or bool, which counts as int32.
        axis: The axis.
        exclusive: Whether an element itself is left out: the first result is 0.
        reverse: Whether to go from the last element to the first.

    Example:
        >>> cumulative_sum([1, 2, 3, 4]).tolist()
        [1, 3, 6, 10]
    """
    return run("Cumsum", x, axis=axis, exclusive=exclusive, reverse=reverse)


@signature("Cumsum")
def _cumsum_signature(
    x: Spec, /, *, axis: int = 0, exclusive: bool = False, reverse: bool = False
) -> Spec:
    return _scanned("Cumsum", x, axis)


@cpu_kernel("Cumsum")
@silent
def _cumsum_cpu(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
    return _accumulated(np.add, x, axis, exclusive, reverse)


@wgsl_kernel("Cumsum", dtypes=("float32", "float16", "int32", "bool"))
def _cumsum_webgpu(gpu: Gpu, x: GpuArray, *, axis: int, exclusive: bool, reverse: bool) -> GpuArray:
    total: DType = "int32" if x.dtype in ("int32", "bool") else "float32"
    return _by_rows(gpu, "cumsum", total, x, axis, exclusive, reverse)


@gradient("Cumsum")
def _cumsum_grad(dy: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    return cumulative_sum(dy, axis=axis, exclusive=exclusive, reverse=not reverse)


def _scanned(kernel: str, x: Spec, axis: int) -> Spec:
    require_dtype(kernel, "x", x, "float32", "int32", "bool")
    normalize_axis(kernel, axis, max(x.ndim, 1))  # a scalar stands for one element
    return x.like(dtype="int32") if x.dtype == "bool" else x


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
    return _by_rows(gpu, "cumsum", "int32", counts, 1, exclusive=True, reverse=False)


def _by_rows(
    gpu: Gpu, op: str, total: DType, x: GpuArray, axis: int, exclusive: bool, reverse: bool
) -> GpuArray:
    """Run the kernel ``op`` by one of its methods, each a file include/scan_<method>.wgsl."""
    y = gpu.empty(x.shape, "int32" if x.dtype == "bool" else x.dtype)
    if y.size == 0:
        return y
    lengths = x.shape or (1,)
    length, inner = lengths[axis], math.prod(lengths[axis % len(lengths) + 1 :])
    rows = y.size // length
    method = _method(gpu.is_software, rows, length, inner)
    part_size = method.part_size(gpu.is_software, rows, length)
    parts = math.ceil(length / part_size)
    params = {
        "rows": rows,
        "length": length,
        "inner": inner,
        "parts": parts,
        "part_size": part_size,
        "exclusive": exclusive,
        "reverse": reverse,
    }
    arrays = {"x": x, "y": y, "totals": gpu.empty((parts, rows) if parts > 1 else (1, 1), total)}
    grid = gpu.grid(rows * parts * method.lanes // method.together, method.group)
    for writes_totals in (1, 0) if parts > 1 else (0,):
        params["writes_totals"] = writes_totals
        gpu.dispatch(f"scan/{op}_{method.name}.wgsl", arrays, params=params, groups=grid)
    return y


@dataclass(frozen=True)
class _Method:
    """A way to scan.

    Attributes:
        name: The file's name ends with it.
        group: Invocations of a workgroup.
        lanes: Invocations that share a part.
        together: Rows that an invocation takes.
    """

    name: str
    group: int = 64
    lanes: int = 1
    together: int = 1

    def part_size(self, is_software: bool, rows: int, length: int) -> int:
        """Return how many elements of a row make a part; a multiple of 4."""
        if self is _TILES:  # tiles of 1024, at most 1024 parts
            return 1024 * math.ceil(length / (1 << 20))
        invocations = rows // self.together
        if length <= _WHOLE and invocations >= (_BUSY_SOFTWARE if is_software else _BUSY):
            return -(-length // 4) * 4
        if self is _FOURS:
            return max(_ALONE, _power_of_two(length // 256))
        return max(_ALONE, _power_of_two(math.isqrt(length)))


_ALONE = 256
"""Elements of a row that an invocation takes at least, where there are as many."""
_WHOLE = 1024
"""Elements of a row that an invocation takes where there are rows enough to keep a device busy."""
_BUSY, _BUSY_SOFTWARE = 16384, 64
_MOST_INNER = 64
"""Rows side by side from which on neighbours read whole lines of memory, a row each."""

_ONE_BY_ONE = _Method("alone")
_COLUMNS = _Method("columns", together=4)
_FOURS = _Method("fours", group=16)
_TILES = _Method("tiles", group=128, lanes=128)


def _method(is_software: bool, rows: int, length: int, inner: int) -> _Method:
    """Return how to scan, from what was measured.

    On a software adapter barriers cost more than they save: an invocation scans alone, four
    elements at a time where it can, which was 20 times as fast as tiles.
    """
    if inner == 1 and is_software and (rows == 1 or length % 4 == 0):
        return _FOURS
    if not is_software and inner < _MOST_INNER and length > 64:
        return _TILES
    return _COLUMNS if inner % 4 == 0 else _ONE_BY_ONE


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
