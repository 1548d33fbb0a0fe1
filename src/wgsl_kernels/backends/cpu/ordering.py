"""Sorting by whole numbers of 64 bits: an element's value above, its place below.

NumPy sorts such numbers with vector instructions, several times faster than it finds the order of
floats, and all are different, so that any method of sorting is stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.threads import each

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]

LOW = np.int64(0xFFFFFFFF)
PART = 1 << 17
"""Elements of rows that are sorted at a time, so that they stay in the cache."""

FEW = 1 << 12
"""Elements below which NumPy's stable order is found as fast."""


def can_be_keys(x: Array) -> bool:
    """Say whether ``x`` is of bools or numbers of at most 32 bits in rows of less than 2^32."""
    return x.dtype.kind in "fib" and x.dtype.itemsize <= 4 and x.size > FEW


def _keys(x: Array, places: Array) -> Array:
    """Return int64 in the order of the values, NaN last and -0 equal to 0, then of the places."""
    if x.dtype.kind == "f":
        values = np.asarray(x, np.float32) + np.float32(0)  # one zero
        unordered = np.isnan(values)
        if unordered.any():
            values[unordered] = np.nan
        bits = values.view(np.int32)
        bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)  # negative ones in their order
    else:
        bits = x.astype(np.int32)
    keys = bits.astype(np.int64)
    keys <<= 32
    keys |= places
    return keys


def top_places(x: Array, count: int) -> Array:
    """Return, as int32, where the ``count`` largest of each row stand, from the largest down.

    NaN is larger than all, and of equals the first comes first.
    """
    length = x.shape[-1]
    if not can_be_keys(x):
        # NumPy sorts upward, stably and with NaN last: reversed rows, read from the end.
        upward = np.argsort(x[..., ::-1], axis=-1, kind="stable")
        return np.asarray(length - 1 - upward[..., ::-1][..., :count]).astype(np.int32)
    backward = LOW - np.arange(length)

    def find(rows: Array) -> Array:
        keys = _keys(rows, backward)
        if 0 < count < length // 2:
            keys.partition(length - count, axis=-1)
            keys = keys[:, length - count :]
        keys.sort(axis=-1)
        return LOW - (keys[:, ::-1][:, :count] & LOW)

    return _of_rows(x, count, find)


def bottom_places(x: Array, count: int) -> Array:
    """Return, as int32, where the ``count`` smallest of each row stand, from the smallest up.

    NaN is larger than all, and of equals the first comes first.
    """
    if not can_be_keys(x):
        return np.argsort(x, axis=-1, kind="stable")[..., :count].astype(np.int32)
    length = x.shape[-1]

    def find(rows: Array) -> Array:
        keys = _keys(rows, np.arange(length))
        if 0 < count < length // 2:
            keys.partition(count - 1, axis=-1)
            keys = keys[:, :count]
        keys.sort(axis=-1)
        return keys[:, :count] & LOW

    return _of_rows(x, count, find)


def _of_rows(x: Array, count: int, find: Callable[[Array], Array]) -> Array:
    """Return, as int32, the ``count`` places of each row that ``find`` gives for some rows."""
    length = x.shape[-1]
    rows = x.reshape(-1, length)
    places = np.empty((len(rows), min(count, length)), np.int32)

    def fill(some: slice) -> None:
        places[some] = find(rows[some])

    at_once = max(PART // length, 1)
    each(fill, [slice(first, first + at_once) for first in range(0, len(rows), at_once)])
    return places.reshape(*x.shape[:-1], -1)


def sorted_places(x: Array, *, descending: bool) -> Array:
    """Return, as int32, where the elements of each row stand in order; NaN is larger than all.

    Of equals the first comes first, whatever the direction.
    """
    return (top_places if descending else bottom_places)(x, x.shape[-1])


def distinct(x: Array) -> tuple[Array, Array]:
    """Return where each distinct value of a row first stands, and which of these each element is.

    The distinct ones come in the order in which they first occur; NaN equals NaN.
    """
    keys = _keys(x, np.arange(len(x)))
    keys.sort()
    places = keys & LOW
    keys >>= 32
    begins = np.concatenate([[True], keys[1:] != keys[:-1]])
    first = places[begins]
    order = np.argsort(first)
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    indices = np.empty(len(x), np.int32)
    indices[places] = numbers[np.cumsum(begins) - 1]
    return first[order], indices
