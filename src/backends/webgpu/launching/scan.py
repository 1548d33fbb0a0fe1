"""Launching scans: one dispatch where an invocation takes a whole row, else two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import row_major
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.operands import Operand
from wgsl_kernels.backends.webgpu.composing.totals import total_bytes, types_before
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.launching.collapse import collapse
from wgsl_kernels.backends.webgpu.launching.launch import VALUE, State
from wgsl_kernels.backends.webgpu.launching.recipe import Compiled, compile_kernel, fold
from wgsl_kernels.backends.webgpu.launching.reduce import ReduceLaunch
from wgsl_kernels.backends.webgpu.launching.reduce_recipe import ReduceRecipe
from wgsl_kernels.backends.webgpu.launching.scan_spreads import (
    GROUPS,
    ScanLayout,
    other_spreads,
    scan_spread,
)
from wgsl_kernels.backends.webgpu.variants import size_class
from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.shapes import show

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.devices.device import Device

IN_FOURS = ("columns", "fours")
"""The methods that load and store four neighbours at a time."""


class ScanLaunch(ReduceLaunch):
    """Runs a scan of its one input along one axis."""

    reads = 2  # where there are two dispatches

    def _build(
        self,
        device: Device,
        arrays: list[Any],
        states: list[State],
        extras: Extras,
        spread: Any,
    ) -> ReduceRecipe:
        """Compose the stages, spread as said if it is said."""
        array = arrays[0]
        facts = dict(self.attrs)
        self.add_facts(facts, arrays)
        layout = self._layout(device, array, facts)
        static = scan_spread(layout)
        spread = static if spread is None else spread
        facts |= {"wk_parts": spread.parts, "wk_part_size": spread.part_size}
        facts[f"{self.output_names[0]}_size"] = self.outputs[0].size
        operand = self._operand(array, states[0], facts)
        by_fours = spread.variant in IN_FOURS
        wide = by_fours and operand.access == "flat" and extras.can_be_wide
        in_fours = by_fours and extras.in_fours and not extras.keeps
        facts |= extras.facts(wide=wide, in_fours=in_fours)

        def stage(which: Any) -> Compiled:
            options = Options(
                form="scan",
                variant=spread.variant,
                stage=which,
                wide=wide,
                exclusive=bool(facts.get("exclusive", False)),
                reverse=bool(facts.get("reverse", False)),
                even=spread.variant == "fours" and layout.length % 4 == 0,
                before=extras.stand_ins(self.names, wide=wide),
                after=None if which == "partial" else extras.handed_on(in_fours=in_fours),
            )
            outputs = self.output_operands()
            source = self.shader.source
            return compile_kernel(
                device, self.kernel, source, [operand], outputs, list(facts), options
            )

        grid = fold(-(-spread.invocations // GROUPS[spread.variant]))
        if spread.parts == 1:
            recipe = ReduceRecipe([stage("whole")], [grid], facts, 0)
            if extras is ALONE:
                recipe.fixed = self.fix(device, recipe.stages[0], arrays, facts, grid)
        else:
            stages = [stage("partial"), stage("final")]
            partial_bytes = layout.rows * spread.parts * stages[0].composed.partial_bytes
            recipe = ReduceRecipe(stages, [grid, grid], facts, partial_bytes)
        recipe.spreads = (static, *other_spreads(layout, static))
        recipe.work = layout.rows * layout.length
        sizes = (layout.rows, layout.length, layout.inner)
        recipe.shape_class = ("scan", *map(size_class, sizes))
        return recipe

    def _layout(self, device: Device, array: GpuArray, facts: dict[str, Any]) -> ScanLayout:
        """Return what the spread depends on; add what the skeletons ask for to ``facts``."""
        axis = self._axis(array)
        lengths = array.shape or (1,)
        length, inner = lengths[axis], math.prod(lengths[axis + 1 :])
        rows = array.size // length
        output, source = self.outputs[0].dtype, self.shader.source
        types = types_before(source, self.names[0], array.dtype, self.output_names[0], output)
        facts |= {"wk_rows": rows, "wk_length": length, "wk_inner": inner}
        return ScanLayout(
            rows,
            length,
            inner,
            device.policy,
            can_vec4="complex64" not in (array.dtype, output),
            total_bytes=total_bytes(source, types),
        )

    def _axis(self, array: GpuArray) -> int:
        if not array.shape:
            return 0
        axes = self.axes(array)
        if len(axes) != 1:
            raise ArgumentError(
                f"{self.kernel}: a scan goes along one axis of {show(array.shape)}; want the "
                "attribute axis, one number."
            )
        return axes[0]

    def _operand(self, array: GpuArray, state: State, facts: dict[str, Any]) -> Operand:
        """Return the input as the composer wants it; add how it lies to ``facts``."""
        name = self.names[0]
        if state is VALUE:
            return Operand(name, array.dtype, 0, "value")
        if state is None:
            return Operand(name, array.dtype, len(array.shape))
        plain = row_major(array.shape)
        shape, (strides, _), _ = collapse(array.shape, [array.strides, plain])
        facts |= {"wk_shape": shape, f"wk_{name}_strides": strides}
        facts[f"wk_{name}_offset"] = array.offset
        return Operand(name, array.dtype, len(shape), "strided")
