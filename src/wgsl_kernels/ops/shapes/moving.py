"""Elements moved along axes: folded, rolled, repeated, flipped; axes moved and broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.control.parts import excess, joined, part_of
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.drivers.host_memory import check_room
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import exact, takes_bytes
from wgsl_kernels.engine.registry.gradients import gradient, no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import integers
from wgsl_kernels.engine.values.dtypes import BYTES
from wgsl_kernels.engine.values.shapes import (
    broadcast,
    normalize_axis,
    require_dtype,
    require_rank,
    show,
)
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.rules.specs import COMPLEX, NUMBERS
from wgsl_kernels.ops.shapes import joining, slicing
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Shape

Pairs = tuple[tuple[int, int], ...]
Ints = int | Sequence[int]
Mode = Literal["reflect", "symmetric", "wrap", "edge"]

MODES = ("reflect", "symmetric", "wrap", "edge")
"""What lies beyond the ends of an axis, by its number in folded.wesl."""


@public()
def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """Return tensors broadcast against each other.

    Raises:
        ShapeError: They do not broadcast.

    Example:
        >>> [one.shape for one in broadcast_arrays(wk.ones((2, 1)), wk.ones((3,)))]
        [(2, 3), (2, 3)]
    """
    given = [as_tensor(one) for one in arrays]
    specs = {f"arrays[{index}]": Spec(one.shape, one.dtype) for index, one in enumerate(given)}
    shape = broadcast("broadcast_arrays", **specs) if given else ()
    return [shapes.broadcast_to(one, shape) for one in given]


@public(tfjs="broadcastArgs")
def broadcast_args(s0: TensorLike, s1: TensorLike) -> Tensor:
    """Return the shape to which tensors of the shapes ``s0`` and ``s1`` broadcast, as a tensor.

    Args:
        s0: int32, [axes].
        s1: int32, [axes].

    Raises:
        ShapeError: They do not broadcast, or are no vectors.

    Example:
        >>> broadcast_args([2, 1], [5, 1, 3]).tolist()
        [5, 2, 3]
    """
    return run("BroadcastArgs", s0, s1)


@signature("BroadcastArgs")
def _broadcast_args_signature(s0: Spec, s1: Spec, /) -> Spec:
    for name, one in (("s0", s0), ("s1", s1)):
        require_dtype("BroadcastArgs", name, one, "int32")
        require_rank("BroadcastArgs", name, one, 1)
    return s0.like(shape=(max(s0.size, s1.size),))


@cpu_kernel("BroadcastArgs")
def _broadcast_args_cpu(s0: Array, s1: Array) -> Array:
    count = max(s0.size, s1.size)
    a, b = (np.concatenate([np.ones(count - one.size, np.int32), one]) for one in (s0, s1))
    if ((a != b) & (a != 1) & (b != 1)).any():
        raise ShapeError(
            f"BroadcastArgs: s0 is {s0.tolist()} and s1 {s1.tolist()}; want equal lengths or 1, "
            "counted from the last axis."
        )
    return np.where(a == 1, b, a)


@wgsl_kernel("BroadcastArgs", repeats=False)
def _broadcast_args_webgpu(gpu: Gpu, s0: GpuArray, s1: GpuArray) -> GpuArray:
    """Compute on the host: whether shapes broadcast is known to no dispatch beforehand."""
    return gpu.upload(_broadcast_args_cpu(gpu.read(s0), gpu.read(s1)), "int32")


no_gradient("BroadcastArgs", because="shapes are integers")


@public(tfjs="image.flipLeftRight")
def flip_left_right(image: TensorLike) -> Tensor:
    """Return images with their columns in reverse order.

    Args:
        image: [batch, height, width, channels].

    Example:
        >>> flip_left_right(tensor([[[[1.0], [2.0], [3.0]]]])).tolist()
        [[[[3.0], [2.0], [1.0]]]]
    """
    return run("FlipLeftRight", image)


@signature("FlipLeftRight")
@takes_bytes
def _flip_left_right_signature(image: Spec, /) -> Spec:
    require_rank("FlipLeftRight", "image", image, 4)
    return image


@cpu_kernel("FlipLeftRight")
def _flip_left_right_cpu(image: Array) -> Array:
    return image[:, :, ::-1]


@wgsl_kernel("FlipLeftRight", repeats=False)
def _flip_left_right_webgpu(gpu: Gpu, image: GpuArray) -> GpuArray:
    before, step, after = image.strides[:2], image.strides[2], image.strides[3:]
    offset = image.offset + (image.shape[2] - 1) * step
    return gpu.view(image, image.shape, (*before, -step, *after), offset)


@gradient("FlipLeftRight")
def _flip_left_right_grad(dy: Tensor) -> Tensor:
    return flip_left_right(dy)


@public(tfjs="mirrorPad")
def mirror_pad(x: TensorLike, paddings: Sequence[Sequence[int]], mode: str) -> Tensor:
    """Return ``x`` with its mirror image around it: TensorFlow.js's call of `pad` with a mode.

    Args:
        x: Any shape.
        paddings: For each axis how many elements come before and how many after.
        mode: Of those of `pad` all but "constant".

    Raises:
        ShapeError: ``paddings`` is not a pair per axis, or an axis to be padded is empty.
        ArgumentError: Another ``mode``.

    Example:
        >>> mirror_pad(tensor([1, 2, 3]), [(2, 1)], "reflect").tolist()
        [3, 2, 1, 2, 3, 2]
    """
    return run("MirrorPad", x, paddings=paddings, mode=mode)


@signature("MirrorPad")
@exact(*NUMBERS)
def _mirror_pad_signature(x: Spec, /, *, paddings: Any, mode: str) -> Spec:
    require_dtype("MirrorPad", "x", x, *COMPLEX)
    if mode not in MODES:
        raise ArgumentError(
            f"MirrorPad: mode is {shown(mode)}; want 'reflect', 'symmetric', 'wrap' or 'edge'."
        )
    if not joining.are_pairs(paddings, x.ndim):
        raise ShapeError(
            f"MirrorPad: paddings is {shown(paddings)} and x has shape {show(x.shape)}; want for "
            "each axis a pair of lengths of at least 0."
        )
    if any(any(pair) and not length for pair, length in zip(paddings, x.shape, strict=True)):
        raise ShapeError(
            f"MirrorPad: paddings is {shown(paddings)} and x has shape {show(x.shape)}, which has "
            f"no elements to copy; want mode 'constant'."
        )
    grown = zip(x.shape, paddings, strict=True)
    return x.like(shape=tuple(before + length + after for length, (before, after) in grown))


@cpu_kernel("MirrorPad")
def _mirror_pad_cpu(x: Array, *, paddings: Pairs, mode: str) -> Array:
    return np.pad(x, paddings, cast("Mode", mode)) if x.ndim else x


@wgsl_kernel("MirrorPad")
def _mirror_pad_webgpu(gpu: Gpu, x: GpuArray, *, paddings: Pairs, mode: str) -> GpuArray:
    grown = zip(x.shape, paddings, strict=True)
    y_shape = tuple(before + n + after for n, (before, after) in grown)
    spare = 1 if mode == "reflect" else 0
    is_long = any(max(pair) > n - spare for n, pair in zip(x.shape, paddings, strict=True))
    return _folded(gpu, x, y_shape, [before for before, _ in paddings], mode, is_long=is_long)


def _folded(
    gpu: Gpu,
    x: GpuArray,
    y_shape: Shape,
    before: Sequence[int],
    mode: str,
    *,
    is_long: bool = False,
) -> GpuArray:
    if len(y_shape) > joining.AXES:
        return _folded_with_fewer_axes(gpu, x, y_shape, before, mode, is_long=is_long)
    y = gpu.empty(y_shape, x.dtype)
    if y.size and x.shape:
        params = {
            "mode": MODES.index(mode),
            "before": (0,) * (joining.AXES - len(before)) + tuple(before),
        }
        gpu.dispatch(
            "shapes/moving/folded.wesl",
            {"x": x, "y": y},
            params=params,
            configuration={"LONG": is_long},
        )
        return y
    return y if x.shape else gpu.view(x, x.shape, x.strides, x.offset)


def _folded_with_fewer_axes(
    gpu: Gpu, x: GpuArray, y_shape: Shape, before: Sequence[int], mode: str, *, is_long: bool
) -> GpuArray:
    """Join axes that stay as they are; where too many are left, go one half after the other."""
    axes = list(zip(x.shape, y_shape, before, strict=True))
    stays = [n == grown and not first for n, grown, first in axes]
    fewer: list[tuple[int, int, int]] = []
    for number, (n, grown, first) in enumerate(axes):
        if number and stays[number - 1] and stays[number]:
            fewer[-1] = (fewer[-1][0] * n, fewer[-1][1] * n, 0)
        else:
            fewer.append((n, grown, first))
    if len(fewer) > joining.AXES:
        changed = [number for number, is_same in enumerate(stays) if not is_same]
        at, none = changed[len(changed) // 2], (0,) * len(axes)
        front = (*y_shape[:at], *x.shape[at:])
        half = _folded(gpu, x, front, (*before[:at], *none[at:]), mode, is_long=is_long)
        return _folded(gpu, half, y_shape, (*none[:at], *before[at:]), mode, is_long=is_long)
    lengths, grown_lengths, firsts = zip(*fewer, strict=True)
    flat = gpu.contiguous(x)
    whole = gpu.view(flat, lengths, row_major(lengths), flat.offset)
    y = _folded(gpu, whole, grown_lengths, firsts, mode, is_long=is_long)
    return gpu.view(y, y_shape, row_major(y_shape), y.offset)


@gradient("MirrorPad")
def _mirror_pad_grad(dy: Tensor, x_shape: Shape, paddings: Pairs, mode: str) -> Tensor:
    # What was copied to both sides is moved back and added, segment by segment, axis by axis.
    for axis, (length, (before, after)) in enumerate(zip(x_shape, paddings, strict=True)):
        if before or after:
            segments = list(_segments(mode, length, before, after))
            first = sum(one.place < 0 for one in segments)
            sizes = [one.size for one in segments]
            sizes.insert(first, length)
            parts = list(slicing.split(dy, sizes, axis=axis))
            inner = parts.pop(first)
            for segment, part in zip(segments, parts, strict=True):
                inner = inner + _moved_back(segment, part, length, axis)
            dy = inner
    return dy


class _AxisSegment(NamedTuple):
    """Places in a row, outside an axis, of elements in a row.

    Attributes:
        place: The first place, counted from the axis's first element.
        size: How many.
        first: The least index of the elements.
        turn: What the elements are: in order, in reverse order, or the same one throughout.
    """

    place: int
    size: int
    first: int
    turn: Literal["forward", "backward", "same"]


def _segments(mode: str, length: int, before: int, after: int) -> Iterator[_AxisSegment]:
    """Yield the segments before an axis and behind it."""
    step = length - 1 if mode == "reflect" else length
    for place, end in ((-before, 0), (length, length + after)):
        if mode == "edge" or not step:
            if place < end:
                yield _AxisSegment(place, end - place, 0 if end == 0 else length - 1, "same")
            continue
        while place < end:
            block = place // step
            count = min((block + 1) * step, end) - place
            at = place - block * step
            if mode == "wrap" or block % 2 == 0:
                yield _AxisSegment(place, count, at, "forward")
            else:
                yield _AxisSegment(place, count, length - at - count, "backward")
            place += count


def _moved_back(segment: _AxisSegment, part: Tensor, length: int, axis: int) -> Tensor:
    """Return the gradient of a segment as one of the axis."""
    if segment.turn == "same":
        part = part.sum(axis=axis, keepdims=True)
    elif segment.turn == "backward":
        part = shapes.flip(part, axis=axis)
    ends = [(0, 0)] * part.ndim
    ends[axis] = (segment.first, length - segment.first - part.shape[axis])
    return joining.pad(part, ends)


@public(numpy="moveaxis", method=True)
def moveaxis(x: TensorLike, source: Ints, destination: Ints) -> Tensor:
    """Return ``x`` with the axes ``source`` moved to the places ``destination``, others in order.

    Raises:
        ArgumentError: The two differ in length, or an axis is out of range or given twice.

    Example:
        >>> moveaxis(wk.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    given = as_tensor(x)
    axes = [normalize_axis("moveaxis", one, given.ndim) for one in _ints("source", source)]
    places = [
        normalize_axis("moveaxis", one, given.ndim) for one in _ints("destination", destination)
    ]
    if len(axes) != len(places) or len(set(axes)) < len(axes) or len(set(places)) < len(places):
        raise ArgumentError(
            f"moveaxis: source is {shown(source)}, destination {shown(destination)}; want as many "
            "axes as places, each once."
        )
    order = [axis for axis in range(given.ndim) if axis not in axes]
    for place, axis in sorted(zip(places, axes, strict=True)):
        order.insert(place, axis)
    return shapes.permute_dims(given, order)


def _ints(name: str, given: Ints) -> tuple[int, ...]:
    return integers("moveaxis", name, given)


@public(numpy="repeat", method=True)
def repeat(x: TensorLike, repeats: Any, axis: int | None = None) -> Tensor:
    """Return ``x`` with each element along ``axis`` repeated.

    Args:
        x: Any tensor.
        repeats: How often: a number, or int32 of one for each element along ``axis``. Those on a
            device are read, since the length of the result depends on them.
        axis: The axis; None flattens ``x`` first.

    Raises:
        ArgumentError: A number is below 0.
        ShapeError: ``repeats`` has not one number for each element.

    Example:
        >>> repeat(tensor([1, 2]), 2).tolist(), repeat(tensor([1, 2]), [3, 1]).tolist()
        ([1, 1, 2, 2], [1, 1, 1, 2])
    """
    given = as_tensor(x)
    if axis is None:
        given, axis = shapes.reshape(given, (-1,)), 0
    at = normalize_axis("repeat", axis, given.ndim)
    counts = integers(
        "repeat", "repeats", repeats.tolist() if isinstance(repeats, Tensor) else repeats
    )
    if any(one < 0 for one in counts):
        raise ArgumentError(f"repeat: repeats is {shown(repeats)}; want numbers of at least 0.")
    length = given.shape[at]
    if len(counts) not in (1, length):
        raise ShapeError(
            f"repeat: repeats has {len(counts)} numbers, and x has shape {show(given.shape)}; want "
            f"1 or {length} for axis {at}."
        )
    if len(counts) == 1:
        front, back = given.shape[: at + 1], given.shape[at + 1 :]
        apart = shapes.expand_dims(given, axis=at + 1)
        spread = shapes.broadcast_to(apart, (*front, counts[0], *back))
        return shapes.reshape(spread, (*front[:-1], length * counts[0], *back))
    check_room((sum(counts),), "int32")
    rows = np.repeat(np.arange(length, dtype=np.int32), counts)
    return given.take(as_tensor(rows), axis=at)


@public(numpy="roll", method=True)
def roll(x: TensorLike, shift: Ints, axis: Ints | None = None) -> Tensor:
    """Return ``x`` with its elements moved along ``axis``; those beyond the end come in again.

    Args:
        x: Any tensor.
        shift: How far, for each axis; one number serves all.
        axis: The axes; None rolls the flattened elements and keeps the shape.

    Raises:
        ArgumentError: ``shift`` has not one number for each axis.

    Example:
        >>> roll(tensor([1, 2, 3, 4]), 1).tolist()
        [4, 1, 2, 3]
    """
    given = as_tensor(x)
    if axis is None:
        flat = shapes.reshape(given, (-1,))
        return shapes.reshape(run("Roll", flat, shift=shift, axis=(0,)), given.shape)
    return run("Roll", given, shift=shift, axis=axis)


def _shifts(x_shape: Shape, shift: Sequence[int], axis: Sequence[int]) -> list[int]:
    """Return for each axis how far its elements move, in [0, its length)."""
    found = [0] * len(x_shape)
    given = shift if len(shift) == len(axis) else tuple(shift) * len(axis)
    for one, at in zip(given, axis, strict=True):
        place = normalize_axis("Roll", at, len(x_shape))
        found[place] = (found[place] + one) % max(x_shape[place], 1)
    return found


@signature("Roll")
@takes_bytes
@exact(*NUMBERS)
def _roll_signature(x: Spec, /, *, shift: Sequence[int], axis: Sequence[int]) -> Spec:
    require_dtype("Roll", "x", x, *COMPLEX)
    if len(shift) not in (1, len(axis)):
        raise ArgumentError(
            f"Roll: shift is {shown(shift)} and axis {shown(axis)}; want one number for each axis."
        )
    _shifts(x.shape, shift, axis)
    return x


@cpu_kernel("Roll")
def _roll_cpu(x: Array, *, shift: Sequence[int], axis: Sequence[int]) -> Array:
    return np.roll(x, _shifts(x.shape, shift, axis), tuple(range(x.ndim)))


@wgsl_kernel("Roll")
def _roll_webgpu(gpu: Gpu, x: GpuArray, *, shift: Sequence[int], axis: Sequence[int]) -> GpuArray:
    shifts = _shifts(x.shape, shift, axis)
    if x.dtype not in BYTES and excess(gpu, x) <= 1:
        return _folded(gpu, x, x.shape, shifts, "wrap")
    for at, one in enumerate(shifts):
        if one and x.size:
            ends = (x.shape[at] - one, one), (0, x.shape[at] - one)
            x = joined(gpu, [part_of(gpu, x, at - len(shifts), *each) for each in ends], at)
    return gpu.view(x, x.shape, x.strides, x.offset)


@gradient("Roll")
def _roll_grad(dy: Tensor, shift: Sequence[int], axis: Sequence[int]) -> Tensor:
    return run("Roll", dy, shift=tuple(-one for one in shift), axis=axis)
