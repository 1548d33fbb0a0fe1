"""Convolution on the CPU: windows laid side by side in a matrix, part by part, and products of it.

In ``NHWC`` a window is a row of that matrix, in ``NCHW`` a column, so that both formats are copied
in runs and nothing is transposed. Parts are small enough to stay in the last cache.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.spec import Shape
    from wgsl_kernels.engine.windows import Axis, Sliding

PART = 1 << 20
"""Elements of windows that are laid out at a time, if those are the windows of enough places.

An eighth of it is a tenth faster on an idle core, but on busy ones each product may wait for the
second thread of the BLAS library as long as a slice of time.
"""

SPREAD = 1 << 18
"""Elements of windows that are added to the images at a time."""

PLACES = 256
"""Places below which a product of windows is too small to be quick."""

Part = tuple[slice, slice]
"""Images, and rows of places in each."""


@silent
def convolved_cpu(sliding: Sliding, x: Array, filter: Array) -> Array:
    """Return images, in the format of ``sliding``, convolved with [height, width, in, out]."""
    y = np.empty(sliding.shape_with(filter.shape[3]), np.result_type(x, filter))
    if not filter.size:
        y[...] = 0
    if not y.size or not filter.size:
        return y
    matrix = _matrix(sliding, filter)
    for part, columns in _columns(sliding, x, filter.shape):
        if _is_first(sliding):
            np.matmul(matrix, columns, out=_places(sliding, y, part))
        else:
            np.matmul(columns, matrix, out=_places(sliding, y, part))
    return y


@silent
def filter_gradient_cpu(sliding: Sliding, x: Array, dy: Array, filter_shape: Shape) -> Array:
    """Return the gradient of the filter: each window times the gradient at its place, summed."""
    height, width, channels, out = filter_shape
    total = np.zeros((height * width * channels, out), np.result_type(x, dy))
    if dy.size and total.size:
        for part, columns in _columns(sliding, x, filter_shape):
            given = _places(sliding, dy, part)
            if _is_first(sliding):
                total += np.matmul(columns, given.swapaxes(1, 2)).sum(axis=0)
            else:
                total += np.matmul(columns.T, given)
    if _is_first(sliding):
        return total.reshape(channels, height, width, out).transpose(1, 2, 0, 3)
    return total.reshape(filter_shape)


@silent
def input_gradient_cpu(sliding: Sliding, dy: Array, filter: Array) -> Array:
    """Return the gradient of the images, in the format of ``sliding``."""
    channels = filter.shape[2]
    rows, cols = sliding.rows, sliding.cols
    turned = (_turned(rows), _turned(cols))
    if rows.stride == cols.stride == 1 and min(one.before for one in turned) >= 0:
        back = replace(sliding, channels=filter.shape[3], rows=turned[0], cols=turned[1])
        return convolved_cpu(back, dy, filter[::-1, ::-1].swapaxes(2, 3))
    padded = _room(sliding, channels, np.result_type(dy, filter))
    if dy.size and filter.size:
        matrix = _matrix(sliding, filter)
        for part in _parts(sliding, filter.shape, SPREAD):
            given = _places(sliding, dy, part)
            if _is_first(sliding):
                _spread(sliding, np.matmul(matrix.T, given), padded, part, filter.shape)
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
    count = is_odd.sum((0, 1, 3), dtype=dy.dtype)
    if _is_first(sliding):
        count = count[:, None, None]
    gradient[met < count] = np.nan


def _turned(axis: Axis) -> Axis:
    """Return how the filter turned over moves along the gradient, with a stride of 1."""
    before = (axis.window - 1) * axis.dilation - axis.before
    return replace(axis, size=axis.out, out=axis.size, before=before)


def _is_first(sliding: Sliding) -> bool:
    return sliding.data_format == "NCHW"


def _matrix(sliding: Sliding, filter: Array) -> Array:
    """Return the filter as [window, out], or as [out, window] where channels come first."""
    if _is_first(sliding):
        return filter.transpose(3, 2, 0, 1).reshape(filter.shape[3], -1)
    return filter.reshape(-1, filter.shape[3])


def _places(sliding: Sliding, y: Array, part: Part) -> Array:
    """Return what of [places, channels], or of [images, channels, places], is of a part."""
    images, rows = part
    if _is_first(sliding):
        one = y[images, :, rows]
        return one.reshape(*one.shape[:2], -1)
    return y[images, rows].reshape(-1, y.shape[3])


def _parts(sliding: Sliding, filter_shape: Shape, size: int) -> Iterator[Part]:
    """Yield the parts: some rows of one image, or several whole images."""
    height, width, channels, _ = filter_shape
    places = max(size // (height * width * channels), PLACES)
    down, across = sliding.rows.out, sliding.cols.out
    rows = min(max(places // across, 1), down)
    images = max(places // (across * down), 1)
    for first in range(0, sliding.batch, images):
        for top in range(0, down, rows):
            yield slice(first, first + images), slice(top, min(top + rows, down))


def _columns(sliding: Sliding, x: Array, filter_shape: Shape) -> Iterator[tuple[Part, Array]]:
    """Yield the parts and their windows: [places, window], or [images, window, places].

    The windows are overwritten by the next part's.
    """
    height, width, channels, _ = filter_shape
    padded = _padded(sliding, x)
    rows, cols = sliding.rows, sliding.cols
    if height == width == rows.stride == cols.stride == 1:  # the images are that matrix already
        whole = (slice(None), slice(None))
        yield whole, _places(sliding, padded, whole)
        return
    views = _views(sliding, padded)
    depth = height * width * channels
    room = np.empty(0, x.dtype)
    for images, lines in _parts(sliding, filter_shape, PART):
        view = views[images, ..., lines, :] if _is_first(sliding) else views[images, lines]
        if view.size > room.size:
            room = np.empty(view.size, x.dtype)
        windows = room[: view.size].reshape(view.shape)
        windows[...] = view
        shape = (len(view), depth, -1) if _is_first(sliding) else (-1, depth)
        yield (images, lines), windows.reshape(shape)


def _views(sliding: Sliding, padded: Array) -> Array:
    """Return all windows as a view of padded images.

    It is [batch, rows, cols, window rows, window cols, channels], or, where channels come first,
    [batch, channels, window rows, window cols, rows, cols].
    """
    if not _is_first(sliding):
        return sliding.views(padded)
    rows, cols = sliding.rows, sliding.cols
    batch, channel, down, right = padded.strides
    apart = (down * rows.dilation, right * cols.dilation)
    return np.lib.stride_tricks.as_strided(
        padded,
        (*padded.shape[:2], rows.window, cols.window, rows.out, cols.out),
        (batch, channel, *apart, down * rows.stride, right * cols.stride),
        writeable=False,
    )


def _room(sliding: Sliding, channels: int, dtype: np.dtype[np.generic]) -> Array:
    """Return zeros in the shape of the padded images with ``channels`` channels."""
    spatial = [axis.before + axis.size + axis.after for axis in (sliding.rows, sliding.cols)]
    shape = (channels, *spatial) if _is_first(sliding) else (*spatial, channels)
    return np.zeros((sliding.batch, *shape), dtype)


def _padded(sliding: Sliding, x: Array) -> Array:
    """Return images with as much padding around as the window needs."""
    rows, cols = sliding.rows, sliding.cols
    if not any((rows.before, rows.after, cols.before, cols.after)):
        return x
    channels = x.shape[1 if _is_first(sliding) else 3]
    padded = _room(sliding, channels, x.dtype)
    _inside(sliding, padded)[...] = x
    return padded


def _inside(sliding: Sliding, padded: Array) -> Array:
    """Return the images inside padded ones, as a view."""
    rows, cols = (
        slice(axis.before, axis.before + axis.size) for axis in (sliding.rows, sliding.cols)
    )
    return padded[:, :, rows, cols] if _is_first(sliding) else padded[:, rows, cols]


def _spread(
    sliding: Sliding, shares: Array, padded: Array, part: Part, filter_shape: Shape
) -> None:
    """Add to padded images what each place of a part gives to each element of its window."""
    images, lines = part
    height, width, channels, _ = filter_shape
    count = lines.stop - lines.start
    rows, cols = sliding.rows, sliding.cols
    first = _is_first(sliding)
    block = padded[images]
    window = (channels, height, width) if first else (height, width, channels)
    places = (count, cols.out)
    shares = shares.reshape(
        (len(block), *window, *places) if first else (len(block), *places, *window)
    )
    for down in range(height):
        start = lines.start * rows.stride + down * rows.dilation
        here = slice(start, start + (count - 1) * rows.stride + 1, rows.stride)
        for right in range(width):
            there = cols.places(right)
            if first:
                block[:, :, here, there] += shares[:, :, down, right]
            else:
                block[:, here, there] += shares[:, :, :, down, right]
