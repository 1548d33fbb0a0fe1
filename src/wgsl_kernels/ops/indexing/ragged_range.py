"""Rows of numbers at even distances, of different lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.indexing import gather, ordered, segment
from wgsl_kernels.ops.shapes import ranges

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape

_LONGEST = 2**31 - 1


@public()
class RaggedNumbers(NamedTuple):
    """Rows of different lengths: where each begins, and the numbers."""

    rt_nested_splits: Tensor
    rt_dense_values: Tensor


@public(tfjs="raggedRange")
def ragged_range(starts: TensorLike, limits: TensorLike, deltas: TensorLike) -> RaggedNumbers:
    """Return for each row the numbers from its start to before its limit.

    The number of results depends on the values, so on webgpu this waits for them.

    Args:
        starts: [rows], or a scalar for all rows; float32 or int32.
        limits: Likewise.
        deltas: Likewise, the distance of neighbours; not 0.

    Returns:
        Where each row begins and the last one ends, [rows + 1], and the numbers.

    Raises:
        ShapeError: There is more than one axis, or the rows differ in number.
        ArgumentError: A delta is 0, a number is infinite or NaN, or there are more than 2^31 - 1.

    Example:
        >>> [one.tolist() for one in ragged_range([0, 5], [3, 1], [1, -2])]
        [[0, 3, 5], [0, 1, 2, 5, 3]]
    """
    return RaggedNumbers(*run_many("RaggedRange", starts, limits, deltas))


@signature("RaggedRange", promote=("starts", "limits", "deltas"))
def _ragged_range_signature(starts: Spec, limits: Spec, deltas: Spec, /) -> dict[str, Spec]:
    given = {"starts": starts, "limits": limits, "deltas": deltas}
    for name, one in given.items():
        require_dtype("RaggedRange", name, one, "float32", "int32")
        if one.ndim > 1:
            raise ShapeError(
                f"RaggedRange: {name} has shape {show(one.shape)}; want a scalar or one axis."
            )
    counts = {one.size for one in given.values() if one.ndim}
    if len(counts) > 1:
        shown = ", ".join(f"{name} {show(one.shape)}" for name, one in given.items())
        raise ShapeError(f"RaggedRange: the shapes differ: {shown}; want the same, or scalars.")
    rows = counts.pop() if counts else 1
    values: tuple[int | None, ...] = (None,)
    return {"splits": Spec((rows + 1,), "int32"), "values": starts.like(shape=values)}


def _rows(starts: Array, limits: Array, deltas: Array) -> tuple[Array, Array]:
    """Return where rows begin and the last one ends, and how many numbers each has."""
    start, limit, delta = (
        np.atleast_1d(one).astype(np.float64) for one in (starts, limits, deltas)
    )
    if (delta == 0).any():
        raise ArgumentError(f"RaggedRange: deltas is {deltas.tolist()}; want numbers other than 0.")
    with np.errstate(all="ignore"):
        counts = np.maximum(np.ceil((limit - start) / delta), 0)
    if not np.isfinite(counts).all() or counts.sum() > _LONGEST:
        raise ArgumentError(
            "RaggedRange: starts, limits and deltas give more numbers than 2^31 - 1, or are none."
        )
    splits = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return splits, counts.astype(np.int64)


@cpu_kernel("RaggedRange")
def _ragged_range_cpu(starts: Array, limits: Array, deltas: Array) -> tuple[Array, Array]:
    splits, counts = _rows(starts, limits, deltas)
    first, delta = (
        np.repeat(np.broadcast_to(one, counts.shape), counts) for one in (starts, deltas)
    )
    steps = np.arange(splits[-1]) - np.repeat(splits[:-1], counts)
    return splits, first + steps.astype(starts.dtype) * delta


@wgsl_kernel("RaggedRange", repeats=False)
def _ragged_range_webgpu(
    gpu: Gpu, starts: GpuArray, limits: GpuArray, deltas: GpuArray
) -> tuple[GpuArray, GpuArray]:
    ends, counts = _rows(*(gpu.read(one) for one in (starts, limits, deltas)))
    splits, values = gpu.upload(ends, "int32"), gpu.empty((int(ends[-1]),), starts.dtype)
    if values.size:
        wide = {
            name: gpu.view(one, counts.shape, one.strides or (0,), one.offset)
            for name, one in (("starts", starts), ("deltas", deltas))
        }
        gpu.dispatch(
            "indexing/ragged_range/ragged_range.wesl",
            {**wide, "splits": splits, "values": values},
            params={"rows": len(counts)},
            groups=gpu.grid(values.size, 64),
        )
    return splits, values


@gradient("RaggedRange", none=True)
def _ragged_range_grad(
    dys: tuple[Tensor | None, ...], starts_shape: Shape, splits: Tensor, deltas_shape: Shape
) -> tuple[Tensor | None, None, Tensor | None]:
    # The j-th number of a row is its start + j * its delta.
    dy = dys[1]
    if dy is None or not dy.size:
        return None, None, None
    count = splits.size - 1
    numbers = ranges.arange(dy.size)
    rows = ordered.upper_bound(splits, numbers) - 1
    steps = cast.astype(numbers - gather.take(splits, rows), dy.dtype)
    of_starts = segment.unsorted_segment_sum(dy, rows, num_segments=count)
    of_deltas = segment.unsorted_segment_sum(dy * steps, rows, num_segments=count)
    return unbroadcast(of_starts, starts_shape), None, unbroadcast(of_deltas, deltas_shape)
