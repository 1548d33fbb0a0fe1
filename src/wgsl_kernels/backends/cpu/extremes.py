"""Maxima and minima in the order of IEEE 754-2019's ``maximum``, in which -0 is below 0.

NumPy gives one zero or the other, as the processor has it. A maximum can be wrong only where it is
-0, a minimum only where it is 0 and some operand -0: where there is none, nothing else is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]

BLOCK = 1 << 16
"""Elements that are looked through while they are in the cache."""

SIGNED = {size: (np.dtype(f"i{size}"), -(1 << 8 * size - 1)) for size in (2, 4, 8)}
"""Words by the bytes of a float, and the least of them, which is that of -0."""
UNSIGNED = {size: (np.dtype(f"u{size}"), 0) for size in SIGNED}
"""Those of which that of 0 is the least."""


def extreme_of(ufunc: np.ufunc, a: Array, b: Array) -> Array:
    """Return ``np.maximum`` or ``np.minimum`` of two arrays of one dtype."""
    if a.dtype.kind != "f" or (b.size == 1 and b.item()):  # no zeros, or not in both
        return np.asarray(ufunc(a, b))
    if a.size <= BLOCK or a.shape != b.shape or not a.flags.c_contiguous & b.flags.c_contiguous:
        return _mended(ufunc, a, b, np.asarray(ufunc(a, b)))
    y = np.empty_like(a)
    flat = [one.reshape(-1) for one in (a, b, y)]
    for first in range(0, y.size, BLOCK):
        left, right, part = (one[first : first + BLOCK] for one in flat)
        _mended(ufunc, left, right, ufunc(left, right, out=part))
    return y


def _mended(ufunc: np.ufunc, a: Array, b: Array, y: Array) -> Array:
    if _is_suspect(ufunc, y) and (_is_suspect(np.maximum, a) or _is_suspect(np.maximum, b)):
        join = np.bitwise_and if ufunc is np.maximum else np.bitwise_or
        join(_words(a), _words(b), out=_words(y), where=(a == 0) & (b == 0))
    return y


def zeros_in_order(ufunc: np.ufunc, y: Array, x: Array, reduce: Callable[[Array], Array]) -> Array:
    """Return ``y``, a reduction of ``x`` by ``ufunc``, with its zeros mended in place.

    Args:
        ufunc: ``np.maximum`` or ``np.minimum``.
        y: The result as NumPy gives it.
        x: What was reduced.
        reduce: Makes ``y`` of ``x``; called with the words of ``x``, which are negative where an
            element's sign is set.
    """
    if y.dtype.kind == "f" and _is_suspect(ufunc, y) and _is_suspect(np.maximum, x):
        signs = np.where(reduce(_words(x)) < 0, y.dtype.type(-0.0), y.dtype.type(0.0))
        np.copyto(y, signs, where=y == 0)
    return y


def _is_suspect(ufunc: np.ufunc, y: Array) -> bool:
    """Say whether ``y`` has a zero that may be of the wrong sign: -0 of maxima, 0 of minima."""
    kinds = SIGNED if ufunc is np.maximum else UNSIGNED
    word, least = kinds[y.itemsize]
    return y.size > 0 and np.minimum.reduce(y.view(word), axis=None) == least


def _words(x: Array) -> Array:
    return x.view(SIGNED[x.itemsize][0])
