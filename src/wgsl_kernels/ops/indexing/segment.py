"""Sums over segments: rows that share an id are added."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.sums import total
from wgsl_kernels.backends.webgpu.control.parts import added, excess, part_of, parts_of
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import binary, cast, logical
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.indexing.pairs import filling, sorted_pairs
from wgsl_kernels.ops.shapes import creation, shape

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec

_GROUP = 64
_EXACT = 1 << 21
"""Rows below which sums of int32 are exact in double precision."""
_LONG = 256
"""Columns from which it pays to sum segment by segment."""
_PART = 1 << 20
"""Elements whose places are computed at a time."""
_PAIR = 8
"""Bytes of a pair."""
_TURNS = 32768
"""Pairs that one lane takes in a dispatch; see unsorted_segment_sum.wgsl."""


@public(tfjs="unsortedSegmentSum")
def unsorted_segment_sum(x: TensorLike, segment_ids: TensorLike, num_segments: int) -> Tensor:
    """Return for each segment the sum of the parts of ``x`` that have its id; 0 of none.

    The same input gives the same bits every time.

    Args:
        x: [ids..., inner...], any dtype but bool and string.
        segment_ids: [ids...], int32. Parts with an id outside [0, num_segments) are left out.
        num_segments: How many segments there are.

    Returns:
        [num_segments, inner...]

    Example:
        >>> wk.unsorted_segment_sum([1.0, 2.0, 4.0], [1, 0, 1], 3).tolist()
        [2.0, 5.0, 0.0]
    """
    return run("UnsortedSegmentSum", x, segment_ids, num_segments=num_segments)


@signature("UnsortedSegmentSum")
def _unsorted_segment_sum_signature(x: Spec, segment_ids: Spec, /, *, num_segments: int) -> Spec:
    require_dtype("UnsortedSegmentSum", "x", x, "float32", "int32", "complex64")
    require_dtype("UnsortedSegmentSum", "segment_ids", segment_ids, "int32")
    if not segment_ids.ndim or x.shape[: segment_ids.ndim] != segment_ids.shape:
        raise ShapeError(
            f"UnsortedSegmentSum: segment_ids has shape {show(segment_ids.shape)}, x "
            f"{show(x.shape)}; want at least one axis, and those to be the first of x."
        )
    if operator.index(num_segments) < 0:
        raise ArgumentError(f"UnsortedSegmentSum: num_segments is {num_segments}; want at least 0.")
    return x.like(shape=(num_segments, *x.shape[segment_ids.ndim :]))


@cpu_kernel("UnsortedSegmentSum")
@silent
def _unsorted_segment_sum_cpu(x: Array, segment_ids: Array, *, num_segments: int) -> Array:
    inner = x.shape[segment_ids.ndim :]
    rows = x.reshape(segment_ids.size, math.prod(inner))
    return summed(rows, segment_ids.reshape(-1), num_segments).reshape(num_segments, *inner)


def summed(rows: Array, ids: Array, count: int) -> Array:
    """Return the sums [count, columns] of the rows [ids, columns] that have the same id."""
    if rows.dtype.kind == "c":
        part = np.float32 if rows.dtype == np.complex64 else np.float64
        pairs = np.ascontiguousarray(rows).view(part)
        return summed(pairs, ids, count).view(rows.dtype)
    inside = (ids >= 0) & (ids < count)
    if not inside.all():
        rows, ids = rows[inside], ids[inside]
    if rows.dtype.kind != "f" and len(ids) >= _EXACT:
        y = np.zeros((count, rows.shape[1]), rows.dtype)
        np.add.at(y, ids, rows)
        return y
    if rows.dtype == np.float32 and rows.shape[1] >= _LONG:
        return _sums_of_long_rows(rows, ids, count)
    return _sums_by_column(rows, ids, count)


def _sums_of_long_rows(rows: Array, ids: Array, count: int) -> Array:
    """Return the sums of each segment in its turn."""
    y = np.zeros((count, rows.shape[1]), rows.dtype)
    order = np.argsort(ids, kind="stable")
    present, first = np.unique(ids[order], return_index=True)
    ends = [*first[1:].tolist(), len(ids)]
    for one, begin, end in zip(present.tolist(), first.tolist(), ends, strict=True):
        y[one] = total(rows[order[begin:end]], (0,))
    return y


def _sums_by_column(rows: Array, ids: Array, count: int) -> Array:
    """Return the sums of some columns after the others, counted in double precision."""
    columns = rows.shape[1]
    y = np.empty((count, columns), rows.dtype)
    width = max(min(_PART // max(len(ids), 1), columns), 1)
    for begin in range(0, columns, width):
        some = rows[:, begin : begin + width]
        wide = some.shape[1]
        places = ids
        if columns > 1:
            places = (ids[:, np.newaxis] * np.int64(wide) + np.arange(wide)).reshape(-1)
        sums = np.bincount(places, some.reshape(-1), count * wide)
        whole = sums if rows.dtype.kind == "f" else sums.astype(np.int64)  # which wraps
        y[:, begin : begin + width] = whole.reshape(count, wide)
    return y


@wgsl_kernel("UnsortedSegmentSum")
def _unsorted_segment_sum_webgpu(
    gpu: Gpu, x: GpuArray, segment_ids: GpuArray, *, num_segments: int
) -> GpuArray:
    return summed_on_device(gpu, x, segment_ids, num_segments)


def summed_on_device(
    gpu: Gpu, x: GpuArray, segment_ids: GpuArray, num_segments: int, dtype: DType | None = None
) -> GpuArray:
    """Return the sums [num_segments, inner...] of the parts of ``x`` that have the same id.

    They are of the dtype of ``x``, or float32 of float16.
    """
    dtype = dtype or x.dtype
    inner, count = x.shape[len(segment_ids.shape) :], segment_ids.size
    if dtype == "float16" and count > _TURNS:  # a dispatch adds to the sums of the one before
        total = summed_on_device(gpu, x, segment_ids, num_segments, "float32")
        return cast.converted(gpu, total, dtype)
    is_long = count * _PAIR > gpu.device.largest_binding
    if is_long or (count > 1 and excess(gpu, x, segment_ids) > 1):
        return _summed_in_parts(gpu, x, segment_ids, num_segments, dtype)
    y = gpu.empty((num_segments, *inner), dtype)
    if not y.size:
        return y
    params = {"length": count, "segments": num_segments}
    fill = filling(gpu, "indexing/segment/segment_pairs.wgsl", {"segment_ids": segment_ids}, params)
    pairs = sorted_pairs(gpu, (1, count), fill, most=num_segments)
    _sum_runs(gpu, {"x": x, "pairs": pairs, "y": y}, math.prod(inner))
    return y


def _summed_in_parts(
    gpu: Gpu, x: GpuArray, segment_ids: GpuArray, num_segments: int, dtype: DType
) -> GpuArray:
    """Return the same as the sum of the sums of some ids after the others."""
    inner, count = x.shape[len(segment_ids.shape) :], segment_ids.size
    gpu.check_room((num_segments, *inner), dtype)
    rows = shape.reshaped(gpu, x, (count, *inner))
    ids = shape.reshaped(gpu, segment_ids, (count,))
    most = 1 << (gpu.device.largest_binding // _PAIR).bit_length() - 1
    least = max(math.ceil(count / most), excess(gpu, x, segment_ids))
    return added(
        gpu,
        (
            summed_on_device(
                gpu,
                part_of(gpu, rows, -len(rows.shape), *one),
                part_of(gpu, ids, -1, *one),
                num_segments,
                dtype,
            )
            for one in parts_of(count, least)
        ),
    )


def _sum_runs(gpu: Gpu, arrays: dict[str, GpuArray], columns: int) -> None:
    """Fill ``y`` with the sums of the rows of ``x`` that a segment's run of pairs names.

    Of a ``y`` above the binding limit one window after the other is bound, and its segments summed.
    """
    y, count = arrays["y"], arrays["pairs"].shape[1]
    segments = y.shape[0]
    lanes = _lanes(count // segments, columns)
    is_vec4 = lanes == 1 and columns % 4 == 0 and y.dtype != "complex64"
    shader = f"indexing/segment/unsorted_segment_sum{'_vec4' if is_vec4 else ''}.wgsl"
    _, most, row_bytes = gather.in_windows(gpu, y, segments, columns)
    bound = gpu.device.largest_binding // 4 - 1  # starts
    most = min(most, bound // _GROUP * _GROUP) if segments > bound else most
    for skipped in range(0, segments, most):
        kept = min(most, segments - skipped)
        starts = gpu.empty((kept + 1,), "int32")
        gpu.dispatch(
            "indexing/segment/segment_starts.wgsl",
            {"pairs": arrays["pairs"], "starts": starts},
            params={"width": count, "segments": segments, "skipped": skipped},
        )
        params = {"inner": columns, "lanes": lanes, "segments": kept}
        invocations = kept * (math.ceil(columns / 16) if is_vec4 else columns * lanes)
        for first in range(0, max(count, 1), lanes * _TURNS):
            gpu.dispatch(
                shader,
                {**arrays, "starts": starts},
                params={**params, "first": first, "last": first + lanes * _TURNS},
                groups=gpu.grid(invocations, _GROUP),
                windows={"y": (skipped * row_bytes, kept * row_bytes)} if most < segments else None,
            )


@gradient("UnsortedSegmentSum")
def _unsorted_segment_sum_grad(
    dy: Tensor, x_shape: Shape, segment_ids: Tensor, num_segments: int
) -> tuple[Tensor, None]:
    # Every part gets the gradient of the sum that it went into; parts left out get 0.
    if not num_segments:
        return creation.zeros(x_shape, dtype=dy.dtype), None
    inside = logical.logical_and(segment_ids >= 0, segment_ids < num_segments)
    mask = shape.reshape(inside, segment_ids.shape + (1,) * (len(x_shape) - segment_ids.ndim))
    rows = binary.minimum(binary.maximum(segment_ids, 0), num_segments - 1)
    taken = gather.take(dy, rows, axis=0)
    zeros = creation.zeros(x_shape, dtype=dy.dtype)
    return logical.where(shape.broadcast_to(mask, x_shape), taken, zeros), None


def _lanes(members: int, columns: int) -> int:
    """Return how many invocations share an element whose segment has about ``members`` parts.

    Neighbouring columns lie side by side in memory, so many columns keep the lanes busy already.
    """
    if columns >= _GROUP:
        return 1
    return min(_GROUP, 1 << max(members // 4, 1).bit_length() - 1)
