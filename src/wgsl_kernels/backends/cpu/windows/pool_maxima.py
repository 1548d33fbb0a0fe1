"""Where the maxima of windows stand, on the CPU: giving values to these places and fetching them.

A window's maximum is that of its lines' maxima, and so on, so each step goes over the elements of
one axis. A step fills the cache, and lines of Python come from memory after that: what is the
same for all parts is found before, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.threads import each
from wgsl_kernels.backends.cpu.windows.pooling import is_padded, padded, parts, with_margin
from wgsl_kernels.engine.values.phases import phase_count

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.engine.values.windows import Axis, Sliding

Place = tuple[slice, ...]

EVERY = slice(None)


def max_pool_gradient_cpu(sliding: Sliding, dy: Array, x: Array) -> Array:
    """Return, for each element of the images, the gradients of the windows that chose it.

    A window chooses the first of equal maxima, row by row, and the first NaN before all numbers.
    """
    if not dy.size:
        return np.zeros(x.shape, dy.dtype)
    axes = sliding.axes
    last = len(axes)
    has_margin = is_padded(sliding)
    y = np.empty(x.shape, dy.dtype) if has_margin else _room(x.shape, last, axes[-1], dy.dtype)
    places = _places(axes)

    def spread(images: slice) -> None:
        own = y[images]
        maxima = _maxima(padded(sliding, x[images], -np.inf), axes, places)
        buffer = with_margin(sliding, own) if has_margin else own
        shares = dy[images]
        for number, axis in enumerate(axes, 1):
            given = shares
            shares = buffer
            if number < last:
                shares = _room(maxima.levels[number].shape, number, axis, dy.dtype)
            _give(shares, places[number - 1], axis, maxima.distributed(number, given))
        if has_margin:
            own[...] = sliding.cropped(buffer)

    with np.errstate(all="ignore"):
        each(spread, parts(sliding))
    return y


def chosen_cpu(sliding: Sliding, values: Array, x: Array) -> Array:
    """Return what ``values`` has where each window of ``x`` chooses its maximum; else 0."""
    y = np.zeros(sliding.out_shape, values.dtype)
    if not y.size:
        return y
    axes = sliding.axes
    places = _places(axes)

    def fetch(images: slice) -> None:
        maxima = _maxima(padded(sliding, x[images], -np.inf), axes, places)
        found = padded(sliding, values[images], 0)
        for number in range(len(axes), 0, -1):
            given = found
            found = y[images]
            if number > 1:
                found = np.zeros(maxima.levels[number - 1].shape, values.dtype)
            _take(found, given, places[number - 1], maxima.distributed(number, _all_bits(found)))

    with np.errstate(all="ignore"):
        each(fetch, parts(sliding))
    return y


def _places(axes: tuple[Axis, ...]) -> list[list[Place]]:
    """Return, along each axis, where each element of a window falls."""
    return [
        [(EVERY,) * number + (axis.places(tap),) for tap in range(axis.window)]
        for number, axis in enumerate(axes, 1)
    ]


def _room(shape: Shape, number: int, axis: Axis, dtype: np.dtype[Any]) -> Array:
    """Return room for what places give along an axis: zeros, unless all of it will be written."""
    is_whole = axis.window == phase_count(axis) and axis.out * axis.window == shape[number]
    return np.empty(shape, dtype) if is_whole else np.zeros(shape, dtype)


def _give(buffer: Array, places: list[Place], axis: Axis, shares: Iterator[Array]) -> None:
    """Add to each element, in zeros, its shares of the windows."""
    for tap, share in enumerate(shares):
        if tap < phase_count(axis):  # no window before has given there
            buffer[places[tap]] = share
        else:
            buffer[places[tap]] += share


def _all_bits(x: Array) -> Array:
    """Return an array like ``x`` whose bits are all set."""
    return np.full(x.shape, -1, f"i{x.dtype.itemsize}").view(x.dtype)


def _take(buffer: Array, values: Array, places: list[Place], bits: Iterator[Array]) -> None:
    """Fill zeros with the value that each window chose, where its bits are all set."""
    whole = np.dtype(f"i{buffer.dtype.itemsize}")
    target = buffer.view(whole)
    for place, one in zip(places, bits, strict=True):
        target |= one.view(whole) & values[place].view(whole)


class _Maxima(NamedTuple):
    """Images, and where the maxima of windows over them are.

    Attributes:
        levels: The maximum of each window; then that of each part of it which is one element along
            the first axis, along the first two, and so on; the last are the images, padded.
        axes: The window along each axis.
        places: Where its elements fall.
        has_nan: Whether a maximum may be NaN.
        is_low: Whether one may be -Inf, which padding is too.
    """

    levels: list[Array]
    axes: tuple[Axis, ...]
    places: list[list[Place]]
    has_nan: bool
    is_low: bool

    def distributed(self, number: int, shares: Array) -> Iterator[Array]:
        """Yield, element by element of an axis, what goes on of each share to that one.

        It goes to the first of the largest; NaN counts as such, padding never. What was yielded is
        overwritten after that.

        Args:
            number: The axis, counted from 1.
            shares: One for each maximum of the level before.
        """
        x, largest = self.levels[number], self.levels[number - 1]
        axis, places = self.axes[number - 1], self.places[number - 1]
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


def _maxima(image: Array, axes: tuple[Axis, ...], places: list[list[Place]]) -> _Maxima:
    levels = [image]
    for along in reversed(places):
        levels.insert(0, _largest(levels[0], along))
    lowest = float(levels[0].min())
    return _Maxima(levels, axes, places, lowest != lowest, not lowest > -np.inf)


def _largest(x: Array, places: list[Place]) -> Array:
    found = x[places[0]]
    if len(places) > 1:
        found = np.maximum(found, x[places[1]])
    for place in places[2:]:
        np.maximum(x[place], found, out=found)
    return found
