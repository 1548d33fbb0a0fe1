"""Functions of one element of each array, on large arrays in several threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from wgsl_kernels.backends.cpu.threads import each

Array = np.ndarray[Any, Any]

PART = 1 << 17
"""Elements that are computed at a time."""

LARGE = 32 * PART
"""Elements from which a second thread wakes early enough to be of use.

A sum or product of two arrays is done before it has: its time is that of memory.
"""


def mapped(ufunc: np.ufunc, *operands: Array) -> Array:
    """Return ``ufunc`` of arrays, broadcast: what NumPy gives, to the bit.

    Large ones are cut along the first axis where all are float32 without gaps.
    """
    for one in operands:
        if one.size >= LARGE:
            return _in_parts(ufunc, operands)
    return np.asarray(ufunc(*operands))


def _in_parts(ufunc: np.ufunc, operands: tuple[Array, ...]) -> Array:
    if not all(one.dtype == np.float32 and one.flags.c_contiguous for one in operands):
        return np.asarray(ufunc(*operands))
    shape = np.broadcast_shapes(*(one.shape for one in operands))
    whole: Array = np.empty(shape, np.float32)
    y = whole
    if all(one.shape == shape or one.size == 1 for one in operands):
        operands = tuple(one.reshape(-1) for one in operands)
        y = whole.reshape(-1)
    lines = max(PART * len(y) // max(y.size, 1), 1)

    def compute(first: int) -> None:
        here = slice(first, first + lines)
        given = [one[here] if one.ndim == y.ndim and len(one) > 1 else one for one in operands]
        ufunc(*given, out=y[here])

    each(compute, range(0, len(y), lines))
    return whole
