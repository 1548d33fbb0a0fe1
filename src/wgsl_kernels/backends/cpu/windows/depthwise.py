"""Depthwise convolution on the CPU: sums over views of whole lines, three factors like any other.

The elements of a line and their channels lie next to each other, so a line of results is a sum
over the window of long contiguous products: lines of the image, each shifted, times the filter's
elements, each repeated along the line. `einsum` walks both at once and copies no windows. It does
so for some lines of places at a time, which stay in the processor's cache, in several threads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.threads import each
from wgsl_kernels.engine.values.phases import phase_count, phases_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.windows import Sliding

BLOCK = 2**20
"""Bytes of the filter repeated along a line."""

PART = 2**20
"""Bytes of images that are worked on at a time."""

Part = tuple[slice, slice]
"""Images, and rows of places in each."""


def spread_out(x: Array, multiplier: int) -> Array:
    """Return images with each channel as often as the multiplier says."""
    return x if multiplier == 1 else np.repeat(x, multiplier, axis=3)


@silent
def by_channel(sliding: Sliding, x: Array, filter: Array) -> Array:
    """Return the sum over each window of ``x`` times ``filter``, channel by channel.

    Args:
        sliding: How the window moves.
        x: [batch, height, width, channels].
        filter: [window height, window width, channels].

    Returns:
        [batch, places down, places across, channels].
    """
    rows, cols = sliding.rows, sliding.cols
    channels = filter.shape[2]
    y = np.empty((x.shape[0], rows.out, cols.out, channels), x.dtype)
    if not (x.size and filter.size and y.size):
        y.fill(0)
        return y
    across = _columns_at_once(cols.out, filter.nbytes)
    lines = np.ascontiguousarray(
        np.broadcast_to(filter[:, :, np.newaxis], (*filter.shape[:2], across, channels))
    ).reshape(*filter.shape[:2], across * channels)

    def convolve(part: Part) -> None:
        for elements, view in _lines(sliding, x, part, across):
            sums = y[part].reshape(view.shape[:3] + view.shape[5:])
            if elements.start == 0:
                np.einsum("nibpqj,pqj->nibj", view, lines[:, elements], out=sums)
            else:
                sums += np.einsum("nibpqj,pqj->nibj", view, lines[:, elements])

    each(convolve, _parts(sliding, x))
    return y


@silent
def filter_by_channel(sliding: Sliding, x: Array, dy: Array) -> Array:
    """Return the sum over all places of each window's elements times ``dy``.

    Args:
        sliding: How the window moves.
        x: [batch, height, width, channels].
        dy: [batch, places down, places across, channels], contiguous.

    Returns:
        [window height, window width, channels].
    """
    rows, cols = sliding.rows, sliding.cols
    channels = x.shape[3]
    y = np.zeros((rows.window, cols.window, channels), x.dtype)
    if not (x.size and dy.size and y.size):
        return y
    across = _columns_at_once(cols.out, y.nbytes)
    parts = _parts(sliding, x)
    shares = np.empty((len(parts), *y.shape), y.dtype)

    def multiply(number: int) -> None:
        for elements, view in _lines(sliding, x, parts[number], across):
            given = dy[parts[number]].reshape(view.shape[:3] + view.shape[5:])
            lines = np.einsum("nibpqj,nibj->pqj", view, given)
            lines = lines.reshape(*lines.shape[:2], across, channels)
            np.sum(lines, axis=2, out=shares[number][:, elements])

    each(multiply, range(len(parts)))
    return np.asarray(shares.sum(axis=0))


def input_by_channel(sliding: Sliding, dy: Array, filter: Array) -> Array:
    """Return, for each element of the image, the sum of ``dy`` times ``filter`` over its windows.

    Elements that are ``stride`` apart are covered alike: they are a convolution of ``dy`` with
    those elements of the filter that reach them, from its end.

    Args:
        sliding: How the window moves over the image.
        dy: [batch, places down, places across, channels].
        filter: [window height, window width, channels].

    Returns:
        [batch, height, width, channels].
    """
    if filter.size and sliding.rows.stride == sliding.cols.stride == 1:  # all are covered alike
        ((_, _, rows),), ((_, _, cols),) = phases_of(sliding.rows), phases_of(sliding.cols)
        return by_channel(replace(sliding, axes=(rows, cols)), dy, filter[::-1, ::-1])
    y = np.zeros((dy.shape[0], sliding.rows.size, sliding.cols.size, dy.shape[3]), dy.dtype)
    for down, row_elements, rows in phases_of(sliding.rows):
        for right, col_elements, cols in phases_of(sliding.cols):
            elements = filter[row_elements, col_elements][::-1, ::-1]
            y[:, down, right] = by_channel(replace(sliding, axes=(rows, cols)), dy, elements)
    return y


def _columns_at_once(columns: int, nbytes: int) -> int:
    """Return the largest divisor of ``columns`` of which as many filters fit into a block, or 1."""
    return next(
        n for n in range(columns, 0, -1) if columns % n == 0 and (n * nbytes <= BLOCK or n == 1)
    )


def _parts(sliding: Sliding, x: Array) -> list[Part]:
    """Return what is worked on at a time: some rows of one image, or several whole images."""
    rows = sliding.rows
    span = (rows.window - 1) * rows.dilation + 1
    most = max((PART // x[0, 0].nbytes - span) // rows.stride + 1, span)
    count = -(-rows.out // -(-rows.out // most))  # as many in each part
    images = max(PART // x[0].nbytes, 1) if count == rows.out else 1
    return [
        (slice(first, first + images), slice(top, min(top + count, rows.out)))
        for first in range(0, len(x), images)
        for top in range(0, rows.out, count)
    ]


def _lines(sliding: Sliding, x: Array, part: Part, across: int) -> Iterator[tuple[slice, Array]]:
    """Yield elements of the window's line, and what these elements read of a part of the images.

    The last is a view: [images, places down, blocks of places, window rows, elements, ``across``
    places with their channels].
    """
    images, places = part
    rows, cols = sliding.rows, sliding.cols
    down = places.stop - places.start
    turns = phase_count(cols)
    tall = StridedLines(
        places.start * rows.stride - rows.before,
        1,
        (down - 1) * rows.stride + (rows.window - 1) * rows.dilation + 1,
    )
    reach = (cols.out - 1) * cols.stride + (cols.window - 1) * cols.dilation + 1
    for turn in range(min(turns, cols.window)):
        skipped, phase = divmod(turn * cols.dilation, cols.stride)
        wide = StridedLines(phase - cols.before, cols.stride, len(range(phase, reach, cols.stride)))
        lines = _taken(x[images], tall, wide)
        image, line, element, item = lines.strides
        view = np.lib.stride_tricks.as_strided(
            lines[:, :, skipped:],
            (
                len(lines),
                down,
                cols.out // across,
                rows.window,
                len(range(turn, cols.window, turns)),
                across * x.shape[3],
            ),
            (
                image,
                line * rows.stride,
                element * across,
                line * rows.dilation,
                element * cols.dilation * turns // cols.stride,
                item,
            ),
            writeable=False,
        )
        yield slice(turn, None, turns), view


class StridedLines(NamedTuple):
    """Lines ``step`` apart: so many ``places`` from ``first`` on, which may lie outside."""

    first: int
    step: int
    places: int

    def inside(self, size: int) -> tuple[slice, slice]:
        """Return which of them lie within ``size`` elements, and those elements."""
        begin = min(max(-(self.first // self.step), 0), self.places)
        end = max(min(-((self.first - size) // self.step), self.places), begin)
        start = self.first + begin * self.step
        return slice(begin, end), slice(start, start + (end - begin) * self.step, self.step)


def _taken(x: Array, tall: StridedLines, wide: StridedLines) -> Array:
    """Return lines and elements of images, 0 outside of these; elements lie side by side."""
    height, width, channels = x.shape[1:]
    (down, rows), (right, cols) = tall.inside(height), wide.inside(width)
    seen = x[:, rows, cols]
    shape = (len(x), tall.places, wide.places, channels)
    side_by_side = (channels * x.itemsize, x.itemsize)
    if seen.shape == shape:
        return seen if seen.strides[2:] == side_by_side else np.ascontiguousarray(seen)
    buffer = np.zeros(shape, x.dtype)
    buffer[:, down, right] = seen
    return buffer
