"""Cutting a group into dispatches that fit the device's bindings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.fusion.graph import COST_MAX, TOO_MANY, VIEW, cost_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup


@dataclass(frozen=True, slots=True)
class GroupDispatch:
    """One dispatch of a group.

    Attributes:
        nodes: The numbers of its maps; views are left out.
        leaves: What it reads: ``~n`` for leaf ``n``, or a node of an earlier part.
        outputs: Which of its nodes it writes.
        why: Why it ends where it does, empty for the last.
    """

    nodes: tuple[int, ...]
    leaves: tuple[int, ...]
    outputs: tuple[int, ...]
    why: str


def cut(group: FusionGroup, bound: Sequence[bool], most: int) -> list[GroupDispatch]:
    """Return a group's dispatches in order; ``bound`` says which leaves count to ``most``."""
    refs = resolved(group)
    nodes = [n for n, array in enumerate(group.nodes) if array.op is not VIEW]
    last = {n: len(group.nodes) if group.held[n] else n for n in nodes}
    for n in nodes:
        for ref in refs[n]:
            if ref >= 0:
                last[ref] = max(last[ref], n)
    parts: list[GroupDispatch] = []
    start = 0
    while start < len(nodes):
        stop = _stop(group, nodes, start)
        end = _end(nodes[start:stop], refs, last, bound, most)
        mine = nodes[start : start + end]
        inside = set(mine)
        leaves = dict.fromkeys(ref for n in mine for ref in refs[n] if ref not in inside)
        outputs = tuple(n for n in mine if last[n] > mine[-1])
        start += end
        full = TOO_MANY if start == stop else f"{most} bindings"
        parts.append(
            GroupDispatch(tuple(mine), tuple(leaves), outputs, full if start < len(nodes) else "")
        )
    return parts


def _stop(group: FusionGroup, nodes: Sequence[int], start: int) -> int:
    """Return where ``nodes`` from ``start`` on begin to weigh more than a dispatch may."""
    cost = 0
    for stop in range(start, len(nodes)):
        cost += cost_of((group.nodes[nodes[stop]],))
        if cost > COST_MAX:
            return stop
    return len(nodes)


def resolved(group: FusionGroup) -> list[tuple[int, ...]]:
    """Return each node's operands with views replaced by what they are views of."""
    found: list[tuple[int, ...]] = []
    for refs in group.refs:
        mine: list[int] = []
        for ref in refs:
            at = ref
            while at >= 0 and group.nodes[at].op is VIEW:
                at = group.refs[at][0]
            mine.append(at)
        found.append(tuple(mine))
    return found


def _end(
    nodes: Sequence[int],
    refs: Sequence[tuple[int, ...]],
    last: dict[int, int],
    bound: Sequence[bool],
    most: int,
) -> int:
    """Return how many of ``nodes``, taken from the first, fit one dispatch: as many as can."""
    best = 1
    leaves: set[int] = set()
    inside: set[int] = set()
    for count, n in enumerate(nodes, start=1):
        leaves |= {ref for ref in refs[n] if ref not in inside and (ref >= 0 or bound[~ref])}
        inside.add(n)
        live = sum(last[one] > n for one in inside)
        if len(leaves) + live <= most:
            best = count
    return best
