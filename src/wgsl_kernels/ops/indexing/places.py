"""Rows that indices of several axes name: gathered, scattered, replaced."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.control.parts import excess, joined, part_of, parts_of
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import lengths, require_dtype, show
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.indexing import gather, segment
from wgsl_kernels.ops.rules.specs import COMPLEX
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

DEEPEST = 8
"""Axes that an index may have, as in flat_rows.wesl."""
ROWS = 1 << 31
"""How many rows an int32 tells apart."""


class IndexedShape(NamedTuple):
    """What indices name of a tensor of shape [lengths..., inner...].

    Attributes:
        rows: The shape of the indices but for their last axis: a row of the tensor for each.
        lengths: The axes that are indexed.
        inner: The shape of a row.
    """

    rows: Shape
    lengths: Shape
    inner: Shape

    @property
    def named(self) -> int:
        return math.prod(self.rows)

    @property
    def all_rows(self) -> int:
        return math.prod(self.lengths)

    @property
    def width(self) -> int:
        """How many elements a row has."""
        return math.prod(self.inner)


@public(tfjs="gatherND")
def gather_nd(x: TensorLike, indices: TensorLike) -> Tensor:
    """Return the parts of ``x`` that rows of indices name.

    Args:
        x: At least one axis.
        indices: int32, [rows..., depth]; each row of ``depth`` numbers indexes the first ``depth``
            axes of ``x``.

    Returns:
        [rows..., inner...], ``inner`` being the axes of ``x`` that are not indexed.

    Raises:
        ShapeError: ``depth`` is above the rank of ``x``.
        IndexOutOfRange: An index is outside its axis; where the indices are on a GPU, raised by
            the next read.

    Example:
        >>> gather_nd(tensor([[1.0, 2.0], [3.0, 4.0]]), [[1, 0], [0, 1]]).tolist()
        [3.0, 2.0]
    """
    return run("GatherNd", x, indices)


def _named(kernel: str, name: str, shape: Shape, indices: Spec) -> IndexedShape:
    require_dtype(kernel, "indices", indices, "int32")
    if not shape or not indices.ndim:
        raise ShapeError(
            f"{kernel}: {name} has shape {show(shape)} and indices {show(indices.shape)}; want at "
            "least one axis of both."
        )
    depth = indices.shape[-1]
    if depth > min(len(shape), DEEPEST):
        raise ShapeError(
            f"{kernel}: indices has shape {show(indices.shape)} and {name} {show(shape)}; want the "
            f"last axis of indices at most {min(len(shape), DEEPEST)} long."
        )
    return IndexedShape(indices.shape[:-1], shape[:depth], shape[depth:])


@signature("GatherNd")
def _gather_nd_signature(
    params: Spec, indices: Spec, /, *, wrap_negative_indices: bool = False
) -> Spec:
    del wrap_negative_indices
    layout = _named("GatherNd", "params", params.shape, indices)
    return params.like(shape=layout.rows + layout.inner)


def layout_of(shape: Shape, indices: Shape) -> IndexedShape:
    """Return what indices of one shape name of a tensor of another."""
    depth = indices[-1]
    return IndexedShape(indices[:-1], shape[:depth], shape[depth:])


def flat_rows(
    kernel: str,
    indices: Array,
    layout: IndexedShape,
    shapes_of: dict[str, Shape],
    name: str = "indices",
    *,
    wraps: bool = False,
) -> Array:
    """Return the number of the row that each index names.

    Raises:
        IndexOutOfRange: One is outside its axis.
    """
    _check(kernel, name, indices, layout, shapes_of, wraps=wraps)
    found = np.zeros(layout.named, np.int64)
    table = indices.reshape(layout.named, len(layout.lengths))
    for axis, length in enumerate(layout.lengths):
        column = table[:, axis]
        found = found * length + (column % max(length, 1) if wraps else column)
    return found


def _check(
    kernel: str,
    name: str,
    indices: Array,
    layout: IndexedShape,
    shapes_of: dict[str, Shape],
    *,
    wraps: bool,
) -> None:
    table = indices.reshape(layout.named, len(layout.lengths))
    for axis, length in enumerate(layout.lengths):
        check_indices(kernel, name, table[:, axis], length, shapes_of, wraps=wraps)


def rows_on_device(
    gpu: Gpu,
    kernel: str,
    indices: GpuArray,
    layout: IndexedShape,
    shapes_of: dict[str, Shape],
    name: str = "indices",
    *,
    wraps: bool = False,
) -> GpuArray:
    """Return the number of the row that each index names, [count], int32.

    Raises:
        ShapeError: Those numbers do not reach all rows of a broadcast view.
    """
    if layout.all_rows > ROWS:
        raise ShapeError(
            f"{kernel}: {name} looks up rows of {show(layout.lengths)}, {layout.all_rows}; on the "
            f"GPU at most {ROWS} can be looked up. Take a slice first."
        )
    gpu.check_known(
        indices, lambda values: _check(kernel, name, values, layout, shapes_of, wraps=wraps)
    )
    if layout.named and excess(gpu, indices) > 1:
        flat = shapes.reshaped(gpu, indices, (layout.named, len(layout.lengths)))
        found: list[GpuArray] = []
        for one in parts_of(layout.named, excess(gpu, indices)):
            own = layout._replace(rows=(one[1],))
            some = part_of(gpu, flat, -2, *one)
            found.append(rows_on_device(gpu, kernel, some, own, shapes_of, name, wraps=wraps))
        return joined(gpu, found, 0)
    rows = gpu.empty((layout.named,), "int32")
    if rows.size:
        depth = len(layout.lengths)
        padded = (1,) * (DEEPEST - depth) + layout.lengths
        params = {"depth": depth, "lengths": padded, "wraps": int(wraps)}
        gpu.dispatch(
            "indexing/places/flat_rows.wesl", {"indices": indices, "rows": rows}, params=params
        )
    return rows


@cpu_kernel("GatherNd")
def _gather_nd_cpu(params: Array, indices: Array, *, wrap_negative_indices: bool) -> Array:
    layout = layout_of(params.shape, indices.shape)
    y_shape = layout.rows + layout.inner
    shapes_of = {"params": params.shape, "indices": indices.shape}
    rows = flat_rows("GatherNd", indices, layout, shapes_of, wraps=wrap_negative_indices)
    return params.reshape(layout.all_rows, layout.width)[rows].reshape(y_shape)


@wgsl_kernel("GatherNd")
def _gather_nd_webgpu(
    gpu: Gpu, params: GpuArray, indices: GpuArray, *, wrap_negative_indices: bool
) -> GpuArray:
    layout = layout_of(params.shape, indices.shape)
    shapes_of = {"params": params.shape, "indices": indices.shape}
    wraps = wrap_negative_indices
    rows = rows_on_device(gpu, "GatherNd", indices, layout, shapes_of, wraps=wraps)
    y = gpu.empty(layout.rows + layout.inner, params.dtype)
    if y.size:
        sizes = gather.Sizes(1, 1, layout.all_rows, layout.named, layout.width)
        gather.take_rows(gpu, {"x": params, "indices": rows, "y": y}, sizes)
    return y


@gradient("GatherNd")
def _gather_nd_grad(
    dy: Tensor, params_shape: Shape, indices: Tensor, wrap_negative_indices: bool
) -> tuple[Tensor, None]:
    if wrap_negative_indices:
        indices = indices % as_tensor(params_shape[: indices.shape[-1]], dtype="int32")
    if indices.ndim == 1:  # one row, which scattering would take for a column
        indices, dy = shapes.expand_dims(indices), shapes.expand_dims(dy)
    return scatter_nd(indices, dy, params_shape), None


@public(tfjs="scatterND")
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: Sequence[int]) -> Tensor:
    """Return a tensor of zeros to which ``updates`` have been added where rows of indices say.

    The same input gives the same bits every time; of bools a sum is "or".

    Args:
        indices: int32, [rows..., depth]; of rank 1, [rows] of depth 1.
        updates: [rows..., inner...].
        shape: Of the result: ``depth`` axes that are indexed, and ``inner``.

    Raises:
        ShapeError: The shapes do not fit.
        IndexOutOfRange: An index is outside its axis; where the indices are on a GPU, raised by
            the next read.

    Example:
        >>> scatter_nd([[1], [3], [1]], [1.0, 2.0, 3.0], (4,)).tolist()
        [0.0, 4.0, 0.0, 2.0]
    """
    return run("ScatterNd", indices, updates, shape=shape)


def scattered(kernel: str, name: str, shape: Shape, indices: Spec, updates: Spec) -> IndexedShape:
    """Return what indices name of a tensor that is updated, or refuse the shapes."""
    places = indices if indices.ndim > 1 else indices.like(shape=(*indices.shape, 1))
    if not indices.ndim:
        places = indices.like(shape=())
    layout = _named(kernel, name, shape, places)
    if not updates.ndim or updates.shape != layout.rows + layout.inner:
        raise ShapeError(
            f"{kernel}: updates has shape {show(updates.shape)}, indices {show(indices.shape)} and "
            f"{name} {show(shape)}; want updates of {show(layout.rows + layout.inner)}."
        )
    return layout


@signature("ScatterNd")
def _scatter_nd_signature(indices: Spec, updates: Spec, /, *, shape: Shape) -> Spec:
    want = lengths("ScatterNd", "shape", shape)
    require_dtype("ScatterNd", "updates", updates, *COMPLEX)
    scattered("ScatterNd", "shape", want, indices, updates)
    return updates.like(shape=want)


def columns(indices: Shape) -> Shape:
    """Return the shape of indices as [rows..., depth]."""
    return indices if len(indices) > 1 else (*indices, 1)


@cpu_kernel("ScatterNd")
@silent
def _scatter_nd_cpu(indices: Array, updates: Array, *, shape: Shape) -> Array:
    layout = layout_of(shape, columns(indices.shape))
    shapes_of = {"indices": indices.shape, "updates": updates.shape, "y": shape}
    rows = flat_rows("ScatterNd", indices, layout, shapes_of)
    values = updates.reshape(layout.named, layout.width)
    if values.dtype == np.bool_:
        y = np.zeros((layout.all_rows, layout.width), np.bool_)
        np.logical_or.at(y, rows, values)
        return y.reshape(shape)
    return segment.summed(values, rows, layout.all_rows).reshape(shape)


@wgsl_kernel("ScatterNd")
def _scatter_nd_webgpu(gpu: Gpu, indices: GpuArray, updates: GpuArray, *, shape: Shape) -> GpuArray:
    layout = layout_of(shape, columns(indices.shape))
    shapes_of = {"indices": indices.shape, "updates": updates.shape, "y": shape}
    rows = rows_on_device(gpu, "ScatterNd", indices, layout, shapes_of)
    if not updates.size:
        return gpu.full(shape, updates.dtype, 0)
    numbers = "int32" if updates.dtype == "bool" else updates.dtype
    flat = shapes.reshaped(gpu, updates, (layout.named, layout.width))
    values = cast.converted(gpu, flat, numbers)
    total = segment.summed_on_device(gpu, values, rows, layout.all_rows)
    return cast.converted(gpu, shapes.reshaped(gpu, total, shape), updates.dtype)


@gradient("ScatterNd")
def _scatter_nd_grad(dy: Tensor, indices: Tensor) -> tuple[None, Tensor]:
    return None, gather_nd(dy, by_columns(indices))


def by_columns(indices: Tensor) -> Tensor:
    """Return indices of rank 1 as [rows, 1]; others as they are."""
    return shapes.reshape(indices, columns(indices.shape))
