"""The program of a group of maps: one dispatch, several where a limit cuts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.text.structure import OWN
from wgsl_kernels.backends.webgpu.fusion.graph import COST_MAX, TOO_MANY, VIEW, cost_of
from wgsl_kernels.backends.webgpu.lowering.map import map_grid, map_loop, walk_across
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.building import Bound, Composition, build
from wgsl_kernels.backends.webgpu.programs.program import BindingResource, Program
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup
    from wgsl_kernels.backends.webgpu.fusion.parts import FusedStructure
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch


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


def lower_group(
    group: FusionGroup,
    parts: Sequence[tuple[GroupDispatch, FusedStructure]],
    adapter: Adapter,
) -> tuple[Program, tuple[int, ...]]:
    """Return the program of a group that was cut into parts, and the node that each result is.

    Its inputs are the group's leaves.
    """
    places = {~n: BindingResource("input", n) for n in range(len(group.leaves))}
    buffers: list[Spec] = []
    nodes: list[int] = []
    dispatches: list[Dispatch] = []
    for part, fused in parts:
        for n in part.outputs:
            node = group.nodes[n]
            places[n] = BindingResource("buffer", len(buffers))
            buffers.append(Spec(node.shape, node.dtype))
            nodes.append(n)
        dispatches.append(_dispatch(group, part, fused, adapter, places))
    held = tuple([k for k, n in enumerate(nodes) if group.held[n]])
    program = Program(tuple(dispatches), tuple(buffers), held)
    return program, tuple([nodes[k] for k in held])


def _dispatch(
    group: FusionGroup,
    part: GroupDispatch,
    fused: FusedStructure,
    adapter: Adapter,
    places: dict[int, BindingResource],
) -> Dispatch:
    structure, size = fused.structure, group.nodes[-1].size
    items = -(-size // 4) if structure.vec4 else size
    across = fused.across if adapter.policy.walks_across else None
    kernels = tuple([step.kind.kernel for step in structure.steps])
    loop = map_loop(adapter.policy, vec4=structure.vec4, across=across is not None)
    composition = Composition(
        " + ".join(kernels),
        structure.steps[0].kind.source,
        options=Options(loop=loop, maps=structure, across=across),
    )
    composed = composition.composed()
    facts: dict[str, Any] = {OWN + name: value for name, value in fused.facts.items()}
    facts["wk_size"] = size
    if across is None:
        grid = map_grid(adapter, composed, items)
    else:
        walk, grid = walk_across(composed, across.size, across.inner, items)
        facts |= walk
    for step, number in enumerate(part.nodes):
        for name, value in group.nodes[number].op.fixed.items():
            facts[f"{step}.{name}"] = value
    names = [f"{OWN}l{n}" for n in range(len(part.leaves))]
    names += [f"{OWN}y{step}" for step in structure.outputs]
    arguments: dict[str, Argument] = {}
    for name, ref in zip(names, (*part.leaves, *part.outputs), strict=True):
        array = group.leaves[~ref] if ref < 0 else group.nodes[ref]
        arguments[name] = Argument(array.shape, array.dtype, array.layout, places[ref])
    reads = enumerate(structure.leaves)
    values = [(f"{names[n]}_value", ~part.leaves[n]) for n, one in reads if one.mode == "value"]
    bound = Bound(arguments, values=tuple(values))
    return build(adapter, composition, composed, grid, bound, facts, kernels=kernels, cut=part.why)
