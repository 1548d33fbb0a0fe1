"""Pooling on the CPU: one pass per line of the window, some images at a time in each thread.

So many images are taken that they stay in the processor's cache.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.extremes import zeros_in_order
from wgsl_kernels.backends.cpu.sums import CHAIN, total
from wgsl_kernels.backends.cpu.threads import each
from wgsl_kernels.engine.environment.recent import remembered
from wgsl_kernels.engine.values.phases import phase_count

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.windows import Axis, Sliding

PART = 1 << 18
"""Elements of images that are taken at a time, but one whole image at least."""


def parts(sliding: Sliding) -> list[slice]:
    """Return some images after the others."""
    one = math.prod(axis.size for axis in sliding.axes) * sliding.channels
    images = max(PART // max(one, 1), 1)
    return [slice(first, first + images) for first in range(0, sliding.batch, images)]


def padded(sliding: Sliding, x: Array, value: float) -> Array:
    """Return channels-last images with as much padding around as the window needs."""
    if not is_padded(sliding):
        return x
    buffer = with_margin(sliding, x, value)
    sliding.cropped(buffer)[...] = x
    return buffer


def with_margin(sliding: Sliding, x: Array, value: float = 0) -> Array:
    """Return ``value`` in the shape of channels-last images with their padding."""
    sizes = [axis.before + axis.size + axis.after for axis in sliding.axes]
    shape = (len(x), *sizes, x.shape[-1])
    return np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)


def is_padded(sliding: Sliding) -> bool:
    """Say whether windows read more than the images."""
    return any(axis.before or axis.after for axis in sliding.axes)


def joined(sliding: Sliding, x: Array, join: np.ufunc, y: Array) -> Array:
    """Fill ``y`` with ``join`` of all elements of each window of padded images."""
    channels = x.shape[-1]
    if all(n == axis.window for n, axis in zip(x.shape[1:-1], sliding.axes, strict=True)):
        lines = x.reshape(len(x), -1, channels)  # one window, the whole image
        whole = y.reshape(len(x), channels)
        if join is np.add and lines.shape[1] > CHAIN:
            whole[...] = total(lines, (1,))
        else:
            join.reduce(lines, axis=1, out=whole)
        return y
    *outer, last = enumerate(sliding.axes, 1)
    for number, axis in outer:
        x = _joined_along(x, number, axis, join, None)
    return _joined_along(x, *last, join, y)


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
        buffer, largest = padded(sliding, x[images], lowest), y[images]

        def pooled(words: Array) -> Array:
            return joined(sliding, words, np.maximum, np.empty(largest.shape, words.dtype))

        joined(sliding, buffer, np.maximum, largest)
        zeros_in_order(np.maximum, largest, buffer, pooled)

    each(pool, parts(sliding))
    return y


def avg_pool_cpu(sliding: Sliding, x: Array) -> Array:
    """Return the mean of each window without its padding; NaN where that is all."""
    y = np.empty(sliding.out_shape, x.dtype)
    seen = counts[sliding.axes].astype(x.dtype)

    def pool(images: slice) -> None:
        sums = joined(sliding, padded(sliding, x[images], 0), np.add, y[images])
        np.divide(sums, seen, out=sums)

    with np.errstate(all="ignore"):
        each(pool, parts(sliding))
    return y


@remembered(lambda seen: 500 + seen.nbytes)
def counts(axes: tuple[Axis, ...]) -> Array:
    """Return how many elements of the image each window sees: [*places, 1]."""
    seen = functools.reduce(np.multiply.outer, [axis.counts() for axis in axes])[..., np.newaxis]
    if seen.size and (seen == seen.flat[0]).all():
        seen = seen[(slice(1),) * len(axes)]  # one number for all
    seen.flags.writeable = False
    return seen


def avg_pool_gradient_cpu(sliding: Sliding, dy: Array) -> Array:
    """Return, for each element of the images, the sum of its shares in the windows' gradients."""
    axes, channels = sliding.axes, sliding.channels
    y = np.zeros((sliding.batch, *[axis.size for axis in axes], channels), dy.dtype)
    if not dy.size:
        return y
    seen = np.maximum(counts[axes], 1).astype(dy.dtype)

    def spread(images: slice) -> None:
        own = y[images]
        buffer = with_margin(sliding, own) if is_padded(sliding) else own
        shares = dy[images] / seen
        for number in range(len(axes), 1, -1):
            outs = [axis.out for axis in axes[: number - 1]]
            across = np.zeros((len(own), *outs, *buffer.shape[number:]), dy.dtype)
            _spread_along(across, number, axes[number - 1], shares)
            shares = across
        _spread_along(buffer, 1, axes[0], shares)
        if buffer is not own:
            own[...] = sliding.cropped(buffer)

    with np.errstate(all="ignore"):
        each(spread, parts(sliding))
    return y


def _spread_along(buffer: Array, number: int, axis: Axis, shares: Array) -> None:
    """Add to each line of zeros the shares of the places whose windows hold it."""
    overlap = phase_count(axis) < axis.window
    for tap in range(axis.window):
        here = (*(slice(None),) * number, axis.places(tap))
        if not overlap:
            buffer[here] = shares
        else:
            buffer[here] += shares
