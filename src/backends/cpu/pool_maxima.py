"""Where the maxima of windows stand, on the CPU: giving values to these places and fetching them.

A window's maximum is that of its lines' maxima, so each step goes over the elements of a line or
over the lines. A step fills the cache, and lines of Python come from memory after that: what is the
same for all parts is found before, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.pooling import is_padded, padded, parts, room_around
from wgsl_kernels.backends.cpu.threads import each

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.spec import Shape
    from wgsl_kernels.engine.windows import Axis, Sliding

Place = tuple[slice, ...]

EVERY = slice(None)


def max_pool_gradient_cpu(sliding: Sliding, dy: Array, x: Array) -> Array:
    """Return, for each element of the images, the gradients of the windows that chose it.

    A window chooses the first of equal maxima, row by row, and the first NaN before all numbers.
    """
    if not dy.size:
        return np.zeros(x.shape, dy.dtype)
    rows, cols = sliding.rows, sliding.cols
    has_margin = is_padded(sliding)
    y = np.empty(x.shape, dy.dtype) if has_margin else _room(x.shape, 2, cols, dy.dtype)
    lines, elements = _places(rows, 1), _places(cols, 2)

    def spread(images: slice) -> None:
        own = y[images]
        maxima = _maxima(padded(sliding, x[images], -np.inf), lines, elements)
        shares = _room(maxima.across.shape, 1, rows, dy.dtype)
        room = room_around(sliding, own) if has_margin else own
        _give(shares, lines, rows, maxima.of_lines(lines, rows, dy[images]))
        _give(room, elements, cols, maxima.of_elements(elements, cols, shares))
        if has_margin:
            own[...] = sliding.cropped(room)

    with np.errstate(all="ignore"):
        each(spread, parts(sliding))
    return y


def chosen_cpu(sliding: Sliding, values: Array, x: Array) -> Array:
    """Return what ``values`` has where each window of ``x`` chooses its maximum; else 0."""
    y = np.zeros(sliding.out_shape, values.dtype)
    if not y.size:
        return y
    rows, cols = sliding.rows, sliding.cols
    lines, elements = _places(rows, 1), _places(cols, 2)

    def fetch(images: slice) -> None:
        own = y[images]
        maxima = _maxima(padded(sliding, x[images], -np.inf), lines, elements)
        found = np.zeros(maxima.across.shape, values.dtype)
        given = padded(sliding, values[images], 0)
        _take(found, given, elements, maxima.of_elements(elements, cols, _all_bits(found)))
        _take(own, found, lines, maxima.of_lines(lines, rows, _all_bits(own)))

    with np.errstate(all="ignore"):
        each(fetch, parts(sliding))
    return y


def _places(axis: Axis, number: int) -> list[Place]:
    """Return where each element of a window falls along the axis of that ``number``."""
    return [(EVERY,) * number + (axis.places(tap),) for tap in range(axis.window)]


def _room(shape: Shape, number: int, axis: Axis, dtype: np.dtype[Any]) -> Array:
    """Return room for what places give along an axis: zeros, unless all of it will be written."""
    is_whole = axis.window == axis.stride and axis.out * axis.stride == shape[number]
    return np.empty(shape, dtype) if is_whole else np.zeros(shape, dtype)


def _give(room: Array, places: list[Place], axis: Axis, shares: Iterator[Array]) -> None:
    """Add to each element, in zeros, its shares of the windows."""
    for tap, share in enumerate(shares):
        if tap < axis.stride:  # no window before has given there
            room[places[tap]] = share
        else:
            room[places[tap]] += share


def _all_bits(x: Array) -> Array:
    """Return an array like ``x`` whose bits are all set."""
    return np.full(x.shape, -1, f"i{x.dtype.itemsize}").view(x.dtype)


def _take(room: Array, values: Array, places: list[Place], bits: Iterator[Array]) -> None:
    """Fill zeros with the value that each window chose, where its bits are all set."""
    whole = np.dtype(f"i{room.dtype.itemsize}")
    target = room.view(whole)
    for place, one in zip(places, bits, strict=True):
        target |= one.view(whole) & values[place].view(whole)


class _Maxima(NamedTuple):
    """Images, and where the maxima of windows over them are.

    Attributes:
        image: The images, padded.
        across: The maximum of each line of a window.
        largest: The maximum of each window.
        has_nan: Whether one of them may be NaN.
        is_low: Whether one of them may be -Inf, which padding is too.
    """

    image: Array
    across: Array
    largest: Array
    has_nan: bool
    is_low: bool

    def of_lines(self, places: list[Place], rows: Axis, shares: Array) -> Iterator[Array]:
        """Yield, line by line, what of each window's share goes to that line of it."""
        return self._handed_out(self.across, places, rows, self.largest, shares)

    def of_elements(self, places: list[Place], cols: Axis, shares: Array) -> Iterator[Array]:
        """Yield, element by element of a line, what of the line's share goes to that one."""
        return self._handed_out(self.image, places, cols, self.across, shares)

    def _handed_out(
        self, x: Array, places: list[Place], axis: Axis, largest: Array, shares: Array
    ) -> Iterator[Array]:
        """Yield the shares of those windows whose first largest element is the next one, else 0.

        NaN counts as the largest, padding never. What was yielded is overwritten after that.
        """
        whole = np.dtype(f"i{shares.dtype.itemsize}")
        rest = shares.view(whole)
        last = len(places) - 1
        for tap, place in enumerate(places):
            if tap == last and not self.is_low:
                yield rest.view(shares.dtype)
                return
            value = x[place]
            hit = value == largest
            if self.has_nan:
                hit |= np.isnan(value)
            if self.is_low:
                hit &= axis.inside(tap).reshape(-1, *(1,) * (x.ndim - len(place)))
            share = np.negative(hit.view(np.int8)).astype(whole)  # all bits or none
            share &= rest
            yield share.view(shares.dtype)
            rest = np.bitwise_xor(share, rest, out=share)


def _maxima(image: Array, lines: list[Place], elements: list[Place]) -> _Maxima:
    across = _largest(image, elements)
    largest = _largest(across, lines)
    lowest = float(largest.min())
    return _Maxima(image, across, largest, lowest != lowest, not lowest > -np.inf)


def _largest(x: Array, places: list[Place]) -> Array:
    found = x[places[0]]
    if len(places) > 1:
        found = np.maximum(found, x[places[1]])
    for place in places[2:]:
        np.maximum(x[place], found, out=found)
    return found
