"""In which order a replay dispatches: so that little has to lie in memory at once."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

AHEAD = 64
"""Dispatches that could be next, among which one is chosen."""

Use = tuple["frozenset[Hashable]", "frozenset[Hashable]"]
"""What a dispatch names, and what of it is written."""


def sparing_order(uses: Sequence[Use], sizes: Mapping[Hashable, int]) -> list[int]:
    """Return an order of dispatches that computes the same and keeps less at a time.

    What reads a buffer stays between the writes before and behind it, so every dispatch finds the
    bytes that it found. Among those that may be next, the one is taken after which the least is
    kept: a gradient's last use comes before the next layer's, wherever Python asked for it.

    Args:
        uses: For each dispatch what it names.
        sizes: The bytes of what takes memory from the first dispatch that names it to the last.
    """
    after, blockers = _constraints(uses)
    left: dict[Hashable, int] = {}
    for names, _ in uses:
        for name in names & sizes.keys():
            left[name] = left.get(name, 0) + 1
    total = dict(left)
    ready = [number for number, count in enumerate(blockers) if not count]
    order: list[int] = []

    def growth(number: int) -> int:
        """Return the bytes that are kept more after a dispatch."""
        names = uses[number][0] & left.keys()
        begun = sum(sizes[name] for name in names if left[name] == total[name])
        return begun - sum(sizes[name] for name in names if left[name] == 1)

    while ready:
        first = [heappop(ready) for _ in range(min(AHEAD, len(ready)))]
        chosen = min(first, key=growth)  # of equals the earliest
        for number in first:
            if number != chosen:
                heappush(ready, number)
        order.append(chosen)
        for name in uses[chosen][0] & left.keys():
            left[name] -= 1
        for number in after[chosen]:
            blockers[number] -= 1
            if not blockers[number]:
                heappush(ready, number)
    return order


def _constraints(uses: Sequence[Use]) -> tuple[list[set[int]], list[int]]:
    """Return for each dispatch those that must come later, and how many must come before it."""
    after: list[set[int]] = [set() for _ in uses]
    writer: dict[Hashable, int] = {}
    readers: dict[Hashable, list[int]] = {}
    blockers: list[int] = []
    for number, (names, written) in enumerate(uses):
        before = {writer[name] for name in names if name in writer}
        for name in written:
            before.update(readers.pop(name, ()))
            writer[name] = number
        for name in names - written:
            readers.setdefault(name, []).append(number)
        for one in before:
            after[one].add(number)
        blockers.append(len(before))
    return after, blockers
