"""Convolution on the CPU: windows laid side by side in a matrix, part by part, and products of it.

Where channels come last a window is a row of that matrix, where they come first a column; in both
its elements are in the order of the filter's, which is read as it is. Parts are small enough to
stay in the last cache. Filters of few results are taken element by element instead.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.products import SHARED, WORTH_SHARING, one_thread
from wgsl_kernels.backends.cpu.threads import each
from wgsl_kernels.backends.cpu.windows.few_channels import add_elements, is_narrow
from wgsl_kernels.engine.values.windows import CHANNELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.engine.values.windows import Axis, Sliding

PART = 1 << 20
"""Elements of windows that are laid out at a time, if those are the windows of enough places."""

OWN_PART = 1 << 17
"""The same where parts are shared among threads, each of which multiplies its own.

A part is laid out and multiplied while it is in the cache of one core, and no product waits for the
threads of the BLAS library, which spin: on busy cores that took three times the time.
"""

OWN_CHANNELS = 128
OWN_PRODUCT = 1 << 24
"""Out channels, and multiply-adds, that are worth a thread where all places are one part."""

OWN_LINE = 64
"""Elements of a line of windows that are worth a product of its own."""

SPREAD = 1 << 18
"""Elements of windows that are added to the images at a time."""

PLACES = 256
"""Places below which a product of windows is too small to be quick."""

EVERY = slice(None)

Part = tuple[slice, ...]
"""Images, and places in each along all spatial axes but the last."""


@silent
def convolved_cpu(sliding: Sliding, x: Array, filter: Array, y: Array | None = None) -> Array:
    """Return images, in the format of ``sliding``, convolved with [*window, in, out].

    Args:
        sliding: How the filter moves.
        x: The images.
        filter: The filter.
        y: Where the result goes: some channels of images; by default new ones.
    """
    if y is None:
        y = np.empty(sliding.shape_with(filter.shape[-1]), np.result_type(x, filter))
    if not filter.size:
        y[...] = 0
    if not y.size or not filter.size:
        return y
    if x.strides[-1] != x.itemsize:
        x = np.ascontiguousarray(x)  # BLAS takes rows
    padded = padded_images(sliding, x)
    if is_narrow(sliding, filter):
        with one_thread:
            add_elements(sliding, np.ascontiguousarray(padded), filter, y)
        return y
    matrix = _matrix(filter)
    parts = list(_parts(sliding, filter.shape, OWN_PART))
    views = None if is_matrix(sliding) else _views(sliding, padded)
    buffers: deque[Array] = deque()  # one for each thread

    def columns_of(part: Part, buffer: Array, *, is_shared: bool = False) -> tuple[Array, Array]:
        if views is None:
            return _places(sliding, padded, part), buffer
        return _laid_out(sliding, views, part, filter.shape, buffer, is_shared=is_shared)

    def convolve(part: Part) -> None:
        buffer = buffers.pop() if buffers else np.empty(0, x.dtype)
        columns, buffer = columns_of(part, buffer)
        _multiply(sliding, matrix, columns, _places(sliding, y, part))
        buffers.append(buffer)

    work = sliding.places * matrix.size
    with one_thread if work >= SHARED else nullcontext():
        if len(parts) > 1:
            each(convolve, parts)
            return y
        columns, _ = columns_of(parts[0], np.empty(0, x.dtype), is_shared=True)
        target = _places(sliding, y, parts[0])

        def multiply(channels: slice) -> None:
            own = target[:, channels]
            _multiply(sliding, matrix[:, channels], columns, own)

        each(multiply, _cut(matrix.shape[1], work))
    return y


def _multiply(sliding: Sliding, matrix: Array, columns: Array, y: Array) -> None:
    """Fill ``y`` with the product of windows and some columns of the filter's matrix."""
    if sliding.is_channels_first:
        np.matmul(matrix.T, columns, out=y)
    else:
        np.matmul(columns, matrix, out=y)


def _cut(channels: int, work: int) -> list[slice]:
    """Return out channels in parts that are worth a thread each; the work is multiply-adds."""
    count = max(min(channels // OWN_CHANNELS, work // OWN_PRODUCT), 1)
    step = -(-channels // count)
    return [slice(first, first + step) for first in range(0, channels, step)]


def is_matrix(sliding: Sliding) -> bool:
    """Say whether images are the matrix of their windows already."""
    return all(axis.window == axis.stride == 1 for axis in sliding.axes)


@silent
def filter_gradient_cpu(sliding: Sliding, x: Array, dy: Array, filter_shape: Shape) -> Array:
    """Return the gradient of the filter: each window times the gradient at its place, summed.

    Threads take the lines of the window along its first axis, each of which is a sum of its own,
    where they are worth a product each.
    """
    *window, channels, out = filter_shape
    depth = math.prod(filter_shape[:-1])
    lines = window[0] if depth >= OWN_LINE * window[0] else 1
    total = np.zeros((lines, depth // max(lines, 1), out), np.result_type(x, dy))
    if not (dy.size and total.size):
        return total.reshape(filter_shape)
    views = _views(sliding, padded_images(sliding, x))
    parts = list(_parts(sliding, filter_shape, PART))
    before = 1 if sliding.is_channels_first else len(window) + 1

    def add(line: int) -> None:
        own = views if lines == 1 else _part(views, *(EVERY,) * before, line)
        for part in parts:
            shares = np.matmul(*_operands(sliding, own, dy, part))
            total[line] += shares.sum(axis=0) if shares.ndim > 2 else shares

    with one_thread if lines > 1 or dy.size * channels < WORTH_SHARING else nullcontext():
        each(add, range(lines))
    return total.reshape(filter_shape)


def _operands(sliding: Sliding, views: Array, dy: Array, part: Part) -> tuple[Array, Array]:
    """Return windows and gradients of a part, whose product is its share of the filter's.

    They are [window, places] and [places, out], of each image where channels come first.

    Args:
        sliding: How the filter moves.
        views: The windows, or lines of them, see `_views`.
        dy: The gradient at their places.
        part: The part.
    """
    given = _places(sliding, dy, part)
    if not sliding.is_channels_first:
        return _part(views, *part).reshape(len(given), -1).T, given
    images, *lines = part
    windows = _part(views, images, ..., *lines, EVERY)
    return windows.reshape(len(given), -1, given.shape[-1]), given.swapaxes(1, 2)


@silent
def input_gradient_cpu(sliding: Sliding, dy: Array, filter: Array) -> Array:
    """Return the gradient of the images, in the format of ``sliding``."""
    channels, out = filter.shape[-2:]
    turned = tuple([_turned(axis) for axis in sliding.axes])
    if max(one.stride for one in turned) == 1 and min(one.before for one in turned) >= 0:
        back = replace(sliding, channels=out, axes=turned)
        return convolved_cpu(back, dy, np.flip(filter, _spatial(filter)).swapaxes(-2, -1))
    padded = _room(sliding, channels, np.result_type(dy, filter))
    if dy.size and filter.size:
        matrix = _matrix(filter)
        for part in _parts(sliding, filter.shape, SPREAD):
            given = _places(sliding, dy, part)
            if sliding.is_channels_first:
                _spread(sliding, np.matmul(matrix, given), padded, part, filter.shape)
            else:
                _spread(sliding, np.matmul(given, matrix.T), padded, part, filter.shape)
    gradient = np.ascontiguousarray(_inside(sliding, padded))
    if not np.isfinite(filter).all():
        _multiply_zeros(sliding, gradient, dy, filter)
    return gradient


def _multiply_zeros(sliding: Sliding, gradient: Array, dy: Array, filter: Array) -> None:
    """Make NaN of elements for which a NaN or infinity meets the zeros that surround dy.

    As everywhere else in a convolution, what is not there is 0, and a term like others.
    """
    is_odd = ~np.isfinite(filter)
    met = input_gradient_cpu(sliding, np.ones_like(dy), is_odd.astype(dy.dtype))
    count = is_odd.sum((*_spatial(filter), -1), dtype=dy.dtype)
    if sliding.is_channels_first:
        count = count.reshape(-1, *[1] * len(sliding.axes))
    gradient[met < count] = np.nan


def _turned(axis: Axis) -> Axis:
    """Return how the filter turned over moves along the gradient, with a stride of 1."""
    before = (axis.window - 1) * axis.dilation - axis.before
    return replace(axis, size=axis.out, out=axis.size, before=before)


def _spatial(filter: Array) -> tuple[int, ...]:
    return tuple(range(filter.ndim - 2))


def _matrix(filter: Array) -> Array:
    """Return the filter as [window, out]; where it has to be copied, then in pieces of rows."""
    if abs(filter.strides[-2]) < abs(filter.strides[-1]):  # its last axes are exchanged
        return np.moveaxis(filter, -1, 0).reshape(filter.shape[-1], -1).T
    return filter.reshape(-1, filter.shape[-1])


def _places(sliding: Sliding, y: Array, part: Part) -> Array:
    """Return what of [places, channels], or of [images, channels, places], is of a part."""
    images, *lines = part
    if sliding.is_channels_first:
        one = _part(y, images, EVERY, *lines)
        return one.reshape(*one.shape[:2], -1)
    return y[part].reshape(-1, y.shape[-1])


def _parts(sliding: Sliding, filter_shape: Shape, size: int) -> Iterator[Part]:
    """Yield the parts: some lines of one image, or several whole images."""
    places = max(size // math.prod(filter_shape[:-1]), PLACES)
    together = sliding.axes[-1].out  # places in one step of an axis, from the last but one on
    cuts: list[list[slice]] = []
    for length in (*[axis.out for axis in sliding.axes[-2::-1]], sliding.batch):
        step = min(max(places // together, 1), length)
        cuts.insert(0, [slice(at, min(at + step, length)) for at in range(0, length, step)])
        together *= length
    yield from itertools.product(*cuts)


def _laid_out(
    sliding: Sliding,
    views: Array,
    part: Part,
    filter_shape: Shape,
    buffer: Array,
    *,
    is_shared: bool = False,
) -> tuple[Array, Array]:
    """Return the windows of a part as a matrix, and the room that it is in: this, or a larger.

    Args:
        sliding: How the filter moves.
        views: All windows, see `_views`.
        part: The part.
        filter_shape: The shape of the filter.
        buffer: Room for it.
        is_shared: Whether several threads may copy them.
    """
    first = sliding.is_channels_first
    images, *lines = part
    view = _part(views, images, ..., *lines, EVERY) if first else views[part]
    if view.size > buffer.size:
        buffer = np.empty(view.size, views.dtype)
    windows = buffer[: view.size].reshape(view.shape)
    if is_shared and view.size > OWN_PART:

        def copy(line: int) -> None:
            windows[:, line] = view[:, line]

        each(copy, range(view.shape[1]))
    else:
        windows[...] = view
    depth = math.prod(filter_shape[:-1])
    return windows.reshape((len(view), depth, -1) if first else (-1, depth)), buffer


def _views(sliding: Sliding, padded: Array) -> Array:
    """Return all windows as a view of padded images.

    It is [batch, *places, *window, channels], or, where channels come first,
    [batch, *window, channels, *places].
    """
    if not sliding.is_channels_first:
        return sliding.views(padded)
    views = sliding.views(np.moveaxis(padded, 1, -1))
    count = len(sliding.axes)
    places = range(1, 1 + count)
    return np.moveaxis(views, tuple(places), tuple([place + count + 1 for place in places]))


def _room(sliding: Sliding, channels: int, dtype: np.dtype[np.generic]) -> Array:
    """Return zeros in the shape of the padded images with ``channels`` channels."""
    spatial = [axis.before + axis.size + axis.after for axis in sliding.axes]
    shape = (channels, *spatial) if sliding.is_channels_first else (*spatial, channels)
    return np.zeros((sliding.batch, *shape), dtype)


def padded_images(sliding: Sliding, x: Array) -> Array:
    """Return images with as much padding around as the window needs."""
    if not any(axis.before or axis.after for axis in sliding.axes):
        return x
    channels = x.shape[CHANNELS[sliding.data_format]]
    padded = _room(sliding, channels, x.dtype)
    _inside(sliding, padded)[...] = x
    return padded


def _inside(sliding: Sliding, padded: Array) -> Array:
    """Return the images inside padded ones, as a view."""
    inside = [slice(axis.before, axis.before + axis.size) for axis in sliding.axes]
    if sliding.is_channels_first:
        return _part(padded, ..., *inside)
    return _part(padded, EVERY, *inside)


def _part(x: Array, *index: Any) -> Array:
    """Return part of an array, as a view."""
    return np.asarray(x[index])


def _spread(
    sliding: Sliding, shares: Array, padded: Array, part: Part, filter_shape: Shape
) -> None:
    """Add to padded images what each place of a part gives to each element of its window."""
    images, *lines = part
    *window, channels, _ = filter_shape
    *outer, last = sliding.axes
    first = sliding.is_channels_first
    block = padded[images]
    taps = (*window, channels)
    places = (*[line.stop - line.start for line in lines], last.out)
    shares = shares.reshape((len(block), *taps, *places) if first else (len(block), *places, *taps))
    before = (EVERY,) * (1 if first else len(places) + 1)
    for tap in np.ndindex(*window):
        moved = zip(lines, outer, tap[:-1], strict=True)
        here = (*[_moved(line, axis, one) for line, axis, one in moved], last.places(tap[-1]))
        target = _part(block, EVERY, EVERY, *here) if first else _part(block, EVERY, *here)
        target += _part(shares, *before, *tap)


def _moved(places: slice, axis: Axis, tap: int) -> slice:
    """Return where, along an axis of the padded images, an element of these places' windows is."""
    start = places.start * axis.stride + tap * axis.dilation
    count = places.stop - places.start
    return slice(start, start + (count - 1) * axis.stride + 1, axis.stride)
