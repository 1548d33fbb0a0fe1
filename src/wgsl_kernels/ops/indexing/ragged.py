"""Ops on ragged tensors: rows of differing lengths, kept as flat values and where each row ends."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import sequence
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank
from wgsl_kernels.engine.values.spec import Shape, Spec
from wgsl_kernels.ops.indexing import gather, segment
from wgsl_kernels.ops.shapes import creation, ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu

Gradients = tuple[None, Tensor | None, None]


@public()
class RaggedRows(NamedTuple):
    """A ragged tensor: for each ragged axis where its rows begin and end, and the values."""

    output_nested_splits: tuple[Tensor, ...]
    output_dense_values: Tensor


@public(tfjs="raggedGather")
def ragged_gather(
    params_nested_splits: Sequence[TensorLike],
    params_dense_values: TensorLike,
    indices: TensorLike,
    *,
    output_ragged_rank: int | None = None,
) -> RaggedRows:
    """Return the rows of a ragged tensor that ``indices`` names.

    Args:
        params_nested_splits: For each ragged axis, outermost first, int32 [rows + 1]: row i holds
            what lies from ``splits[i]`` to before ``splits[i + 1]`` one level further in.
        params_dense_values: The innermost values, [values, ...].
        indices: int32, any shape, in [0, rows).
        output_ragged_rank: The number of splits in the result: those of ``params`` and one per
            axis of ``indices``, less 1. Worked out without it.

    Raises:
        ArgumentError: Splits are below 0, falling, or reach past what they split; or
            ``output_ragged_rank`` is wrong.
        IndexOutOfRange: An index is out of range.

    Example:
        >>> wk.ragged_gather([[0, 2, 3]], [1, 2, 3], [1, 0])[1].tolist()
        [3, 1, 2]

    Source: TensorFlow, core/kernels/ragged_gather_op.cc.
    """
    given = sequence("RaggedGather", "params_nested_splits", params_nested_splits)
    places = as_tensor(indices)
    rank = _ragged_rank(len(given), places.ndim)
    *splits, values = run_many(
        "RaggedGather",
        given,
        params_dense_values,
        places,
        output_ragged_rank=rank if output_ragged_rank is None else output_ragged_rank,
    )
    return RaggedRows(tuple(splits), values)


def _ragged_rank(levels: int, ndim: int) -> int:
    return levels + ndim - 1


@signature("RaggedGather")
def _ragged_gather_signature(
    params_nested_splits: list[Spec],
    params_dense_values: Spec,
    indices: Spec,
    /,
    *,
    output_ragged_rank: int,
) -> list[Spec]:
    name = "RaggedGather"
    if not params_nested_splits:
        raise ArgumentError(f"{name}: params_nested_splits is an empty list; want one at least.")
    for one in params_nested_splits:
        require_dtype(name, "params_nested_splits", one, "int32")
        require_rank(name, "params_nested_splits", one, 1)
        if one.size == 0:
            raise ArgumentError(f"{name}: params_nested_splits has shape [0]; want [rows + 1].")
    require_dtype(name, "indices", indices, "int32")
    if not params_dense_values.shape:
        raise ShapeError(f"{name}: params_dense_values has shape []; want [values, ...].")
    rank = _ragged_rank(len(params_nested_splits), indices.ndim)
    if output_ragged_rank != rank:
        raise ArgumentError(f"{name}: output_ragged_rank is {output_ragged_rank}; want {rank}.")
    splits = [Spec((None,), "int32")] * rank
    return [*splits, params_dense_values.like(shape=(None, *params_dense_values.shape[1:]))]


def _gathered(
    splits: Sequence[Array], values_shape: Shape, indices: Array
) -> tuple[list[Array], Array]:
    """Return the splits of the result, and which rows of the dense values it holds."""
    _check_splits(splits, values_shape[0])
    given = {"indices": indices.shape, "params_nested_splits": splits[0].shape}
    check_indices("RaggedGather", "indices", indices, splits[0].size - 1, given)
    found = [
        np.arange(count + 1, dtype=np.int32) * length
        for count, length in zip(
            itertools.accumulate(indices.shape[:-1], lambda a, b: a * b),
            indices.shape[1:],
            strict=True,
        )
    ]
    rows = indices.reshape(-1)
    for level, one in enumerate(splits):
        begins, counts = one[rows], one[rows + 1] - one[rows]
        ends = np.cumsum(counts, dtype=np.int32)
        if level or indices.ndim:
            found.append(np.concatenate([np.zeros(1, np.int32), ends]))
        inside = np.arange(counts.sum(), dtype=np.int32)
        rows = inside + np.repeat(begins - (ends - counts), counts)
    return found, rows


def _check_splits(splits: Sequence[Array], num_values: int) -> None:
    inner = [*(one.size - 1 for one in splits[1:]), num_values]
    for level, (one, most) in enumerate(zip(splits, inner, strict=True)):
        if one[0] < 0 or one[-1] > most or (np.diff(one) < 0).any():
            raise ArgumentError(
                f"RaggedGather: params_nested_splits[{level}] is {one.tolist()}; "
                f"want numbers in [0, {most}] that never fall."
            )


@cpu_kernel("RaggedGather")
def _ragged_gather_cpu(
    params_nested_splits: list[Array], params_dense_values: Array, indices: Array
) -> list[Array]:
    splits, rows = _gathered(params_nested_splits, params_dense_values.shape, indices)
    return [*splits, params_dense_values[rows]]


@wgsl_kernel("RaggedGather", repeats=False)
def _ragged_gather_webgpu(
    gpu: Gpu,
    params_nested_splits: list[GpuArray],
    params_dense_values: GpuArray,
    indices: GpuArray,
) -> list[GpuArray]:
    """Find the rows on the host, for their number is the output's shape; copy them on the GPU."""
    splits, rows = _gathered(
        [gpu.read(one) for one in params_nested_splits],
        params_dense_values.shape,
        gpu.read(indices),
    )
    length, *inner = params_dense_values.shape
    y = gpu.empty((rows.size, *inner), params_dense_values.dtype)
    gather.take_rows(
        gpu,
        {"x": params_dense_values, "indices": gpu.upload(rows, "int32"), "y": y},
        gather.Sizes(batch=1, outer=1, length=length, rows=rows.size, inner=math.prod(inner)),
    )
    return [*(gpu.upload(one, "int32") for one in splits), y]


@gradient("RaggedGather", none=True)
def _ragged_gather_grad(
    dys: tuple[Tensor | None, ...],
    params_nested_splits: list[Tensor],
    params_dense_values_shape: Shape,
    indices: Tensor,
) -> Gradients:
    # Gathering the numbers of the rows tells which row each value came from.
    dy = dys[-1]
    length = params_dense_values_shape[0]
    if dy is None:
        return None, None, None
    if dy.size == 0:
        return None, creation.zeros(params_dense_values_shape, dtype=dy.dtype), None
    numbered = ragged_gather(params_nested_splits, ranges.arange(length), indices)
    total = segment.unsorted_segment_sum(dy, numbered.output_dense_values, num_segments=length)
    return None, total, None
