"""Lowering scans: one dispatch where an invocation takes a whole row, else two."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.composing.accumulators import total_bytes
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.backends.webgpu.lowering.collapse import collapse
from wgsl_kernels.backends.webgpu.lowering.reduce import reduced_axes
from wgsl_kernels.backends.webgpu.lowering.scan_spreads import (
    GROUPS,
    ScanLayout,
    candidate,
    other_spreads,
    scan_loop,
    scan_spread,
)
from wgsl_kernels.backends.webgpu.programs.building import Bound, Composition, build, fold
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.lowering.scan_spreads import ScanSpread
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.call import Lowered, ShaderCall
    from wgsl_kernels.engine.values.spec import Spec

StageOfScan = tuple[Composition, "Composed", Bound]

VEC4_METHODS = ("columns", "fours")
"""The methods that load and store four neighbours at a time."""


def lower_scan(
    call: ShaderCall,
    arguments: Sequence[Argument | None],
    adapter: Adapter,
    variant: str | None = None,
) -> Lowered:
    """Return the program of a scan of its one input along one axis, and the methods that serve."""
    x = arguments[0]
    assert x is not None
    facts = dict(call.attrs)
    call.add_facts(facts, arguments)
    layout = _layout(call, adapter, x, facts)
    every = ((static := scan_spread(layout)), *other_spreads(layout, static))
    spread = next((one for one in every if one.variant == variant), static)
    facts |= {"wk_parts": spread.parts, "wk_part_size": spread.part_size}
    facts[f"{call.output_names[0]}_size"] = call.outputs[0].size
    operand = _operand(call, x, facts)
    by_vec4 = spread.variant in VEC4_METHODS
    options = Options(form="scan", wide=by_vec4 and operand.access == "flat")
    epilogue = "vec4 alone" if by_vec4 else "elements"
    whole = call.composition((operand,), facts, options, epilogue=epilogue)
    buffers, stages = _stages(call, whole, call.bound(arguments), layout, spread, facts)
    grid = fold(-(-spread.invocations // GROUPS[spread.variant]))
    dispatches = [
        build(adapter, one, text, grid, where, facts, prologue=frozenset(call.names))
        for one, text, where in stages
    ]
    candidates = {str(one.variant): candidate(one.variant) for one in every}
    configuration = candidates[spread.variant].settings(spread.variant, parts=spread.parts)
    program = Program(tuple(dispatches), buffers, (0,), configuration)
    classes = ("scan", *map(size_class, (layout.rows, layout.length, layout.inner)))
    return program, call.choice(candidates, classes, layout.rows * layout.length)


def _stages(
    call: ShaderCall,
    whole: Composition,
    bound: Bound,
    layout: ScanLayout,
    spread: ScanSpread,
    facts: Mapping[str, Any],
) -> tuple[tuple[Spec, ...], list[StageOfScan]]:
    """Return the buffers and the stages: two of them where rows go in parts."""

    def composition(stage: Stage) -> Composition:
        exclusive, reverse = (bool(facts.get(one)) for one in ("exclusive", "reverse"))
        loop = scan_loop(spread.variant, stage, layout, exclusive=exclusive, backward=reverse)
        epilogue = "none" if stage == "partial" else whole.epilogue
        options = replace(whole.options, stage=stage, loop=loop)
        return replace(whole, options=options, epilogue=epilogue)

    if spread.parts == 1:
        one = composition("whole")
        return call.outputs, [(one, one.composed(), bound)]
    first, last = composition("partial"), composition("final")
    composed = first.composed()
    nbytes = layout.rows * spread.parts * composed.partial_bytes
    shares, partials = bound.in_parts(1, nbytes)
    return (*call.outputs, partials), [(first, composed, shares), (last, last.composed(), shares)]


def _layout(call: ShaderCall, adapter: Adapter, x: Argument, facts: dict[str, Any]) -> ScanLayout:
    """Return what the spread depends on; add what the skeletons ask for to ``facts``."""
    axis = _axis(call, x)
    lengths = x.shape or (1,)
    length, inner = lengths[axis], math.prod(lengths[axis + 1 :])
    rows = x.size // length
    output = call.outputs[0].dtype
    facts |= {"wk_rows": rows, "wk_length": length, "wk_inner": inner}
    return ScanLayout(
        rows,
        length,
        inner,
        adapter.policy,
        can_vec4="complex64" not in (x.dtype, output),
        total_bytes=total_bytes(call.source, call.names[0], x.dtype, call.output_names[0], output),
    )


def _axis(call: ShaderCall, x: Argument) -> int:
    if not x.shape:
        return 0
    axes = reduced_axes(call, x)
    if len(axes) != 1:
        raise ArgumentError(
            f"{call.kernel}: a scan goes along one axis of {show(x.shape)}; want the "
            "attribute axis, one number."
        )
    return axes[0]


def _operand(call: ShaderCall, x: Argument, facts: dict[str, Any]) -> Operand:
    name = call.names[0]
    if x.is_value:
        return Operand(name, x.dtype, 0, "value")
    if x.layout is None:
        return Operand(name, x.dtype, len(x.shape))
    shape, (strides, _), _ = collapse(x.shape, [x.strides, row_major(x.shape)])
    facts |= {"wk_shape": shape, f"wk_{name}_strides": strides}
    facts[f"wk_{name}_offset"] = x.offset
    return Operand(name, x.dtype, len(shape), "strided")
