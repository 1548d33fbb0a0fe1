"""The scores of attention block by block, so that they are never all in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.ops.linear_algebra.attention_sizes import Sizes


SCORES_ON_CPU = 1 << 19
"""Scores that the CPU has in memory at a time: they stay in its second cache."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of some groups.

    Attributes:
        group: The first group.
        groups: How many there are.
        row: The first row of each.
        rows: How many there are.
        keys: How many of the keys they can attend to, from the first on.
    """

    group: int
    groups: int
    row: int
    rows: int
    keys: int


def blocks_of(sizes: Sizes, most: int, *, causal: bool) -> list[Block]:
    """Return blocks of about ``most`` scores that cover all rows.

    A block has either all rows of its groups, or rows of one group. Where it has rows of one head,
    it leaves out keys that are after all of them.
    """
    if sizes.rows * sizes.length <= most:
        count = max(most // max(sizes.rows * sizes.length, 1), 1)
        return [
            Block(first, min(count, sizes.groups - first), 0, sizes.rows, sizes.length)
            for first in range(0, sizes.groups, count)
        ]
    parts = _parts_of_group(sizes, max(most // sizes.length, 1), causal)
    return [
        Block(group, 1, row, rows, keys)
        for group in range(sizes.groups)
        for row, rows, keys in parts
    ]


def _parts_of_group(sizes: Sizes, rows: int, causal: bool) -> list[tuple[int, int, int]]:
    """Return the first row, the rows and the keys of each part of a group."""
    steps, length = sizes.steps, sizes.length
    if rows >= steps:
        count = rows // steps * steps
        firsts = range(0, sizes.rows, count)
        return [(first, min(count, sizes.rows - first), length) for first in firsts]
    parts: list[tuple[int, int, int]] = []
    for head in range(sizes.sharing):
        for first in range(0, steps, rows):
            count = min(rows, steps - first)
            keys = length - steps + first + count if causal else length
            keys = min(max(-(-keys // 4) * 4, 4), length)  # whole vectors, where all are
            parts.append((head * steps + first, count, keys))
    return parts


def grouped(x: Array, sizes: Sizes) -> Array:
    """Return [groups, rows, ...] of [batch, heads, steps, ...]."""
    return x.reshape(sizes.groups, sizes.rows, *x.shape[3:])


def masked(scores: Array, mask: Array | None, sizes: Sizes, block: Block, *, causal: bool) -> Array:
    """Return a block's scores, [groups, rows, keys], -Inf where a row attends to no key.

    Args:
        scores: Those without a mask; they may be changed.
        mask: What broadcasts to [batch, heads, steps, length].
        sizes: The sizes.
        block: Which scores these are.
        causal: Whether keys after a query are left out.
    """
    if mask is None and not causal:
        return scores
    groups = np.arange(block.group, block.group + block.groups)[:, None]
    rows = np.arange(block.row, block.row + block.rows)
    steps = rows % max(sizes.steps, 1)
    if mask is not None:
        batch, key_head = groups // sizes.key_heads, groups % sizes.key_heads
        head = key_head * sizes.sharing + rows // max(sizes.steps, 1)
        places = (batch, head, steps)
        chosen = [one % n for one, n in zip(places, mask.shape, strict=False)]
        given = mask[chosen[0], chosen[1], chosen[2], : block.keys]
        if given.dtype == np.bool_:
            scores = np.where(given, scores, scores.dtype.type(-np.inf))
        else:
            scores += given
    if causal:
        last = steps + (sizes.length - sizes.steps)
        scores[:, np.arange(block.keys) > last[:, None]] = -np.inf
    return scores
