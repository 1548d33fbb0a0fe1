"""Sums of float32 along axes, in short chains and at the speed of memory.

NumPy's own reduction adds row after row along leading axes, element by element where rows are
short, and its sums along the last axis do without vectors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]

ADD: np.ufunc = np.add  # by its general type, whose reduce takes any argument

WIDTH = 1024
"""Elements that are added at once along leading axes, or in one chain along the last."""

CHAIN = 256
"""Rows that are added one after the other."""


def total(x: Array, axes: Sequence[int], *, keepdims: bool = False) -> Array:
    """Return the sum along ``axes``, counted from the front, in the dtype of ``x``.

    float32 is added in parts of at most `WIDTH` elements, and many parts in double precision. Where
    they are few or their layout in memory has gaps, and of all other dtypes, NumPy adds.
    """
    worth = x.dtype == np.float32 and x.size > 4 * WIDTH and axes
    ordered = _in_memory_order(x) if worth else None
    if ordered is None:
        return np.asarray(ADD.reduce(x, axis=tuple(axes), keepdims=keepdims))
    whole, order = ordered
    kept = [axis for axis in order if axis not in axes]
    y = _summed(whole, [axis in axes for axis in order])
    y = y.reshape([x.shape[axis] for axis in kept])
    y = y.transpose([kept.index(axis) for axis in sorted(kept)])
    return np.expand_dims(y, tuple(axes)) if keepdims else y


def deviations(x: Array, axes: Sequence[int]) -> Array:
    """Return a new array of ``x`` less its mean along ``axes``, counted from the front.

    The error of the mean, which grows with its size, is measured and taken away too.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    y = np.asarray(x - total(x, axes, keepdims=True) / count)
    y -= total(y, axes, keepdims=True) / count
    return y


def _in_memory_order(x: Array) -> tuple[Array, Sequence[int]] | None:
    """Return ``x`` with its axes as they lie in memory, and which these are; None with gaps."""
    if x.flags.c_contiguous:
        return x, range(x.ndim)
    order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
    whole = x.transpose(order)
    return (whole, order) if whole.flags.c_contiguous else None


def _summed(x: Array, is_summed: list[bool]) -> Array:
    """Return the sum along the axes so marked, from the last to the first."""
    lengths = list(x.shape)
    end = len(lengths)
    while end:
        begin = end
        while begin and is_summed[begin - 1] == is_summed[end - 1]:
            begin -= 1
        if is_summed[end - 1]:
            inner = math.prod(lengths[end:])
            x = _along(x.reshape(-1, math.prod(lengths[begin:end]), inner))
            lengths[begin:end] = [1] * (end - begin)
        end = begin
    return x


def _along(x: Array) -> Array:
    """Return the sum of [outer, length, inner] along its middle: [outer, inner]."""
    outer, length, inner = x.shape
    if inner == 1:
        if length <= WIDTH:
            return np.asarray(np.einsum("ijk->ik", x))
        blocks, chain, group = length // WIDTH, WIDTH, 1
    else:
        group = min(max(WIDTH // inner, 1), length)  # so many short rows make a wide one
        count = length // group
        blocks = -(-count // CHAIN)
        chain = count // blocks
    whole = blocks * chain * group
    parts = x[:, :whole].reshape(outer, blocks, chain, group * inner)
    sums = np.einsum("ijkl->ijl", parts) if inner == 1 else np.add.reduce(parts, axis=2)
    if blocks * group == 1 and whole == length:
        return np.asarray(sums).reshape(outer, inner)
    few = group == 1 < inner and blocks <= CHAIN
    wide = np.float32 if few else np.float64
    y = np.add.reduce(sums.reshape(outer, blocks * group, inner), axis=1, dtype=wide)
    if whole < length:
        y += np.add.reduce(x[:, whole:], axis=1)
    return np.asarray(y).astype(np.float32, copy=False)
