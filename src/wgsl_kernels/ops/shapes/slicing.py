"""Ops that take parts of a tensor: on webgpu they move no data."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.environment.parameters import takes
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.facts import takes_bytes
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import normalize_axis, show
from wgsl_kernels.ops.shapes import creation, joining, shape
from wgsl_kernels.ops.shapes.cuts import Cut, strided_cut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

Ints = int | Sequence[int]

PARTS_MAX = 1 << 20
"""Parts of an axis that make a list; an axis may be longer where another is empty."""


@public(tfjs="slice slice1d slice2d slice3d slice4d")
def slice(x: TensorLike, begin: Ints, size: Ints | None = None) -> Tensor:
    """Return the block of ``x`` that starts at ``begin`` and has lengths ``size``.

    Args:
        x: Any tensor.
        begin: Where the block starts, per axis; axes left out start at 0.
        size: The block's lengths; -1, or an axis left out, reaches to the end.

    Raises:
        ShapeError: The block is not inside ``x``.

    Example:
        >>> wk.slice([1, 2, 3, 4], 1, 2).tolist()
        [2, 3]
    """
    return run("Slice", x, begin=begin, size=size)


def _block(shape: Shape, begin: Shape, size: Shape | None) -> tuple[Shape, Shape]:
    """Return start and lengths of a block for every axis of ``shape``."""
    starts, asked = begin, () if size is None else size
    if len(starts) > len(shape) or len(asked) > len(shape):
        raise ShapeError(
            f"Slice: x has shape {show(shape)}, but begin is {show(starts)} and size is "
            f"{show(asked)}; want at most one number per axis."
        )
    starts += (0,) * (len(shape) - len(starts))
    asked += (-1,) * (len(shape) - len(asked))
    sizes = tuple(n - b if s == -1 else s for n, b, s in zip(shape, starts, asked, strict=True))
    for axis, (length, start, count) in enumerate(zip(shape, starts, sizes, strict=True)):
        if start < 0 or count < 0 or start + count > length:
            raise ShapeError(
                f"Slice: begin {start} and size {asked[axis]} leave axis {axis} of x, which has "
                f"shape {show(shape)}; want 0 <= begin and begin + size <= {length}."
            )
    return starts, sizes


@signature("Slice")
@takes_bytes
def _slice_signature(x: Spec, /, *, begin: Shape, size: Shape | None = None) -> Spec:
    return x.like(shape=_block(x.shape, begin, size)[1])


@cpu_kernel("Slice")
def _slice_cpu(x: Array, *, begin: Shape, size: Shape | None) -> Array:
    starts, sizes = _block(x.shape, begin, size)
    return Cut(starts, (1,) * x.ndim, sizes).of(x)


@wgsl_kernel("Slice", repeats=False)
def _slice_webgpu(gpu: Gpu, x: GpuArray, *, begin: Shape, size: Shape | None) -> GpuArray:
    starts, sizes = _block(x.shape, begin, size)
    return gpu.view(x, sizes, *_layout(x, Cut(starts, (1,) * len(sizes), sizes)))


@gradient("Slice")
def _slice_grad(dy: Tensor, x_shape: Shape, begin: Shape, size: Shape | None) -> Tensor:
    starts, sizes = _block(x_shape, begin, size)
    ends = (n - b - s for n, b, s in zip(x_shape, starts, sizes, strict=True))
    return joining.pad(dy, tuple(zip(starts, ends, strict=True)))


@public(tfjs="split", method=True)
def split(x: TensorLike, num_or_size_splits: Ints, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the parts of ``x`` along ``axis``.

    Args:
        x: Any tensor.
        num_or_size_splits: How many equal parts, or the length of each; one may be -1 and then
            takes what is left.
        axis: The axis that is cut.

    Raises:
        ShapeError: The parts do not make up the axis.

    Example:
        >>> [one.tolist() for one in wk.split([1, 2, 3, 4], [1, 3])]
        [[1], [2, 3, 4]]
    """
    return run_many("SplitV", x, num_or_size_splits=num_or_size_splits, axis=axis)


def _part_sizes(x_shape: Shape, splits: Ints, axis: int) -> Shape:
    length = x_shape[axis]
    if isinstance(splits, int):
        if splits < 1 or length % splits or splits > PARTS_MAX:
            raise ShapeError(
                f"SplitV: x has shape {show(x_shape)}; axis {axis} does not split into {splits} "
                "equal parts."
            )
        return (length // splits,) * splits
    sizes = tuple(splits)
    if sizes.count(-1) == 1:
        rest = length - sum(sizes) - 1
        sizes = tuple(rest if size == -1 else size for size in sizes)
    if min(sizes, default=0) < 0 or sum(sizes) != length:
        raise ShapeError(
            f"SplitV: x has shape {show(x_shape)}; parts {show(splits)} do not make up axis "
            f"{axis} of length {length}. At most one may be -1."
        )
    return sizes


def _parts(x_shape: Shape, splits: Ints, axis: int) -> list[Cut]:
    at = normalize_axis("SplitV", axis, len(x_shape))
    sizes = _part_sizes(x_shape, splits, at)
    begins = itertools.accumulate(sizes, initial=0)
    return [Cut.along(x_shape, at, *part) for part in zip(begins, sizes, strict=False)]


@signature("SplitV")
@takes_bytes
def _split_v_signature(
    x: Spec, /, *, num_or_size_splits: int | Sequence[int], axis: int = 0
) -> list[Spec]:
    return [x.like(shape=part.lengths) for part in _parts(x.shape, num_or_size_splits, axis)]


@cpu_kernel("SplitV")
def _split_v_cpu(x: Array, *, num_or_size_splits: Ints, axis: int) -> list[Array]:
    return [part.of(x) for part in _parts(x.shape, num_or_size_splits, axis)]


@wgsl_kernel("SplitV", repeats=False)
def _split_v_webgpu(
    gpu: Gpu, x: GpuArray, *, num_or_size_splits: Ints, axis: int
) -> list[GpuArray]:
    parts = _parts(x.shape, num_or_size_splits, axis)
    return [gpu.view(x, part.lengths, *_layout(x, part)) for part in parts]


@gradient("SplitV", none=True)
def _split_v_grad(
    dys: tuple[Tensor | None, ...], x_shape: Shape, num_or_size_splits: Ints, axis: int
) -> Tensor:
    shapes = [part.lengths for part in _parts(x_shape, num_or_size_splits, axis)]
    return joining.concat(_all_present(dys, shapes), axis=axis)


@public(tfjs="stridedSlice")
def strided_slice(
    x: TensorLike,
    begin: Ints,
    end: Ints,
    strides: Ints | None = None,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """Return every ``strides``-th element of ``x`` from ``begin`` to before ``end``, per axis.

    ``x[1:5:2]`` is the shorter way to write it. Axes left out are taken whole; negative positions
    count from the end and positions outside are moved to the edge, as in Python.

    Args:
        x: Any tensor.
        begin: The first position, per entry.
        end: The position before which to stop, per entry.
        strides: The step, per entry, which may be negative; 1 without it.
        begin_mask: Bit i set: ``begin[i]`` is ignored, the entry starts at the edge.
        end_mask: Bit i set: ``end[i]`` is ignored, the entry reaches to the edge.
        ellipsis_mask: Bit i set: entry i stands for as many whole axes as are left out.
        new_axis_mask: Bit i set: entry i makes a new axis of length 1.
        shrink_axis_mask: Bit i set: entry i takes ``begin[i]`` alone and the axis goes.

    Raises:
        ArgumentError: A step is 0, or the entries do not fit the axes.
        IndexOutOfRange: ``begin`` of a shrunk axis is outside it.

    Example:
        >>> wk.strided_slice([0, 1, 2, 3, 4, 5], 1, 6, 2).tolist()
        [1, 3, 5]

    Source: TensorFlow, core/util/strided_slice_op.cc.
    """
    return run(
        "StridedSlice",
        x,
        begin=begin,
        end=end,
        strides=strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


class _Masks:
    """The attributes that say what the bounds mean, as the signature declares them."""

    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0


def _strided(
    x_shape: Shape, begin: Shape, end: Shape, strides: Shape | None, masks: Mapping[str, int]
) -> tuple[Cut, Shape]:
    in_order = tuple([masks[name] for name in _Masks.__annotations__])
    return strided_cut(x_shape, begin, end, strides, in_order)


@signature("StridedSlice")
@takes_bytes
@takes(_Masks)
def _strided_slice_signature(
    x: Spec, /, *, begin: Shape, end: Shape, strides: Shape | None, **masks: int
) -> Spec:
    return x.like(shape=_strided(x.shape, begin, end, strides, masks)[1])


@cpu_kernel("StridedSlice")
def _strided_slice_cpu(
    x: Array, *, begin: Shape, end: Shape, strides: Shape | None, **masks: int
) -> Array:
    cut, y_shape = _strided(x.shape, begin, end, strides, masks)
    return cut.of(x).reshape(y_shape)


@wgsl_kernel("StridedSlice", repeats=False)
def _strided_slice_webgpu(
    gpu: Gpu, x: GpuArray, *, begin: Shape, end: Shape, strides: Shape | None, **masks: int
) -> GpuArray:
    cut, y_shape = _strided(x.shape, begin, end, strides, masks)
    strides_there, offset = _layout(x, cut)
    steps = shape.reshaped_strides(cut.lengths, strides_there, y_shape)
    assert steps is not None, "axes of length 1 come and go without a copy"
    return gpu.view(x, y_shape, steps, offset)


@gradient("StridedSlice")
def _strided_slice_grad(
    dy: Tensor, x_shape: Shape, begin: Shape, end: Shape, strides: Shape | None, **masks: int
) -> Tensor:
    cut, _ = _strided(x_shape, begin, end, strides, masks)
    return _spread(shape.reshape(dy, cut.lengths), cut, x_shape)


def _spread(dy: Tensor, cut: Cut, x_shape: Shape) -> Tensor:
    """Return zeros of ``x_shape`` with ``dy`` where ``cut`` took it from."""
    if dy.size == 0:
        return creation.zeros(x_shape, dtype=dy.dtype)
    backwards = tuple(axis for axis, step in enumerate(cut.strides) if step < 0)
    spread = shape.flip(dy, axis=backwards) if backwards else dy
    for axis, step in enumerate(cut.strides):
        if abs(step) > 1 and spread.shape[axis] > 1:
            spread = _with_gaps(spread, axis, abs(step))
    first = [
        begin if step > 0 else begin + (length - 1) * step
        for begin, step, length in zip(cut.begin, cut.strides, cut.lengths, strict=True)
    ]
    after = (n - f - s for n, f, s in zip(x_shape, first, spread.shape, strict=True))
    return joining.pad(spread, tuple(zip(first, after, strict=True)))


def _with_gaps(x: Tensor, axis: int, step: int) -> Tensor:
    """Return ``x`` with ``step - 1`` zeros between neighbours along ``axis``."""
    length = x.shape[axis]
    column = shape.expand_dims(x, axis=axis + 1)
    edges = [(0, step - 1) if index == axis + 1 else (0, 0) for index in range(column.ndim)]
    filled = joining.pad(column, edges)
    merged = shape.reshape(filled, (*x.shape[:axis], length * step, *x.shape[axis + 1 :]))
    return slice(merged, 0, (*x.shape[:axis], (length - 1) * step + 1))


@public(tfjs="unstack", method=True)
def unstack(x: TensorLike, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices of ``x`` along ``axis``, each without that axis.

    Example:
        >>> [one.tolist() for one in wk.unstack([[1, 2], [3, 4]])]
        [[1, 2], [3, 4]]
    """
    return run_many("Unpack", x, axis=axis)


def _layers(shape: Shape, axis: int) -> tuple[list[Cut], Shape]:
    if not shape:
        raise ShapeError("Unpack: value has shape []; want at least one axis to cut along.")
    at = normalize_axis("Unpack", axis, len(shape))
    if shape[at] > PARTS_MAX:
        raise ShapeError(
            f"Unpack: value has shape {show(shape)}; want at most {PARTS_MAX} along axis {at}."
        )
    return [Cut.along(shape, at, place, 1) for place in range(shape[at])], (
        *shape[:at],
        *shape[at + 1 :],
    )


@signature("Unpack")
@takes_bytes
def _unpack_signature(value: Spec, /, *, axis: int = 0) -> list[Spec]:
    layers, y_shape = _layers(value.shape, axis)
    return [value.like(shape=y_shape) for _ in layers]


@cpu_kernel("Unpack")
def _unpack_cpu(value: Array, *, axis: int) -> list[Array]:
    layers, y_shape = _layers(value.shape, axis)
    return [layer.of(value).reshape(y_shape) for layer in layers]


@wgsl_kernel("Unpack", repeats=False)
def _unpack_webgpu(gpu: Gpu, value: GpuArray, *, axis: int) -> list[GpuArray]:
    layers, y_shape = _layers(value.shape, axis)
    at = axis % len(value.shape)
    strides = (*value.strides[:at], *value.strides[at + 1 :])
    offsets = (value.offset + layer.begin[at] * value.strides[at] for layer in layers)
    return [gpu.view(value, y_shape, strides, offset) for offset in offsets]


@gradient("Unpack", none=True)
def _unpack_grad(dys: tuple[Tensor | None, ...], value_shape: Shape, axis: int) -> Tensor:
    layers, y_shape = _layers(value_shape, axis)
    return joining.stack(_all_present(dys, [y_shape] * len(layers)), axis=axis)


def _all_present(dys: Sequence[Tensor | None], shapes: Sequence[Shape]) -> list[Tensor]:
    """Return the upstream gradients with zeros where none came."""
    dtype = next(dy.dtype for dy in dys if dy is not None)
    return [
        creation.zeros(want, dtype=dtype) if dy is None else dy
        for dy, want in zip(dys, shapes, strict=True)
    ]


def _layout(x: GpuArray, cut: Cut) -> tuple[tuple[int, ...], int]:
    """Return strides and offset of a part of an array."""
    offset = x.offset + sum([b * s for b, s in zip(cut.begin, x.strides, strict=True)])
    return tuple([a * b for a, b in zip(cut.strides, x.strides, strict=True)]), offset
