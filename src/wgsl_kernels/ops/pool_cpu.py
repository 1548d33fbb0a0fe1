"""Pooling on the CPU: one pass per line of the window, some images at a time.

So many images are taken that they stay in the processor's cache.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.precision import or_zero

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.ops.windows import Axis, Sliding

PART = 1 << 18
"""Elements of images that are taken at a time, but one whole image at least."""


def parts(sliding: Sliding) -> Iterator[tuple[slice, Sliding]]:
    """Yield some images after the others, and how the window moves over those."""
    one = sliding.rows.size * sliding.cols.size * sliding.channels
    images = max(PART // max(one, 1), 1)
    for first in range(0, sliding.batch, images):
        last = min(first + images, sliding.batch)
        yield slice(first, last), replace(sliding, batch=last - first)


def padded(sliding: Sliding, x: Array, value: float) -> Array:
    """Return channels-last images with as much padding around as the window needs."""
    if not _is_padded(sliding):
        return x
    room = sliding.room(x.shape[3], x.dtype)
    if value:
        room[...] = value
    sliding.cropped(room)[...] = x
    return room


def _is_padded(sliding: Sliding) -> bool:
    axes = (sliding.rows, sliding.cols)
    return any(axis.before or axis.after for axis in axes)


def joined(sliding: Sliding, x: Array, join: np.ufunc, y: Array) -> Array:
    """Fill ``y`` with ``join`` of all elements of each window of padded images."""
    if x.shape[1:3] == (sliding.rows.window, sliding.cols.window):  # one window, the whole image
        lines = x.reshape(len(x), -1, x.shape[3])
        join.reduce(lines, axis=1, out=y.reshape(len(x), x.shape[3]))
        return y
    down = _joined_along(x, 1, sliding.rows, join, None)
    return _joined_along(down, 2, sliding.cols, join, y)


def _joined_along(x: Array, number: int, axis: Axis, join: np.ufunc, y: Array | None) -> Array:
    lines = [x[(*(slice(None),) * number, axis.places(tap))] for tap in range(axis.window)]
    if len(lines) == 1:
        return _filled(y, lines[0])
    found = np.asarray(join(lines[0], lines[1], out=y))
    for line in lines[2:]:
        join(found, line, out=found)
    return found


def _filled(y: Array | None, x: Array) -> Array:
    if y is None:
        return x
    y[...] = x
    return y


def max_pool_cpu(sliding: Sliding, x: Array, lowest: float) -> Array:
    """Return the maximum of each window; padding counts as ``lowest``."""
    y = np.empty(sliding.out_shape, x.dtype)
    for images, some in parts(sliding):
        joined(some, padded(some, x[images], lowest), np.maximum, y[images])
    return y


def avg_pool_cpu(sliding: Sliding, x: Array) -> Array:
    """Return the mean of each window without its padding; NaN where that is all."""
    y = np.empty(sliding.out_shape, x.dtype)
    seen = counts(sliding.rows, sliding.cols).astype(x.dtype)
    with np.errstate(all="ignore"):
        for images, some in parts(sliding):
            sums = joined(some, padded(some, x[images], 0), np.add, y[images])
            np.divide(sums, seen, out=sums)
    return y


@functools.lru_cache(maxsize=256)
def counts(rows: Axis, cols: Axis) -> Array:
    """Return how many elements of the image each window sees: [places down, places across, 1]."""
    seen = np.outer(rows.counts(), cols.counts())[..., np.newaxis]
    if seen.size and (seen == seen.flat[0]).all():
        seen = seen[:1, :1]  # one number for all
    seen.flags.writeable = False
    return seen


def avg_pool_gradient_cpu(sliding: Sliding, dy: Array) -> Array:
    """Return, for each element of the images, the sum of its shares in the windows' gradients."""
    rows, cols = sliding.rows, sliding.cols
    shape = (sliding.batch, rows.size, cols.size, sliding.channels)
    y = np.zeros(shape, dy.dtype)
    if not dy.size:
        return y
    seen = np.maximum(counts(rows, cols), 1).astype(dy.dtype)
    for images, some in parts(sliding):
        spread = y[images]
        room = some.room(sliding.channels, dy.dtype) if _is_padded(sliding) else spread
        across = np.zeros((some.batch, rows.out, room.shape[2], sliding.channels), dy.dtype)
        with np.errstate(all="ignore"):
            _spread_along(across, 2, cols, dy[images] / seen)
            _spread_along(room, 1, rows, across)
        if room is not spread:
            spread[...] = some.cropped(room)
    return y


def _spread_along(room: Array, number: int, axis: Axis, shares: Array) -> None:
    """Add to each line of zeros the shares of the places whose windows hold it."""
    for tap in range(axis.window):
        here = (*(slice(None),) * number, axis.places(tap))
        if axis.stride >= axis.window:  # no two windows overlap
            room[here] = shares
        else:
            room[here] += shares


def max_pool_gradient_cpu(sliding: Sliding, dy: Array, x: Array) -> Array:
    """Return, for each element of the images, the gradients of the windows that chose it.

    A window chooses the first of equal maxima, row by row, and the first NaN before all numbers.
    """
    rows, cols = sliding.rows, sliding.cols
    y = np.zeros(x.shape, dy.dtype)
    if not dy.size:
        return y
    for images, some in parts(sliding):
        image, across, largest = _maxima(some, x[images])
        shares = np.zeros(across.shape, dy.dtype)
        spread = y[images]
        room = some.room(sliding.channels, dy.dtype) if _is_padded(sliding) else spread
        with np.errstate(all="ignore"):
            _give(shares, 1, rows, _chosen(across, 1, rows, largest), dy[images])
            _give(room, 2, cols, _chosen(image, 2, cols, across), shares)
        if room is not spread:
            spread[...] = some.cropped(room)
    return y


def chosen_cpu(sliding: Sliding, values: Array, x: Array) -> Array:
    """Return what ``values`` has where each window of ``x`` chooses its maximum; else 0."""
    y = np.zeros(sliding.out_shape, values.dtype)
    if not y.size:
        return y
    for images, some in parts(sliding):
        image, across, largest = _maxima(some, x[images])
        found = np.zeros(across.shape, values.dtype)
        given = padded(some, values[images], 0)
        with np.errstate(all="ignore"):
            _take(found, given, 2, some.cols, _chosen(image, 2, some.cols, across))
            _take(y[images], found, 1, some.rows, _chosen(across, 1, some.rows, largest))
    return y


def _maxima(sliding: Sliding, x: Array) -> tuple[Array, Array, Array]:
    """Return padded images, the maxima of the windows' rows, and those of the windows."""
    image = padded(sliding, x, -np.inf)
    across = _joined_along(image, 2, sliding.cols, np.maximum, None)
    return image, across, _joined_along(across, 1, sliding.rows, np.maximum, None)


def _chosen(x: Array, number: int, axis: Axis, largest: Array) -> Iterator[Array]:
    """Yield, for each element along a window's axis, where it is the first to be ``largest``.

    NaN counts as the largest, padding never.
    """
    has_nan = np.isnan(largest.max())
    is_low = bool((largest == -np.inf).any())  # then padding looks like a maximum
    left = np.ones(largest.shape, np.bool_)
    for tap in range(axis.window):
        if tap == axis.window - 1 and not is_low:
            yield left
            return
        value = x[(*(slice(None),) * number, axis.places(tap))]
        hit = value == largest
        if has_nan:
            hit |= np.isnan(value)
        if is_low:
            hit &= axis.inside(tap).reshape(-1, *(1,) * (x.ndim - 1 - number))
        hit &= left
        left ^= hit
        yield hit


def _give(room: Array, number: int, axis: Axis, chosen: Iterator[Array], shares: Array) -> None:
    """Add the shares of each window to the element that it chose, in zeros."""
    for tap, hit in enumerate(chosen):
        here = (*(slice(None),) * number, axis.places(tap))
        if axis.stride >= axis.window:  # no two windows overlap
            room[here] = or_zero(hit, shares)
        else:
            room[here] += or_zero(hit, shares)


def _take(room: Array, values: Array, number: int, axis: Axis, chosen: Iterator[Array]) -> None:
    """Add, in zeros, the value that each window chose."""
    for tap, hit in enumerate(chosen):
        room += or_zero(hit, values[(*(slice(None),) * number, axis.places(tap))])
