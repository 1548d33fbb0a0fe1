"""Images read at places between their elements: from boxes, projective transforms, rotations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.threads import each
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.values.dtypes import is_float
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.ops.images.resampling import LARGEST
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec

FILL_MODES = ("constant", "reflect", "wrap", "nearest")
METHODS = ("nearest", "bilinear")
_GROUP = 64
_PART = 1 << 16
"""Elements that a thread of the CPU reads at a time."""


class Places(NamedTuple):
    """Where elements come from, along one axis: between ``low`` and the element behind it.

    The arrays broadcast to [images, height, width].
    """

    low: Array
    share: Array
    is_inside: Array


def check_images(kernel: str, image: Spec, size: Sequence[int], name: str) -> None:
    """Refuse images or sizes that cannot be.

    Raises:
        ShapeError, DTypeError, ArgumentError: They cannot.
    """
    require_rank(kernel, "image", image, 4)
    require_dtype(kernel, "image", image, "float32", "int32")
    if not all(0 < one <= LARGEST for one in image.shape[1:3]):
        raise ShapeError(
            f"{kernel}: image has shape {show(image.shape)}; want a height and a width in [1, "
            f"{LARGEST}]."
        )
    if len(size) != 2 or not all(0 < one <= LARGEST for one in size):
        raise ArgumentError(
            f"{kernel}: {name} is {show(size)}; want two lengths in [1, {LARGEST}]."
        )


def check_word(kernel: str, name: str, value: str, known: Sequence[str]) -> None:
    """Refuse an option that is none of those known.

    Raises:
        ArgumentError: It is none.
    """
    if value not in known:
        want = " or ".join(repr(one) for one in known)
        raise ArgumentError(f"{kernel}: {name} is {shown(value)}; want {want}.")


def check_fill(kernel: str, name: str, image: Spec, *numbers: float) -> None:
    """Refuse numbers for outside of an image that its elements cannot be.

    Raises:
        ArgumentError: The image is of int32, and one of them is not.
    """
    for one in numbers if image.dtype == "int32" else ():
        if not -(2**31) <= one < 2**31 or one != math.floor(one):
            raise ArgumentError(
                f"{kernel}: {name} is {one} and image has dtype int32; want whole numbers in "
                f"[{-(2**31)}, {2**31 - 1}]."
            )


def between_dtype(dtype: DType, places: DType) -> DType:
    """Return the dtype of what lies between elements of images, given that of the places."""
    if is_float(dtype):
        return dtype
    return "float64" if places == "float64" else "float32"


@silent
def whole_quotient(numerator: Array, divisor: Array | float) -> Array:
    """Return ``numerator / divisor`` rounded down, exact where both are whole."""
    found = np.floor(numerator / divisor)
    low, high = found * divisor > numerator, (found + 1) * divisor <= numerator
    return np.asarray(np.where(low, found - 1, np.where(high, found + 1, found)))


@silent
def places_in_boxes(begin: Array, end: Array, length: int, size: int, linear: bool) -> Places:
    """Return the places of ``size`` elements at even distances in each box, [boxes, size]."""
    kind = np.result_type(begin.dtype, np.float32).type
    begin, end = begin.astype(kind)[:, np.newaxis], end.astype(kind)[:, np.newaxis]
    divisor, last = kind(max(size - 1, 1)), kind(length - 1)
    i = np.arange(size, dtype=kind)
    part = begin * (divisor - i) + end * i if size > 1 else kind(0.5) * (begin + end)
    numerator = part * last
    inside = (numerator >= 0) & (numerator <= last * divisor)
    if linear:
        low = whole_quotient(numerator, divisor)
        return Places(low, (numerator - low * divisor) / divisor, inside)
    low = whole_quotient(2 * numerator + divisor, 2 * divisor)
    return Places(low, np.zeros_like(low), inside)


@silent
def places_at(place: Array, length: int, fill_mode: str, linear: bool) -> Places:
    """Return places that may lie outside of an axis, where the fill mode has the last word.

    One that is not finite is outside in every mode.
    """
    kind = place.dtype.type
    inside = np.isfinite(place)
    place = np.where(inside, place, kind(0))
    x = np.clip(_within(place, length, fill_mode), kind(-2), kind(length + 1))
    low = np.floor(x)
    if linear:
        return Places(low, x - low, inside)
    return Places(np.where(x - low >= kind(0.5), low + 1, low), np.zeros_like(low), inside)


def _within(place: Array, length: int, fill_mode: str) -> Array:
    """Return where elements outside of an axis come from.

    Source: TensorFlow, core/kernels/image/image_ops.h, MapCoordinate.
    """
    size, last = place.dtype.type(length), place.dtype.type(length - 1)
    if fill_mode == "constant":
        return place
    if fill_mode == "nearest":
        return np.clip(place, 0, last)
    if length == 1:
        return np.where(place == 0, place, np.zeros_like(place))
    if fill_mode == "reflect":
        x = np.where(place < 0, -place - 1, place)
        x = x - 2 * size * np.floor(x / (2 * size))
        x = np.where(x >= size, 2 * size - x - 1, x)
    else:
        before = place + size * (whole_quotient(-place, last) + 1)
        x = np.where(place < 0, before, place - size * whole_quotient(place, last))
    outside = (place < 0) | (place > last)
    return np.where(outside, np.clip(x, 0, last), place)


@silent
def sampled(
    images: Array, numbers: Array, rows: Places, columns: Places, fill: Array, linear: bool
) -> Array:
    """Return images at places.

    Args:
        images: [count, height, width, channels].
        numbers: Which image each is taken from, [images].
        rows: Where its rows come from.
        columns: Where its columns do.
        fill: What is outside, by channel.
        linear: Whether places lie between elements.
    """
    _, height, width, channels = images.shape
    shape = np.broadcast_shapes((len(numbers), 1, 1), rows.low.shape, columns.low.shape)
    dtype = np.result_type(rows.share, np.float32) if linear and _is_whole(images) else images.dtype
    y = np.empty((*shape, channels), dtype)
    flat = images.reshape(math.prod(images.shape[:3]), channels)
    filling = np.broadcast_to(fill, (channels,))
    lines = _lines(rows, numbers.reshape(-1, 1, 1) * height, height, linear)
    across = _lines(columns, np.zeros((), np.intp), width, linear)

    def fill_part(part: slice) -> None:
        own = [one.of(part, width) for one in lines]
        found = [
            [_elements(flat, line, column.of(part, 1), filling) for column in across]
            for line in own
        ]
        here = y[:, part]
        inside = _cut(rows.is_inside, part) & _cut(columns.is_inside, part)
        here[...] = _blended(found, _cut(rows.share, part), _cut(columns.share, part))
        if not inside.all():
            here[~np.broadcast_to(inside, here.shape[:3])] = filling

    step = max(_PART // max(shape[0] * shape[2] * channels, 1), 1)
    each(fill_part, [slice(at, at + step) for at in range(0, shape[1], step)])
    return y


def _is_whole(images: Array) -> bool:
    return images.dtype.kind == "i"


class _SampledLine(NamedTuple):
    """Elements along one axis: their places, cut to the axis, and which of these lie in it."""

    place: Array
    is_inside: Array

    def of(self, part: slice, step: int) -> _SampledLine:
        """Return those of some rows of the result; places are ``step`` elements apart."""
        return _SampledLine(_cut(self.place, part) * step, _cut(self.is_inside, part))


def _lines(places: Places, first: Array, length: int, linear: bool) -> list[_SampledLine]:
    """Return the element at each place and, if ``linear``, the one behind it."""
    low = places.low.astype(np.intp)
    found: list[_SampledLine] = []
    for one in (low, low + 1) if linear else (low,):
        cut = np.clip(one, 0, length - 1)
        found.append(_SampledLine(cut + first, cut == one))
    return found


def _cut(x: Array, part: slice) -> Array:
    """Return what of an array that broadcasts to [images, height, width] is of some rows."""
    return x if x.ndim < 2 or x.shape[-2] == 1 else x[..., part, :]


def _elements(flat: Array, line: _SampledLine, column: _SampledLine, filling: Array) -> Array:
    found = np.take(flat, line.place + column.place, axis=0)
    inside = line.is_inside & column.is_inside
    if not inside.all():
        found[~np.broadcast_to(inside, found.shape[:-1])] = filling
    return found


def _blended(found: list[list[Array]], down: Array, across: Array) -> Array:
    """Return what lies between elements; one without a share is not looked at."""
    if len(found) == 1:
        return found[0][0]
    upper, lower = (_between(one[0], one[1], across[..., np.newaxis]) for one in found)
    return _between(upper, lower, down[..., np.newaxis])


def _between(a: Array, b: Array, share: Array) -> Array:
    a, b = a.astype(share.dtype, copy=False), b.astype(share.dtype, copy=False)
    y = a * (1 - share)
    y += b * share
    return y if (share != 0).all() else np.where(share == 0, a, y)


def sampled_on_device(
    gpu: Gpu,
    arrays: dict[str, GpuArray],
    shape: Shape,
    configuration: dict[str, bool],
    fill: tuple[float, ...],
    params: dict[str, object],
    dtype: DType,
) -> GpuArray:
    """Return images [number, height, width] of what ``arrays["image"]`` has at places."""
    count, height, width, channels = arrays["image"].shape
    y = gpu.empty((*shape, channels), dtype)
    if y.size:
        fields = {
            "channels": channels,
            "count": count,
            "shape": (height, width),
            "size": shape[1:],
            "fill": tuple(map(int, fill)) if dtype == "int32" else fill,
            "fill_mode": 0,
            "transforms": 0,
            "turn": (0.0, 0.0),
            "centre": (0.0, 0.0),
        }
        gpu.dispatch(
            "images/sampling/sample.wesl",
            {**arrays, "y": y},
            configuration={**configuration, "VEC4": channels % 4 == 0},
            params={**fields, **params},
            groups=gpu.grid(y.size // channels * math.ceil(channels / 4), _GROUP),
        )
    return y
