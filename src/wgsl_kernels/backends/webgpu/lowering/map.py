"""Lowering maps: one dispatch, several where a tensor is above the binding limit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.text.instance import MAP, Instance
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.modules.kernel_source import reports
from wgsl_kernels.backends.webgpu.programs.arguments import broadcast_strides, collapse
from wgsl_kernels.backends.webgpu.programs.building import build, fold
from wgsl_kernels.backends.webgpu.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.building import Adapter, Bound, Composition
    from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch, Grid

_ALIGNED = 256
"""Elements that a binding begins at a multiple of: their bytes are one of ``ALIGNMENT``."""
RUN = 16
"""Items of a run in templates/map.wesl."""


def lower_map(
    call: ShaderCall,
    arguments: Sequence[Argument | None],
    adapter: Adapter,
    shared: tuple[int, ...] = (),
) -> Program:
    """Return the program of a map; the inputs in ``shared`` are the same array as one before."""
    largest = adapter.largest_binding
    packed = {
        n for n, one in enumerate(arguments) if one and one.layout and one.bound_bytes > largest
    }
    arguments = [
        one.contiguous() if one and n in packed else one for n, one in enumerate(arguments)
    ]
    spec, output = call.outputs[0], call.output_names[0]
    views = {
        index: one
        for index, one in enumerate(arguments)
        if one is not None
        and not one.is_value
        and not (one.layout is None and one.shape == spec.shape)
    }
    strided = list(views)
    shape, strides, _ = collapse(
        spec.shape, [broadcast_strides(one, spec.shape) for one in views.values()]
    )
    operands: list[Operand] = []
    facts: dict[str, Any] = {**call.attrs, f"{output}_size": spec.size, "wk_space0": shape}
    facts["wk_first"] = 0
    for index, (name, one) in enumerate(zip(call.names, arguments, strict=True)):
        if one is None:
            operands.append(Operand(name, "float32", 0, "absent"))
        elif one.is_value:
            operands.append(Operand(name, one.dtype, 0, "value"))
        elif index in strided:
            operands.append(Operand(name, one.dtype, len(shape), "strided"))
            facts[f"wk_{name}_strides"] = strides[strided.index(index)]
            facts[f"wk_{name}_offset"] = one.offset
        else:
            operands.append(Operand(name, one.dtype, len(one.shape), "flat"))
    call.add_facts(facts, arguments)
    # Behind the last element a vec4 has no index that may be reported, and an element whose loops
    # may be ended has all rounds of its invocation.
    vec4 = not (views or None in arguments or reports(call.source) or call.checks_loops)
    vec4 = vec4 and "complex64" not in (spec.dtype, *[one.dtype for one in operands])
    loop = map_loop(adapter.policy, vec4=vec4)
    options = Options(held=tuple([call.names[n] for n in shared]), loop=loop)
    composition = call.composition(operands, facts, options)
    composed, bound = composition.composed(), call.bound(arguments)
    sizes = [one.bound_bytes for one in bound.arguments.values()]
    if max(sizes) > largest and not reports(call.source):
        walks = {call.names[n]: strides[at] for at, n in enumerate(strided)}
        found = _in_parts(call, adapter, composition, bound, facts, walks)
    else:
        items = -(-spec.size // 4) if composed.vec4 else spec.size
        group = composed.workgroup_size[0]
        grid = fold(-(-items // group)) if call.checks_loops else map_grid(adapter, composed, items)
        found = (build(adapter, composition, composed, grid, bound, facts),)
    return Program(found, (spec,), (0,), (), frozenset(packed))


def map_loop(policy: Policy, *, vec4: bool, across: bool = False) -> Instance:
    """Return the loop around maps, alone or in groups; what else it may be is the policy's."""
    return MAP.given(VEC4=vec4, ACROSS=across, **policy.map_loop)


def _in_parts(
    call: ShaderCall,
    adapter: Adapter,
    composition: Composition,
    bound: Bound,
    facts: dict[str, Any],
    walks: Mapping[str, Sequence[int]],
) -> tuple[Dispatch, ...]:
    """Split a map: a dispatch binds what it takes of each tensor, from an aligned byte on."""
    composition = replace(composition, options=replace(composition.options, in_parts=True))
    composed = composition.composed()
    slots = [one.name for one in composed.bindings if one.role == "tensor"]
    sizes = {n: ITEMSIZE[bound.arguments[n].dtype] for n in slots}
    step = adapter.largest_binding // max(sizes.values()) // _ALIGNED * _ALIGNED
    shape, total = facts["wk_space0"], call.outputs[0].size
    walks = {name: one for name, one in walks.items() if name in sizes}
    found: list[Dispatch] = []
    first = 0
    while first < total:
        skipped = first % _ALIGNED
        end = min(first - skipped + step, total)
        for name, one in walks.items():
            most = adapter.largest_binding // sizes[name] - _ALIGNED
            while True:
                low, high = _reach(shape, one, first, end)
                if high - low < most or end == first + 1:
                    break
                end = _sooner(shape, first, end)
        own = {**facts, "wk_first": first, "wk_skipped": skipped}
        windows: dict[str, tuple[int, int]] = {}
        for name, size in sizes.items():
            start, stop = first - skipped, end
            if name in walks:
                offset = facts[f"wk_{name}_offset"]
                low, high = _reach(shape, walks[name], first, end)
                start, stop = (offset + low) // _ALIGNED * _ALIGNED, offset + high + 1
                own[f"wk_{name}_offset"] = (offset - start) & 0xFFFFFFFF  # may wrap
            windows[name] = start * size, -(-(stop - start) * size // 16) * 16
        count = end - first
        own[f"{call.output_names[0]}_size"] = count
        grid = map_grid(adapter, composed, -(-count // 4) if composed.vec4 else count)
        part = replace(bound, windows=windows)
        found.append(build(adapter, composition, composed, grid, part, own))
        first = end
    return tuple(found)


def _reach(shape: Sequence[int], strides: Sequence[int], first: int, end: int) -> tuple[int, int]:
    """Return the lowest and the highest place, from its offset on, that items take of a tensor."""
    low = high = 0
    block = math.prod(shape)
    are_separate = False  # whether the outer axes differ, so that inner ones are gone through whole
    for length, stride in zip(shape, strides, strict=True):
        block //= length
        near, far = first // block % length, (end - 1) // block % length
        if are_separate:
            near, far = 0, length - 1
        are_separate = are_separate or near != far
        low += min(near * stride, far * stride)
        high += max(near * stride, far * stride)
    return low, high


def _sooner(shape: Sequence[int], first: int, end: int) -> int:
    """Return an earlier end: half as far along the outermost axis that the items go along."""
    block = math.prod(shape)
    for length in shape:
        block //= length
        rows = (end - 1) // block - first // block
        if rows:
            return (first // block + -(-rows // 2)) * block
    return end


def map_grid(adapter: Adapter, composed: Composed, items: int) -> Grid:
    group = composed.workgroup_size[0]
    return fold(-(-items // (group * max(adapter.policy.map_run(items, group), 1))))


def walk_across(
    composed: Composed, across: int, inner: int, items: int
) -> tuple[dict[str, int], Grid]:
    """Return the facts and the grid of templates/map.wesl where it goes ACROSS.

    The axis that invocations go along is of ``across`` elements; what follows it is of ``inner``
    items.
    """
    bits = min((-(-across // RUN) - 1).bit_length(), 3)
    beside = 8 >> bits
    tiles = items // (across * inner) * -(-across // (RUN << bits)) * -(-inner // beside)
    facts = {"wk_run_bits": bits, "wk_across": across, "wk_inner": inner}
    return facts, fold(-(-tiles * 8 // composed.workgroup_size[0]))
