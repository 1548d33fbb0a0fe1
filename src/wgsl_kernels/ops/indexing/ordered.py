"""Elements in order along an axis, and places in rows that are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.ordering import sorted_places
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import normalize_axis, require_dtype, show
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.indexing.pairs import sorted_pairs
from wgsl_kernels.ops.indexing.sort import order_pairs, top_of_pairs
from wgsl_kernels.ops.rules.specs import NUMBERS
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec


@public(numpy="argsort", method=True)
def argsort(
    x: TensorLike, axis: int = -1, *, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the int32 indices that put ``x`` in order along ``axis``; see `sort`.

    Example:
        >>> argsort(tensor([3.0, 1.0, 2.0])).tolist()
        [1, 2, 0]
    """
    del stable
    return run_many("Sort", x, axis=axis, descending=descending)[1]


@public(numpy="sort", method=True)
def sort(x: TensorLike, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the elements of ``x`` in order along ``axis``.

    NaN counts as larger than all numbers, and -0 equals 0. Of equal elements the first come first.

    Args:
        x: At least one axis, real.
        axis: The axis along which to sort.
        descending: The largest first.
        stable: Taken for the standard's sake; equal elements keep their order either way.

    Example:
        >>> sort(tensor([3.0, 1.0, 2.0]), descending=True).tolist()
        [3.0, 2.0, 1.0]
    """
    del stable
    return run_many("Sort", x, axis=axis, descending=descending)[0]


@signature("Sort")
def _sort_signature(x: Spec, /, *, axis: int = -1, descending: bool = False) -> dict[str, Spec]:
    del descending
    require_dtype("Sort", "x", x, *NUMBERS)
    normalize_axis("Sort", axis, x.ndim)
    return {"values": x, "indices": x.like(dtype="int32")}


@cpu_kernel("Sort")
def _sort_cpu(x: Array, *, axis: int, descending: bool) -> tuple[Array, Array]:
    if not x.size:
        return x, np.zeros(x.shape, np.int32)
    turned = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    places = sorted_places(turned, descending=descending)
    values = np.take_along_axis(turned, places, -1)
    return np.moveaxis(values, -1, axis), np.moveaxis(places, -1, axis)


@wgsl_kernel("Sort", dtypes=("float32", "float16", "int32", "bool"))
def _sort_webgpu(
    gpu: Gpu, x: GpuArray, *, axis: int, descending: bool
) -> tuple[GpuArray, GpuArray]:
    if not x.size:
        return gpu.empty(x.shape, x.dtype), gpu.empty(x.shape, "int32")
    at, last = axis % len(x.shape), len(x.shape) - 1
    turned = _moved(gpu, x, at, last)
    length = x.shape[at]
    pairs = sorted_pairs(
        gpu,
        (x.size // length, length),
        lambda pairs: order_pairs(gpu, turned, pairs, length, 1, ascending=not descending),
    )
    values, indices = top_of_pairs(gpu, turned, length, pairs)
    return _moved(gpu, values, last, at), _moved(gpu, indices, last, at)


def _moved(gpu: Gpu, x: GpuArray, source: int, destination: int) -> GpuArray:
    """Return a view with one axis in another place."""
    if source == destination:
        return x
    order = [axis for axis in range(len(x.shape)) if axis != source]
    order.insert(destination, source)
    shape, strides = (tuple(row[axis] for axis in order) for row in (x.shape, x.strides))
    return gpu.view(x, shape, strides, x.offset)


@gradient("Sort", none=True)
def _sort_grad(dys: tuple[Tensor | None, ...], indices: Tensor, axis: int) -> Tensor | None:
    # The indices in order tell where each element went.
    dy = dys[0]
    return (
        None if dy is None else gather.take_along_axis(dy, argsort(indices, axis=axis), axis=axis)
    )


@public(tfjs="lowerBound")
def lower_bound(sorted_sequence: TensorLike, values: TensorLike) -> Tensor:
    """Return where ``values`` belong in rows that are in order: before all that are equal.

    Args:
        sorted_sequence: [..., length], rising along the last axis.
        values: [..., count], the leading axes those of ``sorted_sequence``.

    Returns:
        int32 of the shape of ``values``, in [0, length]. NaN is above all numbers, as `sort` puts
        it, and equals NaN.

    Raises:
        ShapeError: The leading axes differ.

    Example:
        >>> lower_bound(tensor([1, 3, 3, 5]), tensor([3, 4])).tolist()
        [1, 3]
    """
    return _bound("LowerBound", sorted_sequence, values)


@public(tfjs="searchSorted")
def searchsorted(
    x1: TensorLike, x2: TensorLike, *, side: str = "left", sorter: TensorLike | None = None
) -> Tensor:
    """Return where the elements of ``x2`` belong in ``x1`` to keep it in order.

    Args:
        x1: [length], in rising order; or [..., length], and each row of ``x2`` is looked up in its.
        x2: Any shape; where ``x1`` has several axes, its leading ones.
        side: "left" is before all that are equal, "right" behind them.
        sorter: int32 [length], indices that put ``x1`` in order.

    Returns:
        int32 of the shape of ``x2``, in [0, length]. NaN is above all numbers, as `sort` puts it,
        and equals NaN.

    Raises:
        ShapeError: The leading axes differ.
        ArgumentError: ``side`` is another word.

    Example:
        >>> searchsorted(tensor([1, 3, 3, 5]), tensor([3, 9]), side="right").tolist()
        [3, 4]
    """
    given = as_tensor(x1)
    if sorter is not None:
        given = gather.take(given, sorter, axis=0)
    return _bound("SearchSorted", given, x2, side=side, nan_last=True)


@public(tfjs="upperBound")
def upper_bound(sorted_sequence: TensorLike, values: TensorLike) -> Tensor:
    """Return where ``values`` belong in rows that are in order: behind all that are equal.

    Args, Returns and Raises are those of `lower_bound`.

    Example:
        >>> upper_bound(tensor([1, 3, 3, 5]), tensor([3, 4])).tolist()
        [3, 3]
    """
    return _bound("UpperBound", sorted_sequence, values)


def _bound(kernel: str, sequence: TensorLike, values: TensorLike, **attrs: Any) -> Tensor:
    """Run a kernel of rows; one row serves values of any shape."""
    given, wanted = as_tensor(sequence), as_tensor(values)
    if not given.ndim:
        raise ShapeError(f"{kernel}: sorted_sequence is a scalar; want at least one axis.")
    rows = math.prod(given.shape[:-1])
    flat = shapes.reshape(given, (rows, given.shape[-1]))
    if given.ndim == 1:
        columns = shapes.reshape(wanted, (1, wanted.size))
    elif given.shape[:-1] != wanted.shape[:-1]:
        raise ShapeError(
            f"{kernel}: sorted_sequence has shape {show(given.shape)} and values "
            f"{show(wanted.shape)}; want the same but for the last axis."
        )
    else:
        columns = shapes.reshape(wanted, (rows, wanted.shape[-1]))
    return shapes.reshape(run(kernel, flat, columns, **attrs), wanted.shape)


def _bound_spec(kernel: str, sorted_sequence: Spec, values: Spec) -> Spec:
    for name, one in (("sorted_sequence", sorted_sequence), ("values", values)):
        require_dtype(kernel, name, one, "float32", "int32")
        if one.ndim != 2:
            raise ShapeError(f"{kernel}: {name} has shape {show(one.shape)}; want two axes.")
    if sorted_sequence.shape[0] != values.shape[0]:
        raise ShapeError(
            f"{kernel}: sorted_sequence has shape {show(sorted_sequence.shape)} and values "
            f"{show(values.shape)}; want as many rows."
        )
    return values.like(dtype="int32")


def _bound_cpu(sequence: Array, values: Array, side: str, *, nan_last: bool = True) -> Array:
    """Halve as TensorFlow.js does it, for all values at once."""
    is_nan = np.isnan(values) & nan_last
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, sequence.shape[1], np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        found = np.take_along_axis(sequence, np.minimum(middle, sequence.shape[1] - 1), 1)
        comes_before = (
            (found <= values) | is_nan
            if side == "right"
            else (found < values) | (is_nan & (found == found))
        )
        goes_on = low < high
        low = np.where(goes_on & comes_before, middle + 1, low)
        high = np.where(goes_on & ~comes_before, middle, high)
    return low.astype(np.int32)


def _bound_webgpu(
    gpu: Gpu, sequence: GpuArray, values: GpuArray, side: str, *, nan_last: bool = True
) -> GpuArray:
    y = gpu.empty(values.shape, "int32")
    if y.size and not sequence.size:
        return gpu.full(values.shape, "int32", 0)
    if y.size:
        length, count = sequence.shape[1], values.shape[1]
        gpu.dispatch(
            "indexing/ordered/search_sorted.wesl",
            {"sorted_sequence": sequence, "values": values, "y": y},
            params={
                "length": length,
                "count": count,
                "is_right": int(side == "right"),
                "nan_last": int(nan_last),
            },
        )
    return y


BECAUSE = "places in a row are integers"


def _declare_bound(kernel: str, side: str) -> None:
    @signature(kernel, promote=("sorted_sequence", "values"))
    def bound_signature(sorted_sequence: Spec, values: Spec, /) -> Spec:
        return _bound_spec(kernel, sorted_sequence, values)

    @cpu_kernel(kernel)
    def bound_cpu(sorted_sequence: Array, values: Array) -> Array:
        return _bound_cpu(sorted_sequence, values, side)

    @wgsl_kernel(kernel)
    def bound_webgpu(gpu: Gpu, sorted_sequence: GpuArray, values: GpuArray) -> GpuArray:
        return _bound_webgpu(gpu, sorted_sequence, values, side)

    no_gradient(kernel, because=BECAUSE)


_declare_bound("LowerBound", "left")
_declare_bound("UpperBound", "right")


@signature("SearchSorted", promote=("sorted_sequence", "values"))
def _search_sorted_signature(
    sorted_sequence: Spec, values: Spec, /, *, side: str = "left", nan_last: bool = False
) -> Spec:
    del nan_last
    if side not in ("left", "right"):
        raise ArgumentError(f"SearchSorted: side is {shown(side)}; want 'left' or 'right'.")
    return _bound_spec("SearchSorted", sorted_sequence, values)


@cpu_kernel("SearchSorted")
def _search_sorted_cpu(
    sorted_sequence: Array, values: Array, *, side: str, nan_last: bool
) -> Array:
    return _bound_cpu(sorted_sequence, values, side, nan_last=nan_last)


@wgsl_kernel("SearchSorted")
def _search_sorted_webgpu(
    gpu: Gpu, sorted_sequence: GpuArray, values: GpuArray, *, side: str, nan_last: bool
) -> GpuArray:
    return _bound_webgpu(gpu, sorted_sequence, values, side, nan_last=nan_last)


no_gradient("SearchSorted", because=BECAUSE)
