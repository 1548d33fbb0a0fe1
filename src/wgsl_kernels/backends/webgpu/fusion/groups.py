"""The program of a group of maps: one dispatch, several where a limit cuts it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.compose import compose_group
from wgsl_kernels.backends.webgpu.composing.text.structure import OWN
from wgsl_kernels.backends.webgpu.lowering.map import map_grid, walk_across
from wgsl_kernels.backends.webgpu.programs.arguments import bound_bytes
from wgsl_kernels.backends.webgpu.programs.building import composed_once
from wgsl_kernels.backends.webgpu.programs.program import (
    Binding,
    BindingResource,
    Dispatch,
    ParamBlock,
    Program,
    ShaderModule,
)
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.text.structure import Structure
    from wgsl_kernels.backends.webgpu.fusion.cut import GroupDispatch
    from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup
    from wgsl_kernels.backends.webgpu.fusion.modes import LeafReads
    from wgsl_kernels.backends.webgpu.programs.building import Adapter


def lower_group(
    group: FusionGroup,
    parts: Sequence[tuple[GroupDispatch, Structure, LeafReads]],
    adapter: Adapter,
) -> tuple[Program, tuple[int, ...]]:
    """Return the program of a group that was cut into parts, and the node that each result is.

    Its inputs are the group's leaves.

    Each part comes with its structure, and how it reads its leaves.
    """
    places = {~n: BindingResource("input", n) for n in range(len(group.leaves))}
    buffers: list[Spec] = []
    nodes: list[int] = []
    dispatches: list[Dispatch] = []
    for part, structure, reading in parts:
        for n in part.outputs:
            node = group.nodes[n]
            places[n] = BindingResource("buffer", len(buffers))
            buffers.append(Spec(node.shape, node.dtype))
            nodes.append(n)
        dispatches.append(_dispatch(group, part, structure, reading, adapter, places))
    held = tuple([k for k, n in enumerate(nodes) if group.held[n]])
    program = Program(tuple(dispatches), tuple(buffers), held)
    return program, tuple([nodes[k] for k in held])


def _dispatch(
    group: FusionGroup,
    part: GroupDispatch,
    structure: Structure,
    reading: LeafReads,
    adapter: Adapter,
    places: dict[int, BindingResource],
) -> Dispatch:
    size = group.nodes[-1].size
    items = -(-size // 4) if structure.vec4 else size
    across = reading.across if adapter.policy.walks_across else None
    composed = composed_once(
        (structure.key, across and (across.space, across.axis)),
        partial(compose_group, structure, across=across),
    )
    if across is None:
        walk, grid = {"wk_run_bits": adapter.policy.run_bits}, map_grid(adapter, items)
    else:
        walk, grid = walk_across(across.size, across.inner, items)
    facts: dict[str, Any] = {"wk_size": size, **walk}
    facts |= {OWN + name: value for name, value in reading.facts.items()}
    for step, number in enumerate(part.nodes):
        for name, value in group.nodes[number].op.fixed.items():
            facts[f"{step}.{name}"] = value
    values = tuple([(f"{OWN}l{n}_value", ~part.leaves[n]) for n in reading.values])
    read = [ref for ref, leaf in zip(part.leaves, structure.leaves, strict=True) if leaf.is_bound]
    bindings: list[Binding] = []
    slots = [one for one in composed.bindings if one.role == "tensor"]
    for slot, ref in zip(slots, (*read, *part.outputs), strict=True):
        array = group.leaves[~ref] if ref < 0 else group.nodes[ref]
        nbytes = bound_bytes(array.shape, array.dtype, array.layout)
        step = max(4, slot.stride)
        rounded = -(-nbytes // step) * step
        bindings.append(Binding(slot.name, places[ref], slot.access, 0, rounded, array.layout))
    params = ParamBlock(composed.first_block(facts, changes=bool(values)), values, None, facts)
    kernels = tuple([step.kind.kernel for step in structure.steps])
    return Dispatch(ShaderModule.of(composed), grid, tuple(bindings), params, kernels, cut=part.why)
