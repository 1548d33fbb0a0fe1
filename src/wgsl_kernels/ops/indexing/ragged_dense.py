"""Ragged tensors as dense ones, with a number where rows are too short."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.drivers.host_memory import check_room
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.creation import tensor as new_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import sequence
from wgsl_kernels.engine.values.host import default_dtype, weak_dtype
from wgsl_kernels.engine.values.shapes import broadcast_shapes, require_dtype, require_rank, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.elementwise import logical
from wgsl_kernels.ops.indexing import segment
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.shapes import creation, ranges
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape

NAME = "RaggedTensorToTensor"
FIRST, IDS, SPLITS = "FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"


@public(tfjs="raggedTensorToTensor")
def ragged_tensor_to_tensor(
    shape: TensorLike,
    values: TensorLike,
    default_value: TensorLike,
    row_partition_tensors: Sequence[TensorLike],
    row_partition_types: Sequence[str],
) -> Tensor:
    """Return a ragged tensor as a dense one; what lies outside of it is cut off.

    The result's shape depends on the partitions, so on webgpu this waits for them.

    Args:
        shape: int32, [axes], the result's shape, -1 where it is as long as needed; or -1 for all.
        values: [values, ...].
        default_value: What stands behind rows that are too short; broadcasts to an element of
            ``values``.
        row_partition_tensors: int32, for each ragged axis, outermost first, how rows are made of
            what is one level further in.
        row_partition_types: What each of these is: ``"ROW_SPLITS"``, [rows + 1], where rows begin
            and the last one ends; ``"VALUE_ROWIDS"``, the row of each value, never falling; before
            the first of these ``"FIRST_DIM_SIZE"``, a scalar, the number of rows.

    Returns:
        [rows, longest row, ..., ...], of the dtype of ``values``.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: The partitions contradict each other, or ``shape``, or there is no such type.
        OutOfMemoryError: The result is larger than the backend may hold.

    Example:
        >>> ragged_tensor_to_tensor(-1, [1, 2, 3], 0, [[0, 2, 3]], ["ROW_SPLITS"]).tolist()
        [[1, 2], [3, 0]]

    Source: TensorFlow, core/kernels/ragged_tensor_to_tensor_op.cc.
    """
    given = as_tensor(values)
    default = default_value
    if isinstance(default, bool | int | float | complex):
        default = as_tensor(default, weak_dtype(default, given.dtype))
    parts = sequence(NAME, "row_partition_tensors", row_partition_tensors)
    lengths = as_tensor(shape)
    return run(NAME, lengths, given, default, parts, row_partition_types=row_partition_types)


@signature(NAME)
def _ragged_tensor_to_tensor_signature(
    shape: Spec,
    values: Spec,
    default_value: Spec,
    row_partition_tensors: list[Spec],
    /,
    *,
    row_partition_types: tuple[str, ...],
) -> Spec:
    require_dtype(NAME, "shape", shape, "int32")
    require_rank(NAME, "shape", shape, 0, 1)
    require_dtype(NAME, "values", values, "float32", "int32", "bool", "complex64")
    if default_value.dtype != values.dtype:
        raise DTypeError(
            f"{NAME}: default_value has dtype {default_value.dtype}, values {values.dtype}; want "
            "the same."
        )
    ragged = _ragged_axes(row_partition_tensors, row_partition_types)
    if not values.ndim:
        raise ShapeError(f"{NAME}: values has shape []; want [values, ...].")
    rank = ragged + values.ndim
    if shape.ndim and shape.size != rank:
        raise ShapeError(
            f"{NAME}: shape has {shape.size} lengths, but values of shape {show(values.shape)} "
            f"with {ragged} ragged axes has {rank}; want one for each."
        )
    inner = values.shape[1:]
    if broadcast_shapes(default_value.shape, inner) != inner:
        raise ShapeError(
            f"{NAME}: default_value has shape {show(default_value.shape)}; want one that "
            f"broadcasts to {show(inner)}."
        )
    return values.like(shape=(*(None,) * (ragged + 1), *inner))


def _ragged_axes(tensors: list[Spec], types: tuple[str, ...]) -> int:
    """Return how many axes are ragged, or refuse how they are described."""
    given: object = types  # as the caller gave it
    known = isinstance(given, tuple) and all(one in (FIRST, IDS, SPLITS) for one in given)
    if not known or len(types) != len(tensors):
        raise ArgumentError(
            f"{NAME}: row_partition_types is {shown(types)} for {len(tensors)} tensors; want "
            f"{FIRST!r}, {IDS!r} or {SPLITS!r} for each."
        )
    of_axes = types[1:] if types[:1] == (FIRST,) else types
    if not of_axes or FIRST in of_axes or types[0] == IDS:
        raise ArgumentError(
            f"{NAME}: row_partition_types is {types}; want {SPLITS!r} or {FIRST!r} first, and then "
            f"{IDS!r} or {SPLITS!r} for each ragged axis."
        )
    for place, (one, kind) in enumerate(zip(tensors, types, strict=True)):
        name = f"row_partition_tensors[{place}]"
        require_dtype(NAME, name, one, "int32")
        require_rank(NAME, name, one, 0 if kind == FIRST else 1)
        if kind == SPLITS and not one.size:
            raise ShapeError(f"{NAME}: {name} has shape [0]; want [rows + 1].")
    return len(of_axes)


class _Level(NamedTuple):
    """How the rows of a ragged axis are made: for each value its row and its place there."""

    rows: Array
    places: Array

    @property
    def width(self) -> int:
        """The length of the longest row."""
        return int(self.places.max(initial=-1)) + 1


def _level(partition: Array, kind: str, count: int) -> _Level:
    """Return how ``count`` rows are made, or refuse numbers that say something else."""
    if kind == SPLITS:
        lengths = np.diff(partition)
        if partition[0] != 0 or (lengths < 0).any() or lengths.size != count:
            raise ArgumentError(
                f"{NAME}: row splits are {partition.tolist()[:16]} of {count} rows; want "
                f"{count + 1} numbers from 0 on that never fall."
            )
        rows = np.repeat(np.arange(count), lengths)
        return _Level(rows, np.arange(rows.size) - partition[rows])
    outside = (partition < 0) | (partition >= count)
    if outside.any() or (np.diff(partition) < 0).any():
        raise ArgumentError(
            f"{NAME}: row ids are {partition.tolist()[:16]} of {count} rows; want numbers in "
            f"[0, {count}) that never fall."
        )
    begins = np.searchsorted(partition, partition)
    return _Level(partition, np.arange(partition.size) - begins)


def _placed(
    shape: Array, values: Spec, partitions: Sequence[Array], types: Sequence[str]
) -> tuple[Shape, Array]:
    """Return the result's shape, and for each of its rows that of ``values``, or -1."""
    values_shape = values.shape
    first = int(partitions[0]) if types[0] == FIRST else partitions[0].size - 1
    start = 1 if types[0] == FIRST else 0
    levels: list[_Level] = []
    count = first
    for partition, kind in zip(partitions[start:], types[start:], strict=True):
        levels.append(_level(partition, kind, count))
        count = levels[-1].rows.size
    if count != values_shape[0]:
        raise ArgumentError(
            f"{NAME}: values has shape {show(values_shape)}, but the partitions are of {count}."
        )
    found = (first, *(one.width for one in levels), *values_shape[1:])
    wanted = shape.tolist() if shape.ndim else [-1] * len(found)
    if min(first, *wanted, 0) < -1 or (not shape.ndim and int(shape) != -1):
        raise ArgumentError(f"{NAME}: shape is {shape.tolist()}; want lengths, or -1.")
    inner = len(levels) + 1
    if any(a not in (-1, b) for a, b in zip(wanted[inner:], found[inner:], strict=True)):
        raise ArgumentError(
            f"{NAME}: shape is {wanted} and values has shape {show(values_shape)}; want the same "
            "inner lengths."
        )
    whole = tuple(b if a < 0 else a for a, b in zip(wanted, found, strict=True))
    outer = whole[:inner]
    check_room(whole, values.dtype)
    check_room(outer, "int32")
    numbers: Array | None = None
    for level, length in zip(levels, outer[1:], strict=True):
        if numbers is None:
            parents = np.where(level.rows < outer[0], level.rows, -1)
        else:
            parents = numbers[level.rows]
        inside = (parents >= 0) & (level.places < length)
        numbers = np.where(inside, parents * length + level.places, -1)
    assert numbers is not None  # there is at least one ragged axis
    rows = np.full(math.prod(outer), -1, np.int32)
    rows[numbers[numbers >= 0]] = np.flatnonzero(numbers >= 0)
    return whole, rows


@cpu_kernel(NAME)
def _ragged_tensor_to_tensor_cpu(
    shape: Array,
    values: Array,
    default_value: Array,
    row_partition_tensors: list[Array],
    *,
    row_partition_types: tuple[str, ...],
) -> Array:
    spec = Spec(values.shape, default_dtype(values))
    whole, rows = _placed(shape, spec, row_partition_tensors, row_partition_types)
    inner = values.shape[1:]
    y = np.empty((rows.size, *inner), values.dtype)
    y[:] = default_value
    y[rows >= 0] = values[rows[rows >= 0]]
    return y.reshape(whole)


@wgsl_kernel(NAME, repeats=False)
def _ragged_tensor_to_tensor_webgpu(
    gpu: Gpu,
    shape: GpuArray,
    values: GpuArray,
    default_value: GpuArray,
    row_partition_tensors: list[GpuArray],
    *,
    row_partition_types: tuple[str, ...],
) -> GpuArray:
    partitions = [gpu.read(one) for one in row_partition_tensors]
    spec = Spec(values.shape, values.dtype)
    whole, rows = _placed(gpu.read(shape), spec, partitions, row_partition_types)
    y = gpu.empty(whole, values.dtype)
    if not y.size:
        return y
    inner = values.shape[1:]
    missing = len(inner) - len(default_value.shape)
    own = zip(default_value.shape, default_value.strides, strict=True)
    strides = (0,) * missing + tuple(0 if length == 1 else step for length, step in own)
    gpu.dispatch(
        "indexing/ragged_dense/ragged_to_dense.wesl",
        {
            "values": values,
            "default_value": gpu.view(default_value, inner, strides, default_value.offset),
            "rows": gpu.upload(rows, "int32"),
            "y": y,
        },
        params={"inner": math.prod(inner)},
        groups=gpu.grid(y.size, 64),
    )
    return y


@gradient(NAME)
def _ragged_tensor_to_tensor_grad(
    dy: Tensor,
    values_shape: Shape,
    default_value_shape: Shape,
    row_partition_tensors: list[Tensor],
    row_partition_types: tuple[str, ...],
) -> tuple[object, ...]:
    outer = dy.ndim - len(values_shape) + 1
    count, *inner = values_shape
    flat = shapes.reshape(dy, (math.prod(dy.shape[:outer]), *inner))

    def numbered() -> Tensor:
        """Return for each row of the result that of values, or -1."""
        size = new_tensor(dy.shape[:outer], dtype="int32")
        numbers = ranges.arange(count)
        types = row_partition_types
        found = ragged_tensor_to_tensor(size, numbers, -1, row_partition_tensors, types)
        return shapes.reshape(found, (-1,))

    def of_values() -> Tensor:
        if not dy.size or not count:
            return creation.zeros(values_shape, dtype=dy.dtype)
        return segment.unsorted_segment_sum(flat, numbered(), num_segments=count)

    def of_default() -> Tensor:
        if not dy.size:
            return creation.zeros(default_value_shape, dtype=dy.dtype)
        outside = shapes.reshape(numbered() < 0, (-1,) + (1,) * len(inner))
        zero = creation.zeros((), dtype=dy.dtype)
        total = reductions.sum(logical.where(outside, flat, zero), axis=0)
        return unbroadcast(total, default_value_shape)

    return None, of_values, of_default, [None] * len(row_partition_tensors)
