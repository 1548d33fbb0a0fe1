"""The fixed tree along which a sum is added, whoever has which of its leaves.

A node is known by its level and its place there: node (level, k) is the sum of the nodes 2 k and
2 k + 1 of the level below, left + right; one without a neighbour is its left part alone. So a sum
has the same bits for any number of workers, and in whatever order parts of it meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    Array: TypeAlias = np.ndarray[tuple[int], np.dtype[np.floating]]
    Nodes: TypeAlias = dict[tuple[int, int], Array]


def shares(count: int, size: int) -> list[int]:
    """Return where contiguous shares of so many things begin, one for each rank, and the end."""
    return [count * rank // size for rank in range(size + 1)]


def leaves_of(values: Sequence[Array], first: int) -> Nodes:
    """Return leaves, of which the first has a number."""
    return {(0, first + at): one for at, one in enumerate(values)}


def joined(nodes: Mapping[tuple[int, int], Array], count: int) -> Nodes:
    """Return nodes of a tree of ``count`` leaves, added as far as both parts are there."""
    found = dict(nodes)
    level, width = 0, count
    while width > 1:
        for at in sorted({k & ~1 for own, k in found if own == level}):
            left, right = (level, at), (level, at + 1)
            if at + 1 == width and left in found:
                found[level + 1, at // 2] = found.pop(left)
            elif left in found and right in found:
                found[level + 1, at // 2] = found.pop(left) + found.pop(right)
        level, width = level + 1, (width + 1) // 2
    return found


def root_of(nodes: Mapping[tuple[int, int], Array], count: int) -> Array:
    """Return the sum of all leaves.

    Raises:
        ValueError: Some are missing.
    """
    found = joined(nodes, count)
    if len(found) != 1:
        raise ValueError(
            f"of {count} leaves some are missing; there are the nodes {sorted(found)}."
        )
    return next(iter(found.values()))


def part_of(nodes: Mapping[tuple[int, int], Array], begin: int, end: int) -> Nodes:
    """Return elements ``begin`` to ``end`` of each node."""
    return {node: one[begin:end] for node, one in nodes.items()}
