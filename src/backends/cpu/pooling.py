"""Pooling on the CPU: one pass per line of the window, some images at a time in each thread.

So many images are taken that they stay in the processor's cache.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.threads import each

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.windows import Axis, Sliding

PART = 1 << 18
"""Elements of images that are taken at a time, but one whole image at least."""


def parts(sliding: Sliding) -> list[slice]:
    """Return some images after the others."""
    one = sliding.rows.size * sliding.cols.size * sliding.channels
    images = max(PART // max(one, 1), 1)
    return [slice(first, first + images) for first in range(0, sliding.batch, images)]


def padded(sliding: Sliding, x: Array, value: float) -> Array:
    """Return channels-last images with as much padding around as the window needs."""
    if not is_padded(sliding):
        return x
    room = room_around(sliding, x, value)
    sliding.cropped(room)[...] = x
    return room


def room_around(sliding: Sliding, x: Array, value: float = 0) -> Array:
    """Return ``value`` in the shape of channels-last images with their padding."""
    rows, cols = (axis.before + axis.size + axis.after for axis in (sliding.rows, sliding.cols))
    shape = (len(x), rows, cols, x.shape[3])
    return np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)


def is_padded(sliding: Sliding) -> bool:
    """Say whether windows read more than the images."""
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

    def pool(images: slice) -> None:
        joined(sliding, padded(sliding, x[images], lowest), np.maximum, y[images])

    each(pool, parts(sliding))
    return y


def avg_pool_cpu(sliding: Sliding, x: Array) -> Array:
    """Return the mean of each window without its padding; NaN where that is all."""
    y = np.empty(sliding.out_shape, x.dtype)
    seen = counts(sliding.rows, sliding.cols).astype(x.dtype)

    def pool(images: slice) -> None:
        sums = joined(sliding, padded(sliding, x[images], 0), np.add, y[images])
        np.divide(sums, seen, out=sums)

    with np.errstate(all="ignore"):
        each(pool, parts(sliding))
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

    def spread(images: slice) -> None:
        own = y[images]
        room = room_around(sliding, own) if is_padded(sliding) else own
        across = np.zeros((len(own), rows.out, room.shape[2], sliding.channels), dy.dtype)
        _spread_along(across, 2, cols, dy[images] / seen)
        _spread_along(room, 1, rows, across)
        if room is not own:
            own[...] = sliding.cropped(room)

    with np.errstate(all="ignore"):
        each(spread, parts(sliding))
    return y


def _spread_along(room: Array, number: int, axis: Axis, shares: Array) -> None:
    """Add to each line of zeros the shares of the places whose windows hold it."""
    for tap in range(axis.window):
        here = (*(slice(None),) * number, axis.places(tap))
        if axis.stride >= axis.window:  # no two windows overlap
            room[here] = shares
        else:
            room[here] += shares
