"""Parts of a tensor replaced where rows of indices say; of several updates the last counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.host import weak_dtype
from wgsl_kernels.engine.values.shapes import lengths, require_dtype, show
from wgsl_kernels.ops.elementwise import compare, logical
from wgsl_kernels.ops.indexing.places import (
    DEEPEST,
    IndexedShape,
    by_columns,
    columns,
    flat_rows,
    gather_nd,
    layout_of,
    rows_on_device,
    scattered,
)
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.shapes import creation, ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec


@public(tfjs="sparseToDense")
def sparse_to_dense(
    sparse_indices: TensorLike,
    sparse_values: TensorLike,
    output_shape: Sequence[int],
    default_value: TensorLike = 0,
) -> Tensor:
    """Return a tensor of ``default_value`` with ``sparse_values`` where rows of indices say.

    Args:
        sparse_indices: int32: [values, depth], or, of depth 1, [values] or [].
        sparse_values: [values], or [] for one value everywhere.
        output_shape: ``depth`` lengths.
        default_value: A scalar of the dtype of ``sparse_values``.

    Raises:
        ShapeError: The shapes do not fit.
        DTypeError: The dtypes differ.
        IndexOutOfRange: An index is outside its axis; where the indices are on a GPU, raised by
            the next read.

    Where an index is given twice, the last of its values counts.

    Example:
        >>> sparse_to_dense([0, 2], [1.5, 2.5], (4,), -1.0).tolist()
        [1.5, -1.0, 2.5, -1.0]
    """
    values = as_tensor(sparse_values)
    default = default_value
    if isinstance(default, bool | int | float | complex) and values.dtype != "string":
        default = as_tensor(default, weak_dtype(default, values.dtype))
    shape = output_shape
    return run("SparseToDense", sparse_indices, values, default, output_shape=shape)


@signature("SparseToDense")
def _sparse_to_dense_signature(
    sparse_indices: Spec, sparse_values: Spec, default_value: Spec, /, *, output_shape: Shape
) -> Spec:
    name = "SparseToDense"
    want = lengths(name, "output_shape", output_shape)
    require_dtype(name, "sparse_indices", sparse_indices, "int32")
    if default_value.dtype != sparse_values.dtype:
        raise DTypeError(
            f"{name}: default_value has dtype {default_value.dtype}, sparse_values "
            f"{sparse_values.dtype}; want the same."
        )
    if default_value.ndim:
        raise ShapeError(
            f"{name}: default_value has shape {show(default_value.shape)}; want a scalar."
        )
    if sparse_indices.ndim > 2 or len(want) > DEEPEST:
        raise ShapeError(
            f"{name}: sparse_indices has shape {show(sparse_indices.shape)} and output_shape is "
            f"{show(want)}; want [values, depth] and at most {DEEPEST} lengths."
        )
    count, depth = _pairs_of(sparse_indices.shape)
    if depth != len(want):
        raise ShapeError(
            f"{name}: sparse_indices has shape {show(sparse_indices.shape)} and output_shape is "
            f"{show(want)}; want an index of {len(want)} numbers."
        )
    if sparse_values.shape not in ((), (count,)):
        raise ShapeError(
            f"{name}: sparse_values has shape {show(sparse_values.shape)}; want a scalar or "
            f"[{count}], a value for each index."
        )
    return sparse_values.like(shape=want)


def _pairs_of(indices: Shape) -> tuple[int, int]:
    """Return how many indices there are, and of how many numbers."""
    return (1, 1) if not indices else (indices[0], indices[1] if len(indices) == 2 else 1)


@cpu_kernel("SparseToDense")
def _sparse_to_dense_cpu(
    sparse_indices: Array, sparse_values: Array, default_value: Array, *, output_shape: Shape
) -> Array:
    layout = layout_of(output_shape, _pairs_of(sparse_indices.shape))
    shapes_of = {"sparse_indices": sparse_indices.shape, "y": output_shape}
    rows = flat_rows("SparseToDense", sparse_indices, layout, shapes_of, "sparse_indices")
    y = np.empty(layout.all_rows, sparse_values.dtype)
    y[...] = default_value
    y[rows] = sparse_values
    return y.reshape(output_shape)


@wgsl_kernel("SparseToDense")
def _sparse_to_dense_webgpu(
    gpu: Gpu,
    sparse_indices: GpuArray,
    sparse_values: GpuArray,
    default_value: GpuArray,
    *,
    output_shape: Shape,
) -> GpuArray:
    pairs = _pairs_of(sparse_indices.shape)
    layout = layout_of(output_shape, pairs)
    shapes_of = {"sparse_indices": sparse_indices.shape, "y": output_shape}
    rows = rows_on_device(gpu, "SparseToDense", sparse_indices, layout, shapes_of, "sparse_indices")
    before = everywhere(gpu, default_value, output_shape)
    values = sparse_values if sparse_values.shape else everywhere(gpu, sparse_values, pairs[:1])
    return updated(gpu, before, rows, values, layout)


def everywhere(gpu: Gpu, scalar: GpuArray, shape: Shape) -> GpuArray:
    """Return a view of a shape that has the same number everywhere."""
    return gpu.view(scalar, shape, (0,) * len(shape), scalar.offset)


@gradient("SparseToDense")
def _sparse_to_dense_grad(
    dy: Tensor, sparse_indices: Tensor, sparse_values_shape: Shape
) -> tuple[None, Tensor, Tensor]:
    count, depth = _pairs_of(sparse_indices.shape)
    indices = shapes.reshape(sparse_indices, (count, depth))
    values = _of_last(dy, indices)
    rest = tensor_scatter_update(dy, indices, creation.zeros_like(values))
    if not sparse_values_shape:
        values = reductions.sum(values)
    return None, values, reductions.sum(rest)


@public(tfjs="tensorScatterUpdate")
def tensor_scatter_update(tensor: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """Return ``tensor`` with ``updates`` in place of the parts that rows of indices name.

    Args:
        tensor: At least one axis.
        indices: int32, [rows..., depth]; of rank 1, [rows] of depth 1.
        updates: [rows..., inner...], ``inner`` being the axes of ``tensor`` that are not indexed.

    Where an index is given twice, the last of its updates counts, and alone has a gradient.

    Raises:
        ShapeError: The shapes do not fit.
        IndexOutOfRange: An index is outside its axis; where the indices are on a GPU, raised by
            the next read.

    Example:
        >>> tensor_scatter_update(tensor([1.0, 2.0, 3.0]), [[2], [0]], [9.0, 8.0]).tolist()
        [8.0, 2.0, 9.0]
    """
    return run("TensorScatterUpdate", tensor, indices, updates)


@signature("TensorScatterUpdate", promote=("tensor", "updates"))
def _tensor_scatter_update_signature(tensor: Spec, indices: Spec, updates: Spec, /) -> Spec:
    scattered("TensorScatterUpdate", "tensor", tensor.shape, indices, updates)
    return tensor


@cpu_kernel("TensorScatterUpdate")
def _tensor_scatter_update_cpu(tensor: Array, indices: Array, updates: Array) -> Array:
    layout = layout_of(tensor.shape, columns(indices.shape))
    shapes_of = {"tensor": tensor.shape, "indices": indices.shape, "updates": updates.shape}
    rows = flat_rows("TensorScatterUpdate", indices, layout, shapes_of)
    y = tensor.reshape(layout.all_rows, layout.width).copy()
    y[rows] = updates.reshape(layout.named, layout.width)
    return y.reshape(tensor.shape)


@wgsl_kernel("TensorScatterUpdate")
def _tensor_scatter_update_webgpu(
    gpu: Gpu, tensor: GpuArray, indices: GpuArray, updates: GpuArray
) -> GpuArray:
    layout = layout_of(tensor.shape, columns(indices.shape))
    shapes_of = {"tensor": tensor.shape, "indices": indices.shape, "updates": updates.shape}
    rows = rows_on_device(gpu, "TensorScatterUpdate", indices, layout, shapes_of)
    return updated(gpu, tensor, rows, updates, layout)


def updated(
    gpu: Gpu, before: GpuArray, rows: GpuArray, updates: GpuArray, layout: IndexedShape
) -> GpuArray:
    """Return ``before`` with each of ``rows`` replaced by the last of its updates."""
    if not before.size or not updates.size:
        return gpu.view(before, before.shape, before.strides, before.offset)
    owners = gpu.full((layout.all_rows,), "int32", 0)
    grid = gpu.grid(layout.named, 64)
    gpu.dispatch("indexing/updates/claim_rows.wgsl", {"rows": rows, "owners": owners}, groups=grid)
    y = gpu.empty(before.shape, before.dtype)
    gpu.dispatch(
        "indexing/updates/update_rows.wesl",
        {"before": before, "owners": owners, "updates": updates, "y": y},
        params={"inner": layout.width},
    )
    return y


@gradient("TensorScatterUpdate")
def _tensor_scatter_update_grad(dy: Tensor, indices: Tensor) -> tuple[Tensor, None, Tensor]:
    places = by_columns(indices)
    values = _of_last(dy, places)
    return tensor_scatter_update(dy, places, creation.zeros_like(values)), None, values


def _of_last(dy: Tensor, indices: Tensor) -> Tensor:
    """Return the parts of ``dy`` that indices name, 0 for all but the last that name one."""
    *rows, depth = indices.shape
    found = gather_nd(dy, indices)
    count = math.prod(rows)
    if not found.size or not math.prod(dy.shape[:depth]):
        return found
    numbers = shapes.reshape(ranges.arange(count), rows)
    owners = tensor_scatter_update(
        creation.zeros(dy.shape[:depth], dtype="int32"), indices, numbers
    )
    is_last = compare.equal(gather_nd(owners, indices), numbers)
    mask = shapes.reshape(is_last, (*rows, *(1,) * (dy.ndim - depth)))
    return logical.where(mask, found, 0.0)
