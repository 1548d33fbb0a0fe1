"""Taking the slices that a tensor of indices names."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.backends.webgpu.control.parts import (
    LARGEST_ELEMENT,
    excess,
    excess_of,
    joined,
    outermost,
    part_of,
    parts_of,
)
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.programs.arguments import ALIGNMENT
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact, takes_bytes
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.engine.values.indices import check_indices
from wgsl_kernels.engine.values.shapes import broadcast, normalize_axis, require_dtype, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.rules.specs import NUMBERS
from wgsl_kernels.ops.shapes import creation, ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape


@public(tfjs="gather", method=True)
def take(x: TensorLike, indices: TensorLike, axis: int = 0, *, batch_dims: int = 0) -> Tensor:
    """Return the slices of ``x`` along ``axis`` that ``indices`` names.

    Args:
        x: Any tensor.
        indices: Integers of any shape, at least minus the length of ``axis`` and below it; negative
            ones count from the end. In the result its axes (all but the batch's) stand where
            ``axis`` stood.
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

    Example:
        >>> wk.take([[1, 2], [3, 4], [5, 6]], [-1, 0]).tolist()
        [[5, 6], [1, 2]]
    """
    return run("GatherV2", x, indices, axis=axis, batch_dims=batch_dims, wrap_negative_indices=True)


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


def _taken(x_shape: Shape, indices_shape: Shape, axis: int, batch_dims: int) -> Shape:
    at, batch = _axes(x_shape, indices_shape, axis, batch_dims)
    return (*x_shape[:at], *indices_shape[batch:], *x_shape[at + 1 :])


@signature("GatherV2")
@takes_bytes
@exact(*NUMBERS)
def _gather_v2_signature(
    x: Spec,
    indices: Spec,
    /,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    wrap_negative_indices: bool = False,
) -> Spec:
    del wrap_negative_indices
    require_dtype("GatherV2", "indices", indices, "int32")
    return x.like(shape=_taken(x.shape, indices.shape, axis, batch_dims))


@dataclass(frozen=True)
class Sizes:
    """The lengths of x, [batch, outer, length, inner], and of indices, [batch, rows]."""

    batch: int
    outer: int
    length: int
    rows: int
    inner: int


def _sizes(x_shape: Shape, indices_shape: Shape, axis: int, batch_dims: int) -> Sizes:
    at, batch = _axes(x_shape, indices_shape, axis, batch_dims)
    return Sizes(
        batch=math.prod(x_shape[:batch]),
        outer=math.prod(x_shape[batch:at]),
        length=x_shape[at],
        rows=math.prod(indices_shape[batch:]),
        inner=math.prod(x_shape[at + 1 :]),
    )


@cpu_kernel("GatherV2")
def _gather_v2_cpu(
    x: Array, indices: Array, *, axis: int, batch_dims: int, wrap_negative_indices: bool
) -> Array:
    y_shape = _taken(x.shape, indices.shape, axis, batch_dims)
    sizes = _sizes(x.shape, indices.shape, axis, batch_dims)
    shapes_of = {"x": x.shape, "indices": indices.shape, "y": y_shape}
    wraps = wrap_negative_indices  # as NumPy's indices do
    check_indices("GatherV2", "indices", indices, sizes.length, shapes_of, wraps=wraps)
    if sizes.batch == 1:
        at, _ = _axes(x.shape, indices.shape, axis, batch_dims)
        return np.take(x, indices.reshape(-1), at).reshape(y_shape)
    blocks = x.reshape(sizes.batch, sizes.outer, sizes.length, sizes.inner)
    batch, outer = np.ogrid[: sizes.batch, : sizes.outer]
    rows = indices.reshape(sizes.batch, 1, sizes.rows)
    return blocks[batch[..., None], outer[..., None], rows].reshape(y_shape)


@wgsl_kernel("GatherV2")
def _gather_v2_webgpu(
    gpu: Gpu,
    x: GpuArray,
    indices: GpuArray,
    *,
    axis: int,
    batch_dims: int,
    wrap_negative_indices: bool,
) -> GpuArray:
    wraps = wrap_negative_indices
    y_shape = _taken(x.shape, indices.shape, axis, batch_dims)
    length = _sizes(x.shape, indices.shape, axis, batch_dims).length
    shapes_of = {"x": x.shape, "indices": indices.shape, "y": y_shape}

    def check(values: Array) -> None:
        check_indices("GatherV2", "indices", values, length, shapes_of, wraps=wraps)

    gpu.check_known(indices, check)
    if indices.size and not math.prod(y_shape) and indices.host is None:
        check(gpu.read(indices))  # no shader looks at them
    indices = cast.converted(gpu, indices, "int32")
    return _taken_on_device(gpu, x, indices, axis, batch_dims, wraps)


def _taken_on_device(
    gpu: Gpu, x: GpuArray, indices: GpuArray, axis: int, batch_dims: int, wraps: bool
) -> GpuArray:
    y_shape = _taken(x.shape, indices.shape, axis, batch_dims)
    sizes = _sizes(x.shape, indices.shape, axis, batch_dims)
    if (
        y_shape
        and x.size
        and max(excess_of(gpu, y_shape, ITEMSIZE[x.dtype]), excess(gpu, indices)) > 1
    ):
        return _taken_in_parts(gpu, x, indices, axis, batch_dims, wraps)
    if x.dtype in BYTES and sizes.inner % 4:
        whole = cast.converted(gpu, x, "int32")
        y = _taken_on_device(gpu, whole, indices, axis, batch_dims, wraps)
        return gpu.pack(y, x.dtype)
    y = gpu.empty(y_shape, x.dtype)
    arrays = {"x": x, "indices": indices, "y": y}
    if x.dtype in BYTES and x.size and y.size:  # rows are whole words, and moved as such
        arrays |= {"x": _words(gpu.resident(gpu.contiguous(x))), "y": _words(y)}
        sizes = replace(sizes, inner=sizes.inner // 4)
    take_rows(gpu, arrays, sizes, wraps=wraps)
    return y


def _taken_in_parts(
    gpu: Gpu, x: GpuArray, indices: GpuArray, axis: int, batch_dims: int, wraps: bool
) -> GpuArray:
    """Return what is taken, cut along the first axis of the result."""
    at, batch = _axes(x.shape, indices.shape, axis, batch_dims)
    y_shape, named = _taken(x.shape, indices.shape, at, batch), len(indices.shape) - batch
    gpu.check_room(y_shape, x.dtype)
    cut = outermost(y_shape)
    front = cut + len(y_shape)
    of_x = front if front < at else front - named + 1 if front >= at + named else None
    of_indices = (
        front if front < batch else front - at + batch if at <= front < at + named else None
    )
    least = max(excess_of(gpu, y_shape, ITEMSIZE[x.dtype]), excess(gpu, indices))
    found: list[GpuArray] = []
    for one in parts_of(y_shape[cut], least):
        some = x if of_x is None else part_of(gpu, x, of_x - len(x.shape), *one)
        places = indices
        if of_indices is not None:
            places = part_of(gpu, indices, of_indices - len(indices.shape), *one)
        found.append(_taken_on_device(gpu, some, places, at, batch, wraps))
    return joined(gpu, found, cut)


def _words(array: GpuArray) -> GpuArray:
    from wgsl_kernels.backends.webgpu.arrays.array import words_of_bytes

    return words_of_bytes(array)


def take_rows(gpu: Gpu, arrays: dict[str, GpuArray], sizes: Sizes, *, wraps: bool = False) -> None:
    """Fill ``y`` with the rows of ``x`` that ``indices`` names; if it wraps, also from the end.

    Of an ``x`` above the binding limit one window after the other is bound, whose rows alone are
    taken then.
    """
    y = arrays["y"]
    if y.size == 0:
        return  # x may have more rows than a field holds, each without elements
    is_vec4 = sizes.inner % 4 == 0 and y.dtype != "complex64"
    units = y.size // 4 if is_vec4 else y.size
    turns = gpu.policy.units_moved("GatherV2")
    whole = max(sizes.batch * sizes.outer * sizes.length, 1)
    rows, row_bytes, arrays = whole, 0, dict(arrays)
    if arrays["x"].size * LARGEST_ELEMENT > gpu.device.largest_binding:
        arrays["x"], rows, row_bytes = in_windows(gpu, arrays["x"], whole, sizes.inner)
    is_windowed = rows < whole
    for first in range(0, whole, rows):
        kept = min(rows, whole - first)
        gpu.dispatch(
            "indexing/gather/gather_v2.wesl",
            arrays,
            configuration={"VEC4": is_vec4, "WINDOW": is_windowed},
            params={
                **asdict(sizes),
                "units": units,
                "turns": turns,
                "first_row": first,
                "kept_rows": kept,
                "wrapped": sizes.length if wraps else 0,
            },
            groups=gpu.grid(math.ceil(units / turns), 64),
            windows={"x": (first * row_bytes, kept * row_bytes)} if is_windowed else None,
        )


def in_windows(gpu: Gpu, x: GpuArray, rows: int, inner: int) -> tuple[GpuArray, int, int]:
    """Return ``x``, and of how many rows a window is that can be bound, and a row's bytes.

    Args:
        gpu: The device.
        x: [rows, inner], in any shape.
        rows: How many rows it has.
        inner: The elements of a row.
    """
    from wgsl_kernels.backends.webgpu.programs.arguments import bound_bytes

    largest, row_bytes = gpu.device.largest_binding, inner * ITEMSIZE[x.dtype]
    if bound_bytes(x.shape, x.dtype, x.layout) <= largest:
        return x, rows, row_bytes
    step = ALIGNMENT // math.gcd(ALIGNMENT, row_bytes)
    return gpu.contiguous(x), largest // row_bytes // step * step or rows, row_bytes


@gradient("GatherV2")
def _gather_v2_grad(
    dy: Tensor,
    x_shape: Shape,
    indices: Tensor,
    axis: int,
    batch_dims: int,
    wrap_negative_indices: bool,
) -> tuple[Tensor, None]:
    # Each slice of dy is added to the row of x that it was taken from; batches are told apart by
    # counting rows through all of them.
    if dy.size == 0:
        return creation.zeros(x_shape, dtype=dy.dtype), None
    sizes = _sizes(x_shape, indices.shape, axis, batch_dims)
    batch, length = sizes.batch, sizes.length
    ids = shapes.reshape(_from_front(indices, length, wrap_negative_indices), (batch, sizes.rows))
    if batch > 1:
        ids = ids + shapes.reshape(ranges.arange(0, batch * length, length), (batch, 1))
    blocks = _swapped(shapes.reshape(dy, (batch, sizes.outer, sizes.rows, sizes.inner)))
    total = run(
        "UnsortedSegmentSum",
        shapes.reshape(blocks, (batch * sizes.rows, sizes.outer * sizes.inner)),
        shapes.reshape(ids, (-1,)),
        num_segments=batch * length,
    )
    found = _swapped(shapes.reshape(total, (batch, length, sizes.outer, sizes.inner)))
    return shapes.reshape(found, x_shape), None


def _from_front(indices: Tensor, length: int, wraps: bool) -> Tensor:
    """Return indices in [-length, length) that count from the front, in one map."""
    if not wraps or indices.dtype == "uint8":
        return indices
    return cast.astype(indices, "int32", copy=False) % length


def _swapped(x: Tensor) -> Tensor:
    return shapes.permute_dims(x, (0, 2, 1, 3))


@public(numpy="take_along_axis", method=True)
def take_along_axis(x: TensorLike, indices: TensorLike, axis: int = -1) -> Tensor:
    """Return the elements of ``x`` that ``indices`` names along ``axis``, one for each index.

    Args:
        x: Any tensor.
        indices: int32, of the rank of ``x``, at least minus the length of ``axis`` and below it;
            negative ones count from the end. The other axes of both broadcast against each other.
        axis: The axis along which to take.

    Returns:
        The shape to which both broadcast, ``axis`` being as long as in ``indices``.

    Raises:
        ShapeError: The ranks differ, or the axes do not broadcast.
        IndexOutOfRange: An index is outside the axis; where the indices are on a GPU, raised by
            the next read.

    Example:
        >>> take_along_axis(tensor([[1.0, 2.0, 3.0]]), tensor([[2, 0]])).tolist()
        [[3.0, 1.0]]
    """
    given, places = as_tensor(x), as_tensor(indices)
    if given.ndim == places.ndim and given.ndim:
        at = normalize_axis("TakeAlongAxis", axis, given.ndim)
        kept = given.shape[at], places.shape[at]
        others = [(*one.shape[:at], 1, *one.shape[at + 1 :]) for one in (given, places)]
        if others[0] != others[1]:
            common = broadcast(
                "TakeAlongAxis",
                x=Spec(others[0], given.dtype),
                indices=Spec(others[1], places.dtype),
            )
            shape_x, shape_indices = ((*common[:at], n, *common[at + 1 :]) for n in kept)
            given = shapes.broadcast_to(given, shape_x)
            places = shapes.broadcast_to(places, shape_indices)
    return run("TakeAlongAxis", given, places, axis=axis, wrap_negative_indices=True)


@signature("TakeAlongAxis")
@exact(*NUMBERS)
def _take_along_axis_signature(
    x: Spec, indices: Spec, /, *, axis: int = -1, wrap_negative_indices: bool = False
) -> Spec:
    del wrap_negative_indices
    require_dtype("TakeAlongAxis", "indices", indices, "int32")
    at = normalize_axis("TakeAlongAxis", axis, x.ndim)
    if indices.ndim != x.ndim or (*x.shape[:at], *x.shape[at + 1 :]) != (
        *indices.shape[:at],
        *indices.shape[at + 1 :],
    ):
        raise ShapeError(
            f"TakeAlongAxis: x has shape {show(x.shape)} and indices {show(indices.shape)}; want "
            f"the same but for axis {at}."
        )
    return x.like(shape=indices.shape)


@cpu_kernel("TakeAlongAxis")
def _take_along_axis_cpu(
    x: Array, indices: Array, *, axis: int, wrap_negative_indices: bool
) -> Array:
    shapes_of, wraps = {"x": x.shape, "indices": indices.shape}, wrap_negative_indices
    check_indices("TakeAlongAxis", "indices", indices, x.shape[axis], shapes_of, wraps=wraps)
    return np.take_along_axis(x, indices, axis)


@wgsl_kernel("TakeAlongAxis")
def _take_along_axis_webgpu(
    gpu: Gpu, x: GpuArray, indices: GpuArray, *, axis: int, wrap_negative_indices: bool
) -> GpuArray:
    at, wraps = axis % len(x.shape), wrap_negative_indices
    length = x.shape[at]
    shapes_of = {"x": x.shape, "indices": indices.shape}

    def check(values: Array) -> None:
        check_indices("TakeAlongAxis", "indices", values, length, shapes_of, wraps=wraps)

    gpu.check_known(indices, check)
    y = gpu.empty(indices.shape, x.dtype)
    if y.size:
        inner = math.prod(x.shape[at + 1 :])
        gpu.dispatch(
            "indexing/gather/take_along_axis.wesl",
            {"x": x, "indices": indices, "y": y},
            params={
                "length": length,
                "rows": y.shape[at],
                "inner": inner,
                "wrapped": length if wraps else 0,
            },
        )
    return y


@gradient("TakeAlongAxis")
def _take_along_axis_grad(
    dy: Tensor, x_shape: Shape, indices: Tensor, axis: int, wrap_negative_indices: bool
) -> tuple[Tensor, None]:
    # Each element of dy is added to the one it was taken from.
    size = math.prod(x_shape)
    if not dy.size:
        return creation.zeros(x_shape, dtype=dy.dtype), None
    at = axis % len(x_shape)
    length, inner = x_shape[at], math.prod(x_shape[at + 1 :])
    found = _from_front(indices, length, wrap_negative_indices)
    rows = shapes.reshape(found, (-1, indices.shape[at], inner))
    outer = ranges.arange(0, size, length * inner)
    places = rows * inner + shapes.reshape(outer, (-1, 1, 1)) + ranges.arange(inner)
    total = run(
        "UnsortedSegmentSum",
        shapes.reshape(dy, (-1,)),
        shapes.reshape(places, (-1,)),
        num_segments=size,
    )
    return shapes.reshape(total, x_shape), None
