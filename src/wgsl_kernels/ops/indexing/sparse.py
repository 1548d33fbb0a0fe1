"""Sparse matrices as indices and values, and rows of sparse sums.

What decides the lengths of results is read; values stay where they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.host import weak_dtype
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.indexing.places import DEEPEST, IndexedShape, gather_nd
from wgsl_kernels.ops.indexing.updates import everywhere, tensor_scatter_update, updated
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public()
class FilledRows(NamedTuple):
    """A sparse matrix without empty rows, which rows were empty, and where each value went."""

    output_indices: Tensor
    output_values: Tensor
    empty_row_indicator: Tensor
    reverse_index_map: Tensor


@public()
class SparseIndices(NamedTuple):
    """The indices of a sparse tensor's values, and its shape."""

    output_indices: Tensor
    output_shape: Tensor


@public(tfjs="sparse.sparseFillEmptyRows")
def sparse_fill_empty_rows(
    indices: TensorLike, values: TensorLike, dense_shape: TensorLike, default_value: TensorLike
) -> FilledRows:
    """Return a sparse matrix with a value in the first column of each row that had none.

    Args:
        indices: int32, [values, axes], row and further places of each value.
        values: [values].
        dense_shape: int32, [axes].
        default_value: A scalar of the dtype of ``values``.

    Returns:
        The indices by row, their values, for each row whether it was empty, and for each value
        given its place among those returned.

    Raises:
        ShapeError: The shapes do not fit.
        IndexOutOfRange: A row is outside ``dense_shape``.

    Example:
        >>> sparse_fill_empty_rows([[1, 0]], [5.0], [3, 2], -1.0).output_values.tolist()
        [-1.0, 5.0, -1.0]
    """
    given = as_tensor(values)
    default = default_value
    if isinstance(default, bool | int | float | complex):
        default = as_tensor(default, weak_dtype(default, given.dtype))
    return FilledRows(*run_many("SparseFillEmptyRows", indices, given, dense_shape, default))


@signature("SparseFillEmptyRows")
def _fill_signature(
    indices: Spec, values: Spec, dense_shape: Spec, default_value: Spec, /
) -> dict[str, Spec]:
    name = "SparseFillEmptyRows"
    for word, one, rank in (
        ("indices", indices, 2), ("values", values, 1),
        ("dense_shape", dense_shape, 1), ("default_value", default_value, 0),
    ):  # fmt: skip
        require_rank(name, word, one, rank)
        if word in ("indices", "dense_shape"):
            require_dtype(name, word, one, "int32")
    require_dtype(name, "values", values, "float32", "int32", "bool", "complex64")
    if default_value.dtype != values.dtype:
        raise DTypeError(
            f"{name}: default_value has dtype {default_value.dtype}, values {values.dtype}; want "
            "the same."
        )
    if indices.shape != (values.size, dense_shape.size) or not dense_shape.size:
        raise ShapeError(
            f"{name}: indices has shape {show(indices.shape)}, values {show(values.shape)} and "
            f"dense_shape {show(dense_shape.shape)}; want [values, axes], [values] and [axes]."
        )
    return {
        "output_indices": Spec((None, indices.shape[1]), "int32"),
        "output_values": values.like(shape=(None,)),
        "empty_row_indicator": Spec((None,), "bool"),
        "reverse_index_map": Spec((values.size,), "int32"),
    }


def _filled(indices: Array, dense_shape: Array) -> tuple[Array, Array, Array]:
    """Return the indices by row, which rows were empty, and the new place of each value."""
    rows = indices[:, 0]
    count = int(dense_shape[0])
    if count < 0:
        raise ArgumentError(
            f"SparseFillEmptyRows: dense_shape is {dense_shape.tolist()}; want lengths of at "
            "least 0."
        )
    shapes_of = {"indices": indices.shape, "dense_shape": tuple(dense_shape.tolist())}
    check_indices("SparseFillEmptyRows", "indices", rows, count, shapes_of)
    empty = np.bincount(rows, minlength=count) == 0
    fillers = np.zeros((int(empty.sum()), indices.shape[1]), np.int32)
    fillers[:, 0] = np.flatnonzero(empty)
    joined = np.concatenate([indices, fillers])
    order = np.argsort(joined[:, 0], kind="stable")
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return joined[order], empty, places[: len(rows)]


@cpu_kernel("SparseFillEmptyRows")
def _fill_cpu(
    indices: Array, values: Array, dense_shape: Array, default_value: Array
) -> tuple[Array, Array, Array, Array]:
    found, empty, places = _filled(indices, dense_shape)
    y = np.full(len(found), default_value)
    y[places] = values
    return found, y, empty, places


@wgsl_kernel("SparseFillEmptyRows", repeats=False)
def _fill_webgpu(
    gpu: Gpu, indices: GpuArray, values: GpuArray, dense_shape: GpuArray, default_value: GpuArray
) -> tuple[GpuArray, GpuArray, GpuArray, GpuArray]:
    found, empty, places = _filled(gpu.read(indices), gpu.read(dense_shape))
    rows = gpu.upload(places, "int32")
    before = everywhere(gpu, default_value, (len(found),))
    y = updated(gpu, before, rows, values, IndexedShape(places.shape, (len(found),), ()))
    return gpu.upload(found, "int32"), y, gpu.upload(empty, "bool"), rows


@gradient("SparseFillEmptyRows", none=True)
def _fill_grad(
    dys: tuple[Tensor | None, ...], reverse_index_map: Tensor
) -> tuple[None, Tensor | None, None, Tensor | None]:
    dy = dys[1]
    if dy is None:
        return None, None, None, None
    places = shapes.reshape(reverse_index_map, (-1, 1))
    kept = gather_nd(dy, places)
    fillers = tensor_scatter_update(dy, places, creation.zeros_like(kept))
    return None, kept, None, reductions.sum(fillers)


@public(tfjs="sparse.sparseReshape")
def sparse_reshape(
    input_indices: TensorLike, input_shape: TensorLike, new_shape: TensorLike
) -> SparseIndices:
    """Return the indices that the values of a sparse tensor have in another shape.

    Args:
        input_indices: int32, [values, axes].
        input_shape: int32, [axes].
        new_shape: int32; one length may be -1 and is then worked out.

    Returns:
        The indices, [values, new axes], and the new shape.

    Raises:
        ShapeError: The counts of elements differ.

    Example:
        >>> sparse_reshape([[1, 2]], [2, 3], [3, -1]).output_indices.tolist()
        [[2, 1]]
    """
    return SparseIndices(*run_many("SparseReshape", input_indices, input_shape, new_shape))


@signature("SparseReshape")
def _sparse_reshape_signature(
    input_indices: Spec, input_shape: Spec, new_shape: Spec, /
) -> dict[str, Spec]:
    name = "SparseReshape"
    for word, one, rank in (
        ("input_indices", input_indices, 2), ("input_shape", input_shape, 1),
        ("new_shape", new_shape, 1),
    ):  # fmt: skip
        require_rank(name, word, one, rank)
        require_dtype(name, word, one, "int32")
    if (
        input_indices.shape[1] != input_shape.size
        or max(input_shape.size, new_shape.size) > DEEPEST
    ):
        raise ShapeError(
            f"{name}: input_indices has shape {show(input_indices.shape)}, input_shape "
            f"{show(input_shape.shape)} and new_shape {show(new_shape.shape)}; want "
            f"[values, axes], [axes], and at most {DEEPEST} axes."
        )
    found = input_indices.like(shape=(input_indices.shape[0], new_shape.size))
    return {"output_indices": found, "output_shape": new_shape}


def _new_shape(before: Array, asked: Array) -> tuple[int, ...]:
    size = math.prod(before.tolist())
    wanted = asked.tolist()
    known = math.prod(one for one in wanted if one != -1)
    if wanted.count(-1) == 1 and known and size % known == 0:
        wanted[wanted.index(-1)] = size // known
    if any(one < 0 for one in (*wanted, *before.tolist())) or math.prod(wanted) != size:
        raise ShapeError(
            f"SparseReshape: input_shape is {before.tolist()} and new_shape {asked.tolist()}; want "
            "as many elements, of which one length may be -1."
        )
    return tuple(wanted)


@cpu_kernel("SparseReshape")
def _sparse_reshape_cpu(
    input_indices: Array, input_shape: Array, new_shape: Array
) -> tuple[Array, Array]:
    wanted = _new_shape(input_shape, new_shape)
    place = np.zeros(len(input_indices), np.int64)
    for axis, length in enumerate(input_shape.tolist()):
        place = place * length + input_indices[:, axis]
    found = np.empty((len(place), len(wanted)), np.int32)
    for axis in reversed(range(len(wanted))):
        found[:, axis] = place % max(wanted[axis], 1)
        place //= max(wanted[axis], 1)
    return found, np.array(wanted, np.int32)


@wgsl_kernel("SparseReshape", repeats=False)
def _sparse_reshape_webgpu(
    gpu: Gpu, input_indices: GpuArray, input_shape: GpuArray, new_shape: GpuArray
) -> tuple[GpuArray, GpuArray]:
    before = gpu.read(input_shape)
    wanted = _new_shape(before, gpu.read(new_shape))
    found = gpu.empty((input_indices.shape[0], len(wanted)), "int32")
    if found.size:
        params = {
            "count": found.shape[0],
            "depth": len(before),
            "new_depth": len(wanted),
            "lengths": (1,) * (DEEPEST - len(before)) + tuple(before.tolist()),
            "new_lengths": (1,) * (DEEPEST - len(wanted)) + tuple(max(one, 1) for one in wanted),
        }
        gpu.dispatch(
            "indexing/sparse/sparse_reshape.wesl",
            {"input_indices": input_indices, "indices": found},
            params=params,
            groups=gpu.grid(found.shape[0], 64),
        )
    return found, gpu.upload(np.array(wanted, np.int32), "int32")


no_gradient("SparseReshape", because="its outputs are indices")
