"""Pooling on the CPU: one pass per line of the window, some images at a time in each thread.

So many images are taken that they stay in the processor's cache.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.threads import each

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.spec import Shape
    from wgsl_kernels.engine.windows import Axis, Sliding

PART = 1 << 18
"""Elements of images that are taken at a time, but one whole image at least."""

Part = tuple[slice, "Sliding"]
"""Images, and how the window moves over those."""


def parts(sliding: Sliding) -> Iterator[Part]:
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

    def pool(part: Part) -> None:
        images, some = part
        joined(some, padded(some, x[images], lowest), np.maximum, y[images])

    each(pool, parts(sliding))
    return y


def avg_pool_cpu(sliding: Sliding, x: Array) -> Array:
    """Return the mean of each window without its padding; NaN where that is all."""
    y = np.empty(sliding.out_shape, x.dtype)
    seen = counts(sliding.rows, sliding.cols).astype(x.dtype)

    def pool(part: Part) -> None:
        images, some = part
        sums = joined(some, padded(some, x[images], 0), np.add, y[images])
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

    def spread(part: Part) -> None:
        images, some = part
        own = y[images]
        room = some.room(sliding.channels, dy.dtype) if _is_padded(sliding) else own
        across = np.zeros((some.batch, rows.out, room.shape[2], sliding.channels), dy.dtype)
        _spread_along(across, 2, cols, dy[images] / seen)
        _spread_along(room, 1, rows, across)
        if room is not own:
            own[...] = some.cropped(room)

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


def max_pool_gradient_cpu(sliding: Sliding, dy: Array, x: Array) -> Array:
    """Return, for each element of the images, the gradients of the windows that chose it.

    A window chooses the first of equal maxima, row by row, and the first NaN before all numbers.
    """
    is_padded = _is_padded(sliding)
    if not dy.size:
        return np.zeros(x.shape, dy.dtype)
    y = np.empty(x.shape, dy.dtype) if is_padded else _room(x.shape, 2, sliding.cols, dy.dtype)

    def spread(part: Part) -> None:
        images, some = part
        maxima = _maxima(some, x[images])
        shares = _room(maxima.across.shape, 1, some.rows, dy.dtype)
        own = y[images]
        room = some.room(sliding.channels, dy.dtype) if is_padded else own
        _give(shares, 1, some.rows, maxima.of_rows(dy[images]))
        _give(room, 2, some.cols, maxima.of_elements(shares))
        if room is not own:
            own[...] = some.cropped(room)

    with np.errstate(all="ignore"):
        each(spread, parts(sliding))
    return y


def _room(shape: Shape, number: int, axis: Axis, dtype: np.dtype[Any]) -> Array:
    """Return room for what places give along an axis: zeros, unless all of it will be written."""
    is_whole = axis.window == axis.stride and axis.out * axis.stride == shape[number]
    return np.empty(shape, dtype) if is_whole else np.zeros(shape, dtype)


def chosen_cpu(sliding: Sliding, values: Array, x: Array) -> Array:
    """Return what ``values`` has where each window of ``x`` chooses its maximum; else 0."""
    y = np.zeros(sliding.out_shape, values.dtype)
    if not y.size:
        return y

    def fetch(part: Part) -> None:
        images, some = part
        maxima = _maxima(some, x[images])
        found = np.zeros(maxima.across.shape, values.dtype)
        given = padded(some, values[images], 0)
        _take(found, given, 2, some.cols, maxima.of_elements(_all_bits(found)))
        _take(y[images], found, 1, some.rows, maxima.of_rows(_all_bits(y[images])))

    with np.errstate(all="ignore"):
        each(fetch, parts(sliding))
    return y


@dataclass(frozen=True, slots=True)
class _Maxima:
    """Images, and where the maxima of windows over them are.

    Attributes:
        sliding: How the window moves.
        image: The images, padded.
        across: The maximum of each line of a window.
        largest: The maximum of each window.
        has_nan: Whether one of them may be NaN.
        is_low: Whether one of them may be -Inf, which padding is too.
    """

    sliding: Sliding
    image: Array
    across: Array
    largest: Array
    has_nan: bool
    is_low: bool

    def of_rows(self, shares: Array) -> Iterator[Array]:
        """Yield, line by line, what of each window's share goes to that line of it."""
        return self._handed_out(self.across, 1, self.sliding.rows, self.largest, shares)

    def of_elements(self, shares: Array) -> Iterator[Array]:
        """Yield, element by element of a line, what of the line's share goes to that one."""
        return self._handed_out(self.image, 2, self.sliding.cols, self.across, shares)

    def _handed_out(
        self, x: Array, number: int, axis: Axis, largest: Array, shares: Array
    ) -> Iterator[Array]:
        """Yield the shares of those windows whose first largest element is the next one, else 0.

        NaN counts as the largest, padding never.
        """
        whole = np.dtype(f"i{shares.dtype.itemsize}")
        rest = shares.view(whole)
        for tap in range(axis.window):
            if tap == axis.window - 1 and not self.is_low:
                yield rest.view(shares.dtype)
                return
            value = x[(*(slice(None),) * number, axis.places(tap))]
            hit = value == largest
            if self.has_nan:
                hit |= np.isnan(value)
            if self.is_low:
                hit &= axis.inside(tap).reshape(-1, *(1,) * (x.ndim - 1 - number))
            taken = np.negative(hit.view(np.int8)).astype(whole)  # all bits or none
            taken &= rest
            rest = rest ^ taken
            yield taken.view(shares.dtype)


def _maxima(sliding: Sliding, x: Array) -> _Maxima:
    image = padded(sliding, x, -np.inf)
    across = _joined_along(image, 2, sliding.cols, np.maximum, None)
    largest = _joined_along(across, 1, sliding.rows, np.maximum, None)
    lowest = largest.min()
    return _Maxima(sliding, image, across, largest, bool(np.isnan(lowest)), not lowest > -np.inf)


def _all_bits(x: Array) -> Array:
    """Return an array like ``x`` whose bits are all set."""
    return np.full(x.shape, -1, f"i{x.dtype.itemsize}").view(x.dtype)


def _give(room: Array, number: int, axis: Axis, shares: Iterator[Array]) -> None:
    """Add to each element, in zeros, its shares of the windows."""
    for tap, one in enumerate(shares):
        here = (*(slice(None),) * number, axis.places(tap))
        if tap < axis.stride:  # no window before has given there
            room[here] = one
        else:
            room[here] += one


def _take(room: Array, values: Array, number: int, axis: Axis, bits: Iterator[Array]) -> None:
    """Fill zeros with the value that each window chose, where its bits are all set."""
    whole = np.dtype(f"i{room.dtype.itemsize}")
    for tap, one in enumerate(bits):
        chosen = one.view(whole)
        chosen &= values[(*(slice(None),) * number, axis.places(tap))].view(whole)
        target = room.view(whole)
        target |= chosen
