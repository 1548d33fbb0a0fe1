"""The sizes of attention, which inputs fit, and its scores block by block.

So they are never all in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.values.shapes import broadcast_shapes, require_dtype, require_rank, show

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec

SCORES_ON_CPU = 1 << 19
"""Scores that the CPU has in memory at a time: they stay in its second cache."""


@dataclass(frozen=True, slots=True)
class AttentionSizes:
    """The sizes of attention.

    The heads that share keys and their queries are the rows of one group: there are
    ``sharing * steps`` rows, head by head.

    Attributes:
        batch: Elements of the batch.
        key_heads: Heads of keys and values.
        sharing: Heads of queries that share one of them.
        steps: Queries of a head.
        length: Keys of a head.
        size: Numbers of a query, and of a key.
        value_size: Numbers of a value.
    """

    batch: int
    key_heads: int
    sharing: int
    steps: int
    length: int
    size: int
    value_size: int

    @classmethod
    def of(cls, query: Shape, key: Shape, value: Shape) -> AttentionSizes:
        """Return the sizes for inputs of these shapes, which fit each other."""
        batch, heads, steps, size = query
        key_heads, length = key[1:3]
        return cls(batch, key_heads, heads // key_heads, steps, length, size, value[3])

    @property
    def groups(self) -> int:
        return self.batch * self.key_heads

    @property
    def rows(self) -> int:
        """Queries that share keys."""
        return self.sharing * self.steps

    @property
    def scores(self) -> int:
        return self.groups * self.rows * self.length


def fit(query: Shape, key: Shape, value: Shape) -> bool:
    """Say whether inputs of these shapes, of at least three axes, fit each other."""
    return (
        query[:-3] == key[:-3] == value[:-3]
        and query[-1] == key[-1]
        and key[-3:-1] == value[-3:-1]
        and key[-3] > 0
        and query[-3] % key[-3] == 0
    )


def sums_dtype(query: Spec) -> DType:
    """Return the dtype of what is summed over keys."""
    return "float32" if query.dtype == "float16" else query.dtype


def check_inputs(kernel: str, query: Spec, key: Spec, value: Spec, mask: Spec | None) -> None:
    """Refuse inputs that do not fit each other.

    Raises:
        ShapeError: They do not, or one has not four axes.
        DTypeError: One is of another dtype.
    """
    for name, one in (("query", query), ("key", key), ("value", value)):
        require_rank(kernel, name, one, 4)
        require_dtype(kernel, name, one, "float32")
    if not fit(query.shape, key.shape, value.shape):
        raise ShapeError(
            f"{kernel}: query has shape {show(query.shape)}, key {show(key.shape)}, value "
            f"{show(value.shape)}; want [batch, heads, steps, size], [batch, key heads, length, "
            "size] and [batch, key heads, length, value size], with key heads that divide heads."
        )
    if mask is None:
        return
    if mask.dtype not in ("bool", query.dtype):
        raise DTypeError(f"{kernel}: mask has dtype {mask.dtype}; want bool or {query.dtype}.")
    want = (*query.shape[:3], key.shape[2])
    if mask.ndim != 4 or broadcast_shapes(mask.shape, want) != want:
        raise ShapeError(
            f"{kernel}: mask has shape {show(mask.shape)}; want four axes that broadcast to "
            f"{show(want)}, [batch, heads, steps, length]."
        )


@dataclass(frozen=True, slots=True)
class ScoreBlock:
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

    @property
    def places(self) -> tuple[slice, slice]:
        """Where its groups and its rows are."""
        return slice(self.group, self.group + self.groups), slice(self.row, self.row + self.rows)


def blocks_of(sizes: AttentionSizes, most: int, *, causal: bool) -> list[ScoreBlock]:
    """Return blocks of about ``most`` scores that cover all rows.

    A block has either all rows of its groups, or rows of one group. Where it has rows of one head,
    it leaves out keys that are after all of them.
    """
    if sizes.rows * sizes.length <= most:
        count = max(most // max(sizes.rows * sizes.length, 1), 1)
        return [
            ScoreBlock(first, min(count, sizes.groups - first), 0, sizes.rows, sizes.length)
            for first in range(0, sizes.groups, count)
        ]
    parts = _parts_of_group(sizes, max(most // sizes.length, 1), causal)
    return [
        ScoreBlock(group, 1, row, rows, keys)
        for group in range(sizes.groups)
        for row, rows, keys in parts
    ]


def _parts_of_group(sizes: AttentionSizes, rows: int, causal: bool) -> list[tuple[int, int, int]]:
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


def grouped(x: Array, sizes: AttentionSizes) -> Array:
    """Return [groups, rows, ...] of [batch, heads, steps, ...]."""
    return x.reshape(sizes.groups, sizes.rows, *x.shape[3:])


def masked(
    scores: Array, mask: Array | None, sizes: AttentionSizes, block: ScoreBlock, *, causal: bool
) -> Array:
    """Return a block's scores, [groups, rows, keys], -Inf where a row attends to no key.

    Args:
        scores: Those without a mask, which are changed.
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
            np.copyto(scores, -np.inf, where=~given)
        else:
            scores += given
    if causal:
        last = steps + (sizes.length - sizes.steps)
        np.copyto(scores, -np.inf, where=np.arange(block.keys) > last[:, None])
    return scores
