"""Lowering scans: one dispatch where an invocation takes a whole row, else two."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.composing.accumulators import total_bytes
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.backends.webgpu.lowering.reduce import reduced_axes
from wgsl_kernels.backends.webgpu.programs.arguments import collapse
from wgsl_kernels.backends.webgpu.programs.building import Bound, Composition, build, fold
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.backends.webgpu.tuning.choice import Candidate
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.call import Lowered, ShaderCall
    from wgsl_kernels.engine.values.spec import Spec


Method = Literal["one_by_one", "columns", "fours", "tiles"]
"""``one_by_one``: an invocation takes a part of a row; ``columns``: of four neighbouring rows;
``fours``: four elements at a time; ``tiles``: a workgroup does."""
TILE_LANES = 128
TILE_BYTES = 8192
"""Workgroup memory for a tile: with the lanes' totals it stays below the least limit, 16 KiB."""
LARGEST_TOTAL = TILE_BYTES // TILE_LANES
"""Bytes of an accumulator above which tiles do not fit."""
LONGEST_RUN = 8
ALONE = 256
"""Elements of a row that an invocation takes at least, where there are as many."""
WHOLE = 1024
"""Elements of a row that an invocation takes where there are rows enough to keep a device busy."""
MOST_INNER = 64
"""Rows side by side from which on neighbours read whole lines of memory, a row each."""
TILE = 1024
"""Elements that a tile may have; parts are a multiple of it."""
MOST_PARTS = 1024
"""Parts of a row that go through tiles."""

GROUPS = {"one_by_one": 64, "columns": 64, "fours": 16, "tiles": 128}
"""Invocations of a workgroup, by method."""


@dataclass(frozen=True, slots=True)
class ScanLayout:
    """What the choice depends on.

    Attributes:
        inner: The distance between two of them.
        can_vec4: Whether vectors of four input and output elements exist.
    """

    rows: int
    length: int
    inner: int
    policy: Policy
    can_vec4: bool = True
    total_bytes: int = 4


@dataclass(frozen=True, slots=True)
class ScanSpread:
    """A method, the elements of a row that make a part (a multiple of 4), and the invocations."""

    variant: Method
    part_size: int
    parts: int
    invocations: int


def scan_spread(layout: ScanLayout) -> ScanSpread:
    """Return how to scan, from what was measured."""
    return _spread_by(_method(layout), layout)


def other_spreads(layout: ScanLayout, first: ScanSpread) -> tuple[ScanSpread, ...]:
    can_be_columns = layout.inner % 4 == 0 and layout.can_vec4
    methods: list[Method] = ["one_by_one"]
    methods += ["columns"] if can_be_columns else []
    methods += ["fours"] if _fits_vec4(layout) else []
    methods += ["tiles"] if _fits_tiles(layout) else []
    return tuple(_spread_by(one, layout) for one in methods if one != first.variant)


def scan_loop(
    method: Method, stage: Stage, layout: ScanLayout, *, exclusive: bool, backward: bool
) -> Instance:
    chosen: dict[str, bool | int] = {
        "TOTALS": stage == "partial",
        "JOINS": stage == "final",
        "EXCLUSIVE": exclusive and stage != "partial",
        "BACKWARD": backward,
    }
    if method == "tiles":
        run = LONGEST_RUN
        while run > 1 and run * TILE_LANES * layout.total_bytes > TILE_BYTES:
            run //= 2
        chosen["RUN"] = run
    else:
        chosen["GROUP"] = GROUPS[method]
        chosen["EVEN"] = method == "fours" and layout.length % 4 == 0
    path, constants = candidate(method)
    return Instance(path, (*constants, *chosen.items()))


def candidate(method: Method) -> Candidate:
    if method == "tiles":
        return Candidate("templates/scan_tiles.wesl")
    constants = ("COLUMNS", method == "columns"), ("VEC4", method == "fours")
    return Candidate("templates/scan.wesl", constants)


def _spread_by(method: Method, layout: ScanLayout) -> ScanSpread:
    size = _part_size(layout, method)
    parts = math.ceil(layout.length / size)
    lanes = TILE_LANES if method == "tiles" else 1
    return ScanSpread(method, size, parts, layout.rows // _together(method) * parts * lanes)


def _method(layout: ScanLayout) -> Method:
    inner, alone = layout.inner, layout.policy.scans_alone
    if alone and _fits_vec4(layout):
        return "fours"
    if not alone and inner < MOST_INNER and _fits_tiles(layout):
        return "tiles"
    return "columns" if inner % 4 == 0 and layout.can_vec4 else "one_by_one"


def _fits_vec4(layout: ScanLayout) -> bool:
    even = layout.rows == 1 or layout.length % 4 == 0
    return layout.inner == 1 and even and layout.can_vec4


def _fits_tiles(layout: ScanLayout) -> bool:
    return layout.length > 64 and 0 < layout.total_bytes <= LARGEST_TOTAL


def _part_size(layout: ScanLayout, method: Method) -> int:
    length = layout.length
    if method == "tiles":
        return TILE * math.ceil(length / (TILE * MOST_PARTS))
    invocations = layout.rows // _together(method)
    if length <= WHOLE and invocations >= layout.policy.scan_invocations:
        return -(-length // 4) * 4
    if method == "fours":
        return max(ALONE, _power_of_two(min(length // 256, 4 * math.isqrt(length))))
    return max(ALONE, _power_of_two(math.isqrt(length)))


def _together(method: Method) -> int:
    """Return how many rows an invocation takes."""
    return 4 if method == "columns" else 1


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()


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
