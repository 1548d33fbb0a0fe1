"""Lowering windows over images: one dispatch, or two where windows have very many elements.

A window over volumes is one over each of its planes of rows, one plane after another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from wgsl_kernels.backends.webgpu.composing.accumulators import can_hold
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.programs.building import FOLD, build, fold
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.windows import CHANNELS, Sliding, each_axis, sliding_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.programs.arguments import Argument
    from wgsl_kernels.backends.webgpu.programs.building import Adapter
    from wgsl_kernels.backends.webgpu.programs.call import ShaderCall

SMALL = 25
"""Elements of a window up to which the loops over it are unrolled."""
LOOPS = 32_768
"""Turns of its loops that an invocation takes at most: some drivers stop it silently at 65,535."""
PER_LINE = 2
"""Turns that a line takes beside those for its elements."""
GROUP = 64
MOST_READS = 4
"""How often an element may be read for maps in front to be computed each time."""


@dataclass(frozen=True, slots=True)
class _WindowTiling:
    """What an invocation takes, the overrides and the grid of that, and the bands of a window.

    ``one`` channel of a place; ``fours``: four channels; ``small``: four channels of two places,
    windows being of few elements.
    """

    unit: Literal["one", "fours", "small"]
    flags: dict[str, bool]
    constants: dict[str, float]
    grid: tuple[int, int, int]
    extent: tuple[int, ...]
    across: int = 1
    down: int = 1
    bands: int = 1

    def loop(self, stage: Stage) -> Instance:
        if self.unit == "small":
            return Instance("templates/window_small.wesl", tuple(self.flags.items()))
        flags = {"VEC4": self.unit == "fours" and stage != "final", **self.flags}
        flags |= {"BANDS": stage == "partial", "JOINS": stage == "final"}
        return Instance("templates/window.wesl", tuple(flags.items()))


def lower_window(
    call: ShaderCall, arguments: Sequence[Argument | None], adapter: Adapter
) -> Program:
    """Return the program of a window over its one input: images, or volumes."""
    x, output = arguments[0], call.outputs[0]
    assert x is not None
    facts = dict(call.attrs)
    call.add_facts(facts, arguments)
    sliding = sliding_by(call.kernel, x.shape, facts)
    gives, says = sliding.out_shape, output.shape
    if gives != says:
        raise ShapeError(
            f"{call.kernel}: the windows give {show(gives)}, the signature says {show(says)}."
        )
    operand = _operand(call, x, sliding, facts)
    is_vec4 = not sliding.is_channels_first and _loads_vec4(x, operand, output.dtype)
    spread = _spread(sliding, output.size, is_vec4=is_vec4, unrolls=_can_unroll(call, x))
    facts |= _facts(call, sliding, spread)
    options = Options(form="window", loop=spread.loop("whole"), wide=is_vec4)
    epilogue = "vec4 alone" if is_vec4 and spread.bands == 1 else "elements"
    constants = tuple(spread.constants.items())
    whole = call.composition((operand,), facts, options, constants=constants, epilogue=epilogue)
    bound = call.bound(arguments)
    configuration = (("unit", spread.unit), ("bands", spread.bands))
    prologue = frozenset(call.names)
    if spread.bands == 1:
        text = whole.composed()
        one = build(adapter, whole, text, spread.grid, bound, facts, prologue=prologue)
        return Program((one,), call.outputs, (0,), configuration)
    options = replace(options, stage="partial", loop=spread.loop("partial"))
    first = replace(whole, options=options, epilogue="none")
    options = replace(options, stage="final", loop=spread.loop("final"), wide=False)
    last = replace(whole, options=options)
    text = first.composed()
    nbytes = output.size * spread.bands * text.partial_bytes
    bound, partials = bound.in_parts(1, nbytes)
    grid = fold(-(-output.size // GROUP))
    dispatches = (
        build(adapter, first, text, spread.grid, bound, facts, prologue=prologue),
        build(adapter, last, last.composed(), grid, bound, facts),
    )
    return Program(dispatches, (output, partials), (0,), configuration)


def _facts(call: ShaderCall, sliding: Sliding, spread: _WindowTiling) -> dict[str, Any]:
    size = call.outputs[0].size
    facts: dict[str, Any] = {f"{call.output_names[0]}_size": size, "wk_size": size}
    facts |= {"wk_channels": sliding.channels, "wk_bands": spread.bands}
    facts |= {"wk_bands_across": spread.across, "wk_bands_down": spread.down}
    for name, value in ({**sliding.fields(), "extent": spread.extent}).items():
        facts[f"wk_{name}"] = value if isinstance(value, int) else value[:2]
        if len(sliding.axes) == 3 and not isinstance(value, int):
            facts[f"wk_{name}_planes"] = value[2]
    return facts


def _can_unroll(call: ShaderCall, x: Argument) -> bool:
    """Say whether the accumulator can be held between two turns of an unrolled loop."""
    output = call.output_names[0], call.outputs[0].dtype
    return can_hold(call.source, call.names[0], x.dtype, *output)


def _operand(call: ShaderCall, x: Argument, sliding: Sliding, facts: dict[str, Any]) -> Operand:
    name = call.names[0]
    facts |= {"wk_x_strides": (0, 0, 0, 0), "wk_x_strides_planes": 0, "wk_x_offset": 0}
    if x.is_value or x.size == 0:
        facts.setdefault(f"{name}_value", 0)
        return Operand(name, x.dtype, 0, "value")
    steps = list(x.strides)
    channel = steps.pop(CHANNELS[sliding.data_format])
    batch, *planes, rows, cols = steps
    facts |= {"wk_x_strides": (batch, rows, cols, channel), "wk_x_offset": x.offset}
    if planes:
        facts["wk_x_strides_planes"] = planes[0]
    return Operand(name, x.dtype, 4, "flat" if x.layout is None else "strided")


def reads_of(call: ShaderCall) -> int:
    kernel, attrs = call.kernel, call.attrs
    if "filter_size" not in attrs:  # what params= returns is known later
        return MOST_READS + 1
    size = attrs["filter_size"]
    strides = attrs.get("strides")
    count = len(call.outputs[0].shape) - 2
    every = each_axis(kernel, "strides", size if strides is None else strides, count)
    window = each_axis(kernel, "filter_size", size, count)
    return math.prod(-(-one // step) for one, step in zip(window, every, strict=True))


def _loads_vec4(array: Argument, operand: Operand, output: str) -> bool:
    """Say whether four neighbouring channels can be read together."""
    if operand.access == "value" or "complex64" in (array.dtype, output):
        return False
    *steps, last = array.strides
    plain = last == 1 and not any(one % 4 for one in (array.offset, *steps))
    return plain and array.shape[-1] % 4 == 0


def _spread(sliding: Sliding, size: int, *, is_vec4: bool, unrolls: bool) -> _WindowTiling:
    flags = {"PLANES": True} if len(sliding.axes) == 3 else {}
    if is_vec4 and unrolls and _is_small(sliding):
        return _small(sliding, flags)
    flags["DILATED"] = any(axis.dilation > 1 for axis in sliding.axes)
    if sliding.is_channels_first:
        flags["CHANNELS_FIRST"] = True
    unit: Literal["one", "fours"] = "fours" if is_vec4 else "one"
    units = size // (4 if is_vec4 else 1)
    window: tuple[int, ...] = sliding.fields()["window"]
    rows, cols, *planes = window
    wide = min(cols, LOOPS)
    turns = wide + PER_LINE
    high = rows if rows * turns <= LOOPS else max(LOOPS // turns, 1)
    turns = high * turns + PER_LINE
    deep = [one if one * turns <= LOOPS else max(LOOPS // turns, 1) for one in planes]
    extent = (high, wide, *deep)
    down, across, *inward = (-(-one // most) for one, most in zip(window, extent, strict=True))
    bands = math.prod((across, down, *inward))
    grid = fold(-(-units * bands // GROUP))
    return _WindowTiling(unit, flags, {}, grid, extent, across, down, bands)


def _small(sliding: Sliding, flags: dict[str, bool]) -> _WindowTiling:
    rows, cols = sliding.rows, sliding.cols
    depth = sliding.channels // 4
    across = min(1 << (depth - 1).bit_length(), 16)
    pairs = -(-cols.out // 2)
    down = min(1 << (pairs - 1).bit_length(), GROUP // across)
    constants: dict[str, float] = {"WK_HIGH": rows.window, "WK_WIDE": cols.window}
    constants |= {"WK_DOWNWARD": rows.dilation, "WK_RIGHTWARD": cols.dilation}
    constants |= {"WK_ACROSS": across, "WK_DOWN": down, "WK_WHOLE": _are_whole(sliding)}
    for planes in sliding.axes[:-2]:
        constants |= {"WK_DEEP": planes.window, "WK_INWARD": planes.dilation}
    grid = (-(-depth // across), -(-pairs // down), sliding.places // max(cols.out, 1))
    return _WindowTiling("small", flags, constants, grid, sliding.fields()["window"])


def _is_small(sliding: Sliding) -> bool:
    cols = sliding.cols
    lines = sliding.places // max(cols.out, 1)
    elements = math.prod(axis.window for axis in sliding.axes)
    return elements <= SMALL and max(lines, cols.out, sliding.channels) <= FOLD


def _are_whole(sliding: Sliding) -> bool:
    return all(one.before == 0 and one.after == 0 for one in sliding.axes)
