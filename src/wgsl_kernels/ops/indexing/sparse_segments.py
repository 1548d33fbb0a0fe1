"""Sums and means of the rows that sparse indices name, segment by segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent, wide
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.ops.elementwise import binary
from wgsl_kernels.ops.indexing import gather, segment
from wgsl_kernels.ops.rules.numbers import cut
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec


@public(tfjs="sparse.sparseSegmentMean")
def sparse_segment_mean(data: TensorLike, indices: TensorLike, segment_ids: TensorLike) -> Tensor:
    """Return for each segment the mean of the rows of ``data`` that it names; 0 of none.

    Of integers cut toward zero. Arguments and errors are those of `sparse_segment_sum`.

    Example:
        >>> sparse_segment_mean([1.0, 2.0, 4.0], [0, 2, 1], [0, 0, 1]).tolist()
        [2.5, 2.0]
    """
    return run("SparseSegmentMean", data, indices, segment_ids)


@public(tfjs="sparse.sparseSegmentSum")
def sparse_segment_sum(data: TensorLike, indices: TensorLike, segment_ids: TensorLike) -> Tensor:
    """Return for each segment the sum of the rows of ``data`` that it names; 0 of none.

    Args:
        data: [rows, inner...], float32 or int32.
        indices: int32, [count], in [0, rows).
        segment_ids: int32, [count]: the segment that each index belongs to, at least 0 and rising.

    Returns:
        [last segment + 1, inner...]; the same input gives the same bits every time. The length
        depends on the values, so on webgpu this waits for them.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: The segments do not rise, or one is below 0.
        IndexOutOfRange: An index is out of range.

    Example:
        >>> sparse_segment_sum([1.0, 2.0, 4.0], [0, 2, 1], [0, 0, 1]).tolist()
        [5.0, 2.0]
    """
    return run("SparseSegmentSum", data, indices, segment_ids)


def _segments(kernel: str, data: Spec, indices: Spec, segment_ids: Spec) -> Spec:
    require_dtype(kernel, "data", data, "float32", "int32")
    for name, one in (("indices", indices), ("segment_ids", segment_ids)):
        require_dtype(kernel, name, one, "int32")
        require_rank(kernel, name, one, 1)
    if not data.ndim or indices.shape != segment_ids.shape:
        raise ShapeError(
            f"{kernel}: data has shape {show(data.shape)}, indices {show(indices.shape)} and "
            f"segment_ids {show(segment_ids.shape)}; want at least one axis, and as many indices "
            "as ids."
        )
    count: tuple[int | None, ...] = (None,)
    return data.like(shape=(*count, *data.shape[1:]))


def _checked(kernel: str, shape: Shape, indices: Array, segment_ids: Array) -> int:
    """Return how many segments there are, or refuse the values."""
    if (segment_ids < 0).any() or (np.diff(segment_ids) < 0).any():
        raise ArgumentError(
            f"{kernel}: segment_ids is {segment_ids.tolist()[:16]}; want numbers from 0 up that "
            "never fall."
        )
    shapes_of = {"data": shape, "indices": indices.shape}
    check_indices(kernel, "indices", indices, shape[0], shapes_of)
    return int(segment_ids[-1]) + 1 if segment_ids.size else 0


def _summed(kernel: str, data: Array, indices: Array, segment_ids: Array) -> Array:
    count = _checked(kernel, data.shape, indices, segment_ids)
    rows = data.reshape(len(data), -1)[indices] if data.size else data.reshape(len(indices), 0)
    return segment.summed(rows, segment_ids, count).reshape(count, *data.shape[1:])


def _summed_on_device(
    gpu: Gpu,
    kernel: str,
    data: GpuArray,
    indices: GpuArray,
    segment_ids: GpuArray,
    dtype: DType | None = None,
) -> tuple[GpuArray, Array]:
    """Return the sums, of ``dtype`` or that of ``data``, and the ids of the segments."""
    dtype = dtype or data.dtype
    ids = gpu.read(segment_ids)
    count = _checked(kernel, data.shape, gpu.read(indices), ids)
    inner = data.shape[1:]
    rows = gpu.empty((indices.size, *inner), data.dtype)
    if not rows.size or not count:
        return gpu.full((count, *inner), dtype, 0), ids
    width = rows.size // indices.size
    sizes = gather.Sizes(1, 1, data.shape[0], indices.size, width)
    gather.take_rows(gpu, {"x": data, "indices": indices, "y": rows}, sizes)
    return segment.summed_on_device(gpu, rows, segment_ids, count, dtype), ids


@signature("SparseSegmentMean")
def _mean_signature(data: Spec, indices: Spec, segment_ids: Spec, /) -> Spec:
    return _segments("SparseSegmentMean", data, indices, segment_ids)


def _counts(ids: Array, count: int, ndim: int) -> Array:
    found = np.maximum(np.bincount(ids, minlength=count), 1)
    return found.reshape((count,) + (1,) * (ndim - 1))


@cpu_kernel("SparseSegmentMean")
@silent
def _mean_cpu(data: Array, indices: Array, segment_ids: Array) -> Array:
    total = _summed("SparseSegmentMean", wide(data), indices, segment_ids)
    means = total / _counts(segment_ids, len(total), data.ndim)
    return cut(means) if data.dtype == np.int32 else means.astype(data.dtype)


@wgsl_kernel("SparseSegmentMean", repeats=False)
def _mean_webgpu(gpu: Gpu, data: GpuArray, indices: GpuArray, segment_ids: GpuArray) -> GpuArray:
    dtype: DType = "float32" if data.dtype == "float16" else data.dtype
    total, ids = _summed_on_device(gpu, "SparseSegmentMean", data, indices, segment_ids, dtype)
    if not total.size:
        return gpu.empty(total.shape, data.dtype)
    counts = _counts(ids, total.shape[0], len(total.shape))
    if data.dtype == "int32":
        arrays = {"a": total, "b": gpu.upload(counts.astype(np.int32), "int32")}
        return gpu.map(
            "indexing/sparse_segments/div_toward_zero.wesl", arrays, total.shape, "int32"
        )
    arrays = {"a": total, "b": gpu.upload(counts.astype(np.float32), "float32")}
    return gpu.map("elementwise/binary/real_div.wesl", arrays, total.shape, data.dtype)


@gradient("SparseSegmentMean")
def _mean_grad(
    dy: Tensor, data_shape: Shape, indices: Tensor, segment_ids: Tensor
) -> tuple[Tensor, None, None]:
    if not dy.size:
        return creation.zeros(data_shape, dtype=dy.dtype), None, None
    ones = creation.ones(segment_ids.shape, dtype=dy.dtype)
    counts = segment.unsorted_segment_sum(ones, segment_ids, num_segments=dy.shape[0])
    full = shapes.reshape(binary.maximum(counts, 1.0), (-1,) + (1,) * (dy.ndim - 1))
    return _taken_back(dy / full, data_shape, indices, segment_ids)


@signature("SparseSegmentSum")
def _sum_signature(data: Spec, indices: Spec, segment_ids: Spec, /) -> Spec:
    return _segments("SparseSegmentSum", data, indices, segment_ids)


@cpu_kernel("SparseSegmentSum")
@silent
def _sum_cpu(data: Array, indices: Array, segment_ids: Array) -> Array:
    return _summed("SparseSegmentSum", data, indices, segment_ids)


@wgsl_kernel("SparseSegmentSum", repeats=False)
def _sum_webgpu(gpu: Gpu, data: GpuArray, indices: GpuArray, segment_ids: GpuArray) -> GpuArray:
    return _summed_on_device(gpu, "SparseSegmentSum", data, indices, segment_ids)[0]


@gradient("SparseSegmentSum")
def _sum_grad(
    dy: Tensor, data_shape: Shape, indices: Tensor, segment_ids: Tensor
) -> tuple[Tensor, None, None]:
    return _taken_back(dy, data_shape, indices, segment_ids)


def _taken_back(
    dy: Tensor, data_shape: Shape, indices: Tensor, segment_ids: Tensor
) -> tuple[Tensor, None, None]:
    # Each row gets the gradients of the segments that it was added to.
    if not dy.size:
        return creation.zeros(data_shape, dtype=dy.dtype), None, None
    shares = gather.take(dy, segment_ids)
    total = segment.unsorted_segment_sum(shares, indices, num_segments=data_shape[0])
    return total, None, None
