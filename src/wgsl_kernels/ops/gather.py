"""Taking the slices that a tensor of indices names."""

from __future__ import annotations

import math

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import normalize_axis, require_dtype, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.spec import Shape, Spec
from wgsl_kernels.engine.tensor import Tensor, TensorLike
from wgsl_kernels.ops import creation, segment
from wgsl_kernels.ops import shape as shapes


def take(x: TensorLike, indices: TensorLike, *, axis: int = 0, batch_dims: int = 0) -> Tensor:
    """Return the slices of ``x`` along ``axis`` that ``indices`` names.

    Args:
        x: Any tensor.
        indices: int32, any shape, in [0, length of ``axis``). In the result its axes (all but the
            batch's) stand where ``axis`` stood.
        axis: The axis along which to take.
        batch_dims: How many leading axes ``x`` and ``indices`` share, each batch being taken from
            separately; a negative number counts from the rank of ``indices``.

    Returns:
        A tensor of shape ``x.shape[:axis] + indices.shape[batch_dims:] + x.shape[axis + 1:]``.

    Raises:
        ArgumentError: ``batch_dims`` is above ``axis``, or out of range.
        ShapeError: The batch axes differ.
        IndexOutOfRange: An index is outside the axis; where the indices are on a GPU, raised by
            the next read.
    """
    return run("GatherV2", x, indices, axis=axis, batch_dims=batch_dims)


def _axes(x_shape: Shape, indices_shape: Shape, axis: int, batch_dims: int) -> tuple[int, int]:
    """Return ``axis`` and ``batch_dims`` counted from the front."""
    if not x_shape:
        raise ShapeError("GatherV2: x has shape []; want an axis to take from.")
    at = normalize_axis("GatherV2", axis, len(x_shape))
    rank = len(indices_shape)
    batch = batch_dims + rank if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(rank, at):
        raise ArgumentError(
            f"GatherV2: batch_dims is {batch_dims} and axis {axis}; want it at most the axis and "
            f"the rank of indices, which has shape {show(indices_shape)}."
        )
    if x_shape[:batch] != indices_shape[:batch]:
        raise ShapeError(
            f"GatherV2: x has shape {show(x_shape)} and indices {show(indices_shape)}; "
            f"want the first {batch} axes equal."
        )
    return at, batch


@signature("GatherV2")
def _gather_v2_signature(
    x: Spec, indices: Spec, /, *, axis: int = 0, batch_dims: int = 0
) -> Spec:
    require_dtype("GatherV2", "indices", indices, "int32")
    at, batch = _axes(x.shape, indices.shape, axis, batch_dims)
    return x.like(shape=(*x.shape[:at], *indices.shape[batch:], *x.shape[at + 1 :]))


def _sizes(
    x_shape: Shape, indices_shape: Shape, axis: int, batch_dims: int
) -> tuple[int, int, int, int, int]:
    """Return the sizes batch, outer, length, rows and inner of the flattened axes."""
    at, batch = _axes(x_shape, indices_shape, axis, batch_dims)
    return (
        math.prod(x_shape[:batch]),
        math.prod(x_shape[batch:at]),
        x_shape[at],
        math.prod(indices_shape[batch:]),
        math.prod(x_shape[at + 1 :]),
    )


@cpu_kernel("GatherV2")
def _gather_v2_cpu(x: Array, indices: Array, *, axis: int, batch_dims: int) -> Array:
    at, batch_axes = _axes(x.shape, indices.shape, axis, batch_dims)
    batch, outer, length, rows, inner = _sizes(x.shape, indices.shape, axis, batch_dims)
    check_indices("GatherV2", indices, length, x=x.shape, indices=indices.shape)
    blocks = x.reshape(batch, outer, length, inner)
    y = blocks[
        np.arange(batch)[:, None, None],
        np.arange(outer)[None, :, None],
        indices.reshape(batch, 1, rows),
    ]
    return y.reshape(*x.shape[:at], *indices.shape[batch_axes:], *x.shape[at + 1 :])


def _gather_v2_params(
    x_shape: Shape, indices_shape: Shape, axis: int, batch_dims: int
) -> dict[str, int]:
    _, outer, length, rows, inner = _sizes(x_shape, indices_shape, axis, batch_dims)
    return {"outer": outer, "length": length, "rows": rows, "inner": inner}


wgsl_kernel("GatherV2", "gather/gather_v2.wgsl", params=_gather_v2_params)


@gradient("GatherV2")
def _gather_v2_grad(
    dy: Tensor, x_shape: Shape, indices: Tensor, axis: int, batch_dims: int
) -> tuple[Tensor, None]:
    # Each slice of dy is added to the row of x that it was taken from; batches are told apart by
    # counting rows through all of them.
    batch, outer, length, rows, inner = _sizes(x_shape, indices.shape, axis, batch_dims)
    if dy.size == 0:
        return creation.zeros(x_shape, dtype=dy.dtype), None
    ids = shapes.reshape(indices, (batch, rows))
    if batch > 1:
        ids = ids + shapes.reshape(creation.arange(0, batch * length, length), (batch, 1))
    blocks = _swapped(shapes.reshape(dy, (batch, outer, rows, inner)))
    total = segment.unsorted_segment_sum(
        shapes.reshape(blocks, (batch * rows, outer * inner)),
        shapes.reshape(ids, (batch * rows,)),
        num_segments=batch * length,
    )
    found = _swapped(shapes.reshape(total, (batch, length, outer, inner)))
    return shapes.reshape(found, x_shape), None


def _swapped(x: Tensor) -> Tensor:
    return shapes.permute_dims(x, (0, 2, 1, 3))
