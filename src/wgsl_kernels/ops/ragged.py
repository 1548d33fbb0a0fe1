"""Ops on ragged tensors: rows of differing lengths, kept as flat values and where each row ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.gradients import gradient
from wgsl_kernels.engine.run import run_many
from wgsl_kernels.engine.shapes import require_dtype, require_rank
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.spec import Shape, Spec
from wgsl_kernels.engine.tensor import Tensor, TensorLike
from wgsl_kernels.ops import creation, segment
from wgsl_kernels.ops.gather import check_indices

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu


class RaggedRows(NamedTuple):
    """A ragged tensor: for each ragged axis where its rows begin and end, and the values."""

    output_nested_splits: tuple[Tensor, ...]
    output_dense_values: Tensor


def ragged_gather(
    params_nested_splits: Sequence[TensorLike],
    params_dense_values: TensorLike,
    indices: TensorLike,
    *,
    output_ragged_rank: int,
) -> RaggedRows:
    """Return the rows of a ragged tensor that ``indices`` names.

    Args:
        params_nested_splits: For each ragged axis, outermost first, int32 [rows + 1]: row i holds
            what lies from ``splits[i]`` to before ``splits[i + 1]`` one level further in.
        params_dense_values: The innermost values, [values, ...].
        indices: int32, any shape, in [0, rows).
        output_ragged_rank: The ragged axes of the result: the rank of ``indices`` less 1 plus the
            number of splits.

    Raises:
        ArgumentError: Splits are empty, below 0, falling, or reach past what they split.
        IndexOutOfRange: An index is out of range.
    """
    *splits, values = run_many(
        "RaggedGather",
        list(params_nested_splits),
        params_dense_values,
        indices,
        output_ragged_rank=output_ragged_rank,
    )
    return RaggedRows(tuple(splits), values)


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
        raise ArgumentError(f"{name}: params_nested_splits is empty; want one at least.")
    for one in params_nested_splits:
        require_dtype(name, "params_nested_splits", one, "int32")
        require_rank(name, "params_nested_splits", one, 1)
        if one.size == 0:
            raise ArgumentError(f"{name}: params_nested_splits has no elements; want [rows + 1].")
    require_dtype(name, "indices", indices, "int32")
    if not params_dense_values.shape:
        raise ShapeError(f"{name}: params_dense_values has shape []; want [values, ...].")
    ...
