"""Running sums and products along an axis, counted in a wider dtype without holding all of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wgsl_kernels.backends.cpu.precision import BLOCK, WIDER

Array = np.ndarray[Any, Any]

WIDE = 256
"""Elements side by side from which a step at a time along the axis is quick."""


def accumulated(combine: np.ufunc, x: Array, axis: int, dtype: np.dtype[Any]) -> Array:
    """Return ``combine`` of the elements of ``x`` along ``axis`` up to each, as ``dtype``."""
    wide = WIDER.get(x.dtype, dtype)
    y = np.empty(x.shape, dtype)
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    if x.size <= BLOCK:
        y[...] = combine.accumulate(x, axis=axis, dtype=wide)
    elif outer * inner >= WIDE and inner > 1:
        _by_steps(combine, np.moveaxis(x, axis, 0), np.moveaxis(y, axis, 0), wide)
    else:
        shape = (outer, x.shape[axis], inner)
        fill = _by_halves if combine is np.add and wide == np.float64 else _by_blocks
        fill(combine, x.reshape(shape), y.reshape(shape), wide)
    return y


def _by_steps(combine: np.ufunc, x: Array, y: Array, wide: np.dtype[Any]) -> None:
    """Fill ``y`` along the first axis, all else at once."""
    total = x[0].astype(wide)
    y[0] = total
    for one, result in zip(x[1:], y[1:], strict=True):
        combine(total, one, out=total)
        result[...] = total


def _by_blocks(combine: np.ufunc, x: Array, y: Array, wide: np.dtype[Any]) -> None:
    """Fill ``y`` along the middle axis, in blocks that stay in the cache."""
    outer, length, inner = x.shape
    rows = max(BLOCK // (length * inner), 1)
    columns = max(BLOCK // inner, 1)
    for top in range(0, outer, rows):
        carry: Array | None = None
        for left in range(0, length, columns):
            here = (slice(top, top + rows), slice(left, left + columns))
            block = x[here].astype(wide)
            if carry is not None:
                combine(carry, block[:, 0], out=block[:, 0])
            combine.accumulate(block, axis=1, out=block)
            y[here] = block
            carry = block[:, -1]


def _by_halves(combine: np.ufunc, x: Array, y: Array, wide: np.dtype[Any]) -> None:
    """Fill ``y`` with sums along the middle axis, in blocks of which both halves run at once.

    A sum waits for the one before, not for memory: a half is the real part, the other the
    imaginary part of complex numbers, which takes half as many steps.
    """
    outer, length, inner = x.shape
    rows = max(2 * BLOCK // (length * inner), 1)
    columns = max(2 * BLOCK // inner, 1)
    for top in range(0, outer, rows):
        carry: Array | float = -0.0  # which leaves every number as it is
        for left in range(0, length, columns):
            here = (slice(top, top + rows), slice(left, left + columns))
            block, result = x[here], y[here]
            half = -(-block.shape[1] // 2)
            rest = block.shape[1] - half
            both = np.empty((len(block), half, inner, 2), wide)
            both[..., 0] = block[:, :half]
            both[:, :rest, :, 1] = block[:, half:]
            both[:, rest:, :, 1] = -0.0  # nothing: it is added to the carry, too
            both[:, 0, :, 0] += carry
            sums = both.view(np.complex128)
            combine.accumulate(sums, axis=1, out=sums)
            middle = both[:, -1:, :, 0]
            result[:, :half] = both[..., 0]
            np.add(both[:, :rest, :, 1], middle, out=result[:, half:], casting="same_kind")
            carry = middle[:, 0] + both[:, -1, :, 1]
