"""Launching windows over images: one dispatch, or two where windows have very many elements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.operands import Operand
from wgsl_kernels.backends.webgpu.composing.totals import held, types_before
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.launching.launch import VALUE, State
from wgsl_kernels.backends.webgpu.launching.recipe import FOLD, Compiled, compile_kernel, fold
from wgsl_kernels.backends.webgpu.launching.reduce import ReduceLaunch
from wgsl_kernels.backends.webgpu.launching.reduce_recipe import ReduceRecipe
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.shapes import show
from wgsl_kernels.engine.windows import Sliding, pair, sliding_by

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.composing.windows import Unit
    from wgsl_kernels.backends.webgpu.devices.device import Device

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
class _Spread:
    """What an invocation takes, the overrides and the grid of that, and the bands of a window."""

    unit: Unit
    constants: dict[str, float]
    grid: tuple[int, int, int]
    extent: tuple[int, int]
    across: int
    bands: int


class WindowLaunch(ReduceLaunch):
    """Runs a window over its one input: images, channels last."""

    def set_up(self) -> None:
        """Find out what can be fused with the kernel."""
        self.reads = _reads(self.kernel, self.attrs)
        if self.reads > MOST_READS:
            self.swallows = ()

    def build(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> ReduceRecipe:
        """Compose the stages for this layout."""
        array, output = arrays[0], self.outputs[0]
        facts = dict(self.attrs)
        self.add_facts(facts, arrays)
        sliding = sliding_by(self.kernel, array.shape, facts)
        if sliding.out_shape != output.shape:
            raise ShapeError(
                f"{self.kernel}: the windows give {show(sliding.out_shape)}, the signature says "
                f"{show(output.shape)}."
            )
        operand = self._operand(array, states[0], facts)
        in_fours = _in_fours(array, operand, output.dtype)
        spread = _spread(sliding, output.size, in_fours=in_fours, unrolls=self._can_unroll(array))
        facts |= {f"{self.output_names[0]}_size": output.size, "wk_size": output.size}
        facts |= {"wk_channels": sliding.channels, "wk_bands": spread.bands}
        facts |= {"wk_bands_across": spread.across, "wk_extent": spread.extent}
        facts |= {f"wk_{name}": value for name, value in sliding.fields().items()}
        wide = in_fours and extras.can_be_wide
        stores = in_fours and spread.bands == 1 and extras.in_fours and not extras.keeps
        facts |= extras.facts(wide=wide, in_fours=stores)

        def stage(which: Any) -> Compiled:
            joins = which == "final"
            options = Options(
                form="window",
                variant=spread.unit,
                stage=which,
                wide=wide and not joins,
                before=() if joins else extras.stand_ins(self.names, wide=wide),
                after=None if which == "partial" else extras.handed_on(in_fours=stores),
            )
            return compile_kernel(
                device,
                self.kernel,
                self.shader.source,
                [operand],
                self.output_operands(),
                list(facts),
                options,
                spread.constants,
            )

        if spread.bands == 1:
            recipe = ReduceRecipe([stage("whole")], [spread.grid], facts, 0)
            if extras is ALONE:
                recipe.fixed = self.fix(device, recipe.stages[0], arrays, facts, spread.grid)
            return recipe
        stages = [stage("partial"), stage("final")]
        partial_bytes = output.size * spread.bands * stages[0].composed.partial_bytes
        grids = [spread.grid, fold(-(-output.size // GROUP))]
        return ReduceRecipe(stages, grids, facts, partial_bytes)

    def _can_unroll(self, array: GpuArray) -> bool:
        """Say whether the accumulator can be held between two turns of an unrolled loop."""
        source, x, y = self.shader.source, self.names[0], self.output_names[0]
        types = types_before(source, x, array.dtype, y, self.outputs[0].dtype)
        return held(types, source.functions["init"].returns or "", "total") is not None

    def _operand(self, array: GpuArray, state: State, facts: dict[str, Any]) -> Operand:
        """Return the input as the composer wants it; add how it lies to ``facts``."""
        name = self.names[0]
        if state is VALUE or array.size == 0:
            facts |= {"wk_x_strides": (0, 0, 0, 0), "wk_x_offset": 0}
            facts.setdefault(f"{name}_value", 0)
            return Operand(name, array.dtype, 0, "value")
        facts |= {"wk_x_strides": array.strides, "wk_x_offset": array.offset}
        return Operand(name, array.dtype, 4, "flat" if state is None else "strided")


def _reads(kernel: str, attrs: dict[str, Any]) -> int:
    """Return how many windows see an element."""
    if "filter_size" not in attrs:  # what params= returns is known later
        return MOST_READS + 1
    size = attrs["filter_size"]
    strides = attrs.get("strides")
    every = pair(kernel, "strides", size if strides is None else strides)
    window = pair(kernel, "filter_size", size)
    return math.prod(-(-one // step) for one, step in zip(window, every, strict=True))


def _in_fours(array: GpuArray, operand: Operand, output: str) -> bool:
    """Say whether four neighbouring channels can be read together."""
    if operand.access == "value" or "complex64" in (array.dtype, output):
        return False
    *steps, last = array.strides
    plain = last == 1 and not any(one % 4 for one in (array.offset, *steps))
    return plain and array.shape[3] % 4 == 0


def _spread(sliding: Sliding, size: int, *, in_fours: bool, unrolls: bool) -> _Spread:
    rows, cols = sliding.rows, sliding.cols
    window = (rows.window, cols.window)
    if in_fours and unrolls and _is_small(sliding):
        depth = sliding.channels // 4
        across = min(1 << (depth - 1).bit_length(), 16)
        pairs = -(-cols.out // 2)
        down = min(1 << (pairs - 1).bit_length(), GROUP // across)
        constants: dict[str, float] = {"WK_HIGH": rows.window, "WK_WIDE": cols.window}
        constants |= {"WK_DOWNWARD": rows.dilation, "WK_RIGHTWARD": cols.dilation}
        constants |= {"WK_ACROSS": across, "WK_DOWN": down, "WK_WHOLE": _are_whole(sliding)}
        lines = sliding.batch * rows.out
        grid = (-(-depth // across), -(-pairs // down), lines)
        return _Spread("small", constants, grid, window, 1, 1)
    extent, across, bands = window, 1, 1
    if rows.window * (cols.window + PER_LINE) > LOOPS:
        wide = min(cols.window, LOOPS)
        extent = (max(LOOPS // (wide + PER_LINE), 1), wide)
        across = -(-cols.window // wide)
        bands = across * -(-rows.window // extent[0])
    units = size // (4 if in_fours else 1) * bands
    dilated: dict[str, float] = {"WK_DILATED": max(rows.dilation, cols.dilation) > 1}
    grid = fold(-(-units // GROUP))
    return _Spread("fours" if in_fours else "one", dilated, grid, extent, across, bands)


def _is_small(sliding: Sliding) -> bool:
    """Say whether windows are small and the grid has room."""
    rows, cols = sliding.rows, sliding.cols
    lines = sliding.batch * rows.out
    return rows.window * cols.window <= SMALL and max(lines, cols.out, sliding.channels) <= FOLD


def _are_whole(sliding: Sliding) -> bool:
    """Say whether all windows lie on the image."""
    return all(one.before == 0 and one.after == 0 for one in (sliding.rows, sliding.cols))
