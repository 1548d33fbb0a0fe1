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


def extreme_of(ufunc: np.ufunc, a: Array, b: Array) -> Array:
    """Return ``np.maximum`` or ``np.minimum`` of two arrays of one dtype."""
    y = np.asarray(ufunc(a, b))
    if _may_err(ufunc, y, a, b):
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
    if _may_err(ufunc, y, x):
        signs = np.where(reduce(_words(x)) < 0, y.dtype.type(-0.0), y.dtype.type(0.0))
        np.copyto(y, signs, where=y == 0)
    return y


def _may_err(ufunc: np.ufunc, y: Array, *operands: Array) -> bool:
    if y.dtype.kind != "f":
        return False
    if ufunc is np.maximum:
        return _has_negative_zero(y)
    least = np.minimum.reduce(y.view(f"u{y.itemsize}"), axis=None, initial=1)
    return least == 0 and any(_has_negative_zero(one) for one in operands)


def _has_negative_zero(x: Array) -> bool:
    """Say whether the least word is in ``x``, which is that of -0."""
    words = _words(x)
    least = np.minimum.reduce(words, axis=None, initial=0)
    return bool(least == np.iinfo(words.dtype).min)


def _words(x: Array) -> Array:
    return x.view(f"i{x.itemsize}")
