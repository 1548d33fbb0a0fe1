"""Sums of float32 along axes, in short chains and at the speed of memory.

NumPy's own reduction adds row after row along leading axes, element by element where rows are
short, and its sums along the last axis do without vectors.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]

ADD: np.ufunc = np.add  # by its general type, whose reduce takes any argument

WIDTH = 1024
"""Elements that are added at once along leading axes, or in one chain along the last."""

WIDE = 2 * WIDTH
"""Elements that are added at once where there are many: their sums still fit into the L1 cache."""

CHAIN = 256
"""Rows that are added one after the other."""

PAGE = 4096
LINE = 64
"""Bytes of a page and of a line of the cache."""

SCRATCH = 1 << 18
"""Bytes that a thread keeps for sums on the way."""


def total(x: Array, axes: Sequence[int], *, keepdims: bool = False) -> Array:
    """Return the sum along ``axes``, counted from the front, in the dtype of ``x``.

    float32 is added in parts of at most `WIDTH` elements, and many parts in double precision. Where
    they are few, and of all other dtypes, NumPy adds; where their layout in memory has gaps, too,
    but no more than `CHAIN` elements one after the other.
    """
    worth = x.dtype == np.float32 and x.size > 4 * WIDTH and axes
    if worth and x.flags.c_contiguous and max(axes) == len(axes) - 1:
        # The leading ones, by as little Python as can be: after an array that has filled the cache
        # it comes from memory too.
        left = x.shape[len(axes) :]
        y = _along(x.reshape(1, -1, math.prod(left)))
        return y.reshape((1,) * len(axes) + left if keepdims else left)
    ordered = _in_memory_order(x) if worth else None
    if ordered is None:
        if worth and math.prod(x.shape[axis] for axis in axes) > CHAIN:
            return _with_gaps(x, axes, keepdims=keepdims)
        return np.asarray(ADD.reduce(x, axis=tuple(axes), keepdims=keepdims))
    whole, order = ordered
    kept = [axis for axis in order if axis not in axes]
    y = _summed(whole, [axis in axes for axis in order])
    y = y.reshape([x.shape[axis] for axis in kept])
    y = y.transpose([kept.index(axis) for axis in sorted(kept)])
    return np.expand_dims(y, tuple(axes)) if keepdims else y


def deviations(x: Array, axes: Sequence[int]) -> Array:
    """Return a new array of ``x`` less its mean along ``axes``, counted from the front.

    The error of the mean, which grows with its size, is measured and taken away too. Where a sum of
    float32 overflows, the deviations are those of the mean in double precision, within the range
    of float32.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    y = np.asarray(x - total(x, axes, keepdims=True) / count)
    rest = np.asarray(total(y, axes, keepdims=True) / count)
    y -= rest
    if x.dtype == np.float32 and not math.isfinite(ADD.reduce(rest, axis=None)):
        y = np.where(np.isfinite(rest), y, _double_deviations(x, tuple(axes), count))
    return y


def _double_deviations(x: Array, axes: tuple[int, ...], count: int) -> Array:
    """Return what `deviations` does of float32, by sums that cannot overflow."""
    y = x.astype(np.float64)
    y -= ADD.reduce(y, axis=axes, keepdims=True) / count
    limit = float(np.finfo(np.float32).max)
    return np.clip(y, -limit, limit, out=y).astype(np.float32)


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


def _with_gaps(x: Array, axes: Sequence[int], *, keepdims: bool) -> Array:
    """Return the sum along ``axes``, of which the one whose elements are nearest comes first."""
    first, *rest = sorted(axes, key=lambda axis: abs(x.strides[axis]))
    y = _in_chains(x, first)
    if rest:
        y = total(y, rest, keepdims=True)
    return y if keepdims else np.squeeze(y, tuple(axes))


def _in_chains(x: Array, axis: int) -> Array:
    """Return the sum along one axis, kept, whatever gaps there are in memory.

    Along the axis whose elements are nearest NumPy adds in pairs; along others one after the other.
    """
    steps = [abs(step) for step, length in zip(x.strides, x.shape, strict=True) if length > 1]
    length, before = x.shape[axis], (slice(None),) * axis
    if length <= CHAIN or 0 < abs(x.strides[axis]) == min(step for step in steps if step):
        return np.asarray(ADD.reduce(x, axis=axis, keepdims=True))
    blocks = length // CHAIN
    chains = x[(*before, slice(blocks * CHAIN))]  # an axis in two is a view
    chains = chains.reshape(*x.shape[:axis], blocks, CHAIN, *x.shape[axis + 1 :])
    sums = ADD.reduce(chains, axis=axis + 1)
    y = ADD.reduce(sums, axis=axis, keepdims=True, dtype=np.float64)
    y += ADD.reduce(x[(*before, slice(blocks * CHAIN, None))], axis=axis, keepdims=True)
    return np.asarray(y.astype(np.float32))


def _along(x: Array) -> Array:
    """Return the sum of [outer, length, inner] along its middle: [outer, inner]."""
    outer, length, inner = x.shape
    if inner == 1:
        if length <= WIDTH:
            return np.asarray(np.einsum("ijk->ik", x))
        blocks, chain, group = length // WIDTH, WIDTH, 1
    else:
        width = WIDE if outer == 1 and length * inner >= CHAIN * WIDTH else WIDTH
        group = min(max(width // inner, 1), length)  # so many short rows make a wide one
        count = length // group
        blocks = -(-count // CHAIN)
        chain = count // blocks
    whole = blocks * chain * group
    parts = x[:, :whole].reshape(outer, blocks, chain, group * inner)
    if inner == 1:
        sums = np.einsum("ijkl->ijl", parts)
    else:
        sums = _room(parts) if outer == 1 else None
        sums = ADD.reduce(parts, axis=2, out=sums)
    rows = blocks * group
    wide = np.float32 if rows <= CHAIN and inner > 1 else np.float64
    y: Array = ADD.reduce(sums.reshape(outer, rows, inner), axis=1, dtype=wide)
    if whole < length:
        rest = x[:, whole:]
        y += _along(rest) if outer == 1 else ADD.reduce(rest, axis=1)
    return y if wide is np.float32 else y.astype(np.float32)


class _SumScratch(threading.local):
    """Memory of a thread for sums on the way: to ask for it each time costs more than these."""

    def __init__(self) -> None:
        self.memory = np.empty(SCRATCH + PAGE, np.uint8)
        self.address = self.memory.ctypes.data


_scratch = _SumScratch()


def _room(parts: Array) -> Array | None:
    """Return room for the sums of [1, blocks, chain, width] along the chain, None if it is much.

    It begins at a line of the cache and, within pages of 4096 bytes, half a page before the parts:
    where a processor takes an address that it reads for one that it has just written, since they
    agree in these bits, it waits. This is up to a third of the time that the sum takes.
    """
    _, blocks, _, width = parts.shape
    if blocks * width * parts.itemsize > SCRATCH:
        return None
    wanted = parts.__array_interface__["data"][0] // LINE * LINE - PAGE // 2
    start = (wanted - _scratch.address) % PAGE
    return np.ndarray((1, blocks, width), parts.dtype, _scratch.memory, start)
