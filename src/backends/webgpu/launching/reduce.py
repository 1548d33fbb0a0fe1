"""Launching reductions: axes brought in order, then one dispatch, or two for long rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import ITEMSIZE, device_bytes
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.exchanges import can_exchange
from wgsl_kernels.backends.webgpu.composing.operands import Operand
from wgsl_kernels.backends.webgpu.composing.reductions import CHUNK, is_normalization
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.kernel import params_with
from wgsl_kernels.backends.webgpu.launching.anchor import COMPUTED, AnchorLaunch
from wgsl_kernels.backends.webgpu.launching.launch import ABSENT, VALUE, State
from wgsl_kernels.backends.webgpu.launching.recipe import (
    Compiled,
    Fixed,
    compile_kernel,
    fold,
    record,
    tensor_facts,
)
from wgsl_kernels.backends.webgpu.launching.reduce_recipe import ReduceRecipe
from wgsl_kernels.backends.webgpu.launching.spreads import (
    EIGHTS_GROUP,
    GROUP,
    TEAM,
    Layout,
    Spread,
    spreads,
)
from wgsl_kernels.backends.webgpu.launching.walk import Walk
from wgsl_kernels.backends.webgpu.variants import size_class
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.shapes import normalize_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage

AXIS_ATTRS = ("axis", "reduction_indices", "dim", "dims")


class ReduceLaunch(AnchorLaunch):
    """Runs a reduction of its first input; others are a normalization's, one number per column."""

    swallows: tuple[int, ...] = (0,)
    hands_on = True

    def set_up(self) -> None:
        """Find out what can be fused with the kernel."""
        if is_normalization(self.shader.source):
            self.reads = 2

    def start(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> Sequence[GpuArray]:
        """Record the one or two dispatches."""
        key: Any = tuple(states)
        if extras is not ALONE:
            key = (key, extras.key)
            states = [None if state is COMPUTED else state for state in states]
        recipe: ReduceRecipe | None = self.recipes[key]
        if recipe is None:
            recipe = self.remember(key, self.build(device, arrays, states, extras))
        if recipe.is_open:
            recipe = self._chosen(recipe, key, device, arrays, states, extras)
        return self._record(recipe, device, arrays, states, extras)

    def known(self, states: tuple[State, ...]) -> Fixed | None:
        """Return the one dispatch for arrays that lie so, unless the tuner has a say."""
        recipe: ReduceRecipe | None = self.recipes[states]
        return None if recipe is None or recipe.is_open else recipe.fixed

    def _chosen(
        self,
        recipe: ReduceRecipe,
        key: Any,
        device: Device,
        arrays: list[Any],
        states: list[State],
        extras: Extras,
    ) -> ReduceRecipe:
        """Return the recipe for the spread that the tuner takes; ``recipe`` has the static one."""

        def as_name(name: str) -> ReduceRecipe:
            if name == recipe.spreads[0].variant:
                return recipe
            found: ReduceRecipe | None = self.recipes[(key, name)]
            if found is None:
                spread = next(one for one in recipe.spreads if one.variant == name)
                found = self._build(device, arrays, states, extras, spread)
                self.remember((key, name), found)
            return found

        names = tuple([one.variant for one in recipe.spreads])
        chosen = self.backend.tuner.choose(
            self.kernel,
            recipe.shape_class,
            names,
            names[0],
            lambda name: self._record(as_name(name), device, arrays, states, extras),
            recipe.work,
        )
        return as_name(chosen)

    def _record(
        self,
        recipe: ReduceRecipe,
        device: Device,
        arrays: list[Any],
        states: list[State],
        extras: Extras,
    ) -> Sequence[GpuArray]:
        outputs = self.allocate(device) if extras.keeps else []
        if recipe.fixed is not None:
            recipe.fixed.run(arrays, outputs)
            return outputs
        facts = {**recipe.facts, **extras.values()}
        bound = {**extras.arrays(), **dict(zip(self.output_names, outputs, strict=False))}
        for index, (name, array) in enumerate(zip(self.names, arrays, strict=True)):
            if index in extras.before:
                continue
            if states[index] is VALUE:
                facts[f"{name}_value"] = array.scalar
            elif array is not None:
                bound[name] = self.backend.contiguous(array) if index else array
        partials = None
        if recipe.partial_bytes:
            partials = device.storage(recipe.partial_bytes, self.kernel, "partial results")
        for compiled, groups in zip(recipe.stages, recipe.groups, strict=True):
            if recipe.windows and compiled is recipe.stages[0]:
                self._in_windows(device, recipe, bound, facts, partials)
            else:
                label = extras.label(self.kernel)
                record(device, compiled, bound, facts, groups, partials, label=label)
        return outputs

    def _in_windows(
        self,
        device: Device,
        recipe: ReduceRecipe,
        bound: dict[str, Any],
        facts: dict[str, Any],
        partials: Storage | None,
    ) -> None:
        """Reduce an array above the binding limit run of parts by run, each in its own window."""
        name = self.names[0]
        array = bound[name]
        itemsize = ITEMSIZE[array.dtype]
        rows = facts["wk_rows"]
        for first, last in recipe.windows:
            begin = first * facts["wk_part_size"] * rows * itemsize // 256 * 256
            end = min(last * facts["wk_part_size"] * rows, array.size) * itemsize
            facts |= {
                "wk_first_part": first,
                "wk_last_part": last,
                f"wk_{name}_offset": -(begin // itemsize),  # wraps: indices count from the window
            }
            window = {name: (begin, end - begin)}
            grid = _grid("rows", rows, rows, last - first)
            record(device, recipe.stages[0], bound, facts, grid, partials, window)

    def axes(self, array: GpuArray) -> tuple[int, ...]:
        """Return the reduced axes, counted from the front; what ``params=`` returns wins."""
        known = self.known_attrs(array)
        given = next((known[name] for name in AXIS_ATTRS if name in known), None)
        return normalize_axes(self.kernel, given, len(array.shape))

    def known_attrs(self, array: GpuArray) -> dict[str, Any]:
        """Return the attributes, and what ``params=`` returns for an input like ``array``."""
        known = dict(self.attrs)
        if self.shader.params is not None:
            facts = {**tensor_facts({self.names[0]: array}), **known}
            known |= params_with(self.shader.params, facts, self.kernel)
        return known

    def build(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> ReduceRecipe:
        """Compose the stages for this layout, spread as the rule has it."""
        return self._build(device, arrays, states, extras, None)

    def _build(
        self,
        device: Device,
        arrays: list[Any],
        states: list[State],
        extras: Extras,
        spread: Any,
    ) -> ReduceRecipe:
        """Compose the stages, spread as said if it is said."""
        array, source = arrays[0], self.shader.source
        reduced = self.axes(array)
        count = math.prod(array.shape[axis] for axis in reduced)
        maps = is_normalization(source)
        rows = self.outputs[0].size // count if maps else self.outputs[0].size
        facts = {**self.attrs, f"{self.output_names[0]}_size": self.outputs[0].size}
        facts |= {"wk_n": count, "wk_rows": rows}
        least = 0 if maps else self._least_parts(device, array, states[0], reduced)
        walk = Walk(array, states[0], reduced, strided=least > 0)
        every = self._spreads(device, walk, rows, count, maps, least)
        spread = every[0] if spread is None else spread
        walk.add_facts(facts, self.names[0], self.output_names[0])
        operands = [walk.operand(self.names[0]), *self._others(arrays, states)]
        outputs = self.output_operands()
        self.add_facts(facts, arrays)
        facts |= {"wk_inner": walk.inner}
        facts |= extras.facts(wide=walk.is_wide(spread.variant, maps) and extras.can_be_wide)

        def stage(which: Any, variant: Any) -> Compiled:
            wide = walk.is_wide(variant, maps) and extras.can_be_wide
            options = Options(
                variant=variant,
                stage=which,
                kept=walk.kept,
                wide=wide,
                packed=which in ("partial", "apply") and _is_packed(variant, rows, walk.inner),
                before=() if which == "final" else extras.stand_ins(self.names, wide=wide),
                after=None if which == "partial" else extras.handed_on(),
            )
            return compile_kernel(
                device, self.kernel, source, operands, outputs, list(facts), options
            )

        if spread.parts == 1:
            grid = _grid(spread.variant, rows, walk.inner, 1)
            recipe = ReduceRecipe([stage("whole", spread.variant)], [grid], facts, 0)
            if extras is ALONE:
                recipe.fixed = self.fix(device, recipe.stages[0], arrays, facts, grid)
        else:
            recipe = self._in_parts(
                device, array, spread, stage, rows, walk.inner, facts, maps, least
            )
        recipe.spreads, recipe.work = every, rows * count
        recipe.shape_class = (size_class(rows), size_class(count), size_class(walk.step))
        return recipe

    def _in_parts(
        self,
        device: Device,
        array: GpuArray,
        spread: Spread,
        stage: Any,
        rows: int,
        inner: int,
        facts: dict[str, Any],
        maps: bool,
        least: int,
    ) -> ReduceRecipe:
        size = -(-facts["wk_n"] // spread.parts)
        if not least or rows == 1:  # else columns, in windows that have no room to spare
            size = -(-size // 4) * 4
        parts = -(-facts["wk_n"] // size)
        facts |= {"wk_parts": parts, "wk_part_size": size}
        facts |= {"wk_first_part": 0, "wk_last_part": parts}
        last: Any = spread.variant
        if not maps:
            by_group = device.policy.joins_parts_together(parts, rows, GROUP)
            last = "lanes" if by_group else "rows"
        stages = [
            stage("partial", spread.variant),
            stage("apply" if maps else "final", last),
        ]
        grids = [
            _grid(spread.variant, rows, inner, parts),
            _grid(last, rows, inner, parts if maps else 1),
        ]
        partial_bytes = rows * parts * stages[0].composed.partial_bytes
        recipe = ReduceRecipe(stages, grids, facts, partial_bytes)
        if least:
            each = device.largest_binding // (size * rows * ITEMSIZE[array.dtype] + 256)
            recipe.windows = [
                (first, min(first + each, parts)) for first in range(0, parts, max(each, 1))
            ]
        return recipe

    def _spreads(
        self, device: Device, walk: Walk, rows: int, count: int, maps: bool, least: int
    ) -> tuple[Spread, ...]:
        if -(-count // CHUNK) > CHUNK:
            raise ShapeError(
                f"{self.kernel}: {count} elements are reduced into one; at most {CHUNK * CHUNK} "
                "can be. Reduce one axis after the other."
            )
        exchanges = "subgroup" in device.features and can_exchange(self.shader.source, self.names)
        layout = Layout(rows, count, walk.inner, walk.step, device.policy, maps, exchanges)
        if least:
            return (Spread("rows", max(least, -(-count // CHUNK))),)
        return spreads(layout)

    def _others(self, arrays: list[Any], states: list[State]) -> list[Operand]:
        operands: list[Operand] = []
        rest = list(zip(self.names, arrays, states, strict=True))[1:]
        for name, array, state in rest:
            if state is ABSENT:
                operands.append(Operand(name, arrays[0].dtype, 0, "absent"))
            else:
                access: Any = "value" if state is VALUE else "flat"
                operands.append(Operand(name, array.dtype, len(array.shape), access))
        return operands

    def _least_parts(
        self, device: Device, array: GpuArray, state: State, reduced: tuple[int, ...]
    ) -> int:
        """Return into how many parts an array above the binding limit must go, 0 if into none."""
        leading = reduced == tuple(range(len(reduced)))
        nbytes = device_bytes(array.size, array.dtype)
        if state is not None or not leading or nbytes <= device.largest_binding:
            return 0
        count = math.prod(array.shape[axis] for axis in reduced)
        row = self.outputs[0].size * ITEMSIZE[array.dtype]
        return -(-count // max(1, (int(device.largest_binding) - 256) // row))


def _is_packed(variant: str, rows: int, inner: int) -> bool:
    """Say whether there are so few rows that a workgroup takes several parts of them."""
    shares = variant in ("lanes", "subgroups")
    return not shares and _runs(variant, rows, inner) < _group(variant)


def _group(variant: str) -> int:
    return EIGHTS_GROUP if variant == "eights" else GROUP


def _runs(variant: str, rows: int, inner: int) -> int:
    if variant == "eights":
        return rows // 8
    return rows // inner * -(-inner // 4) if variant == "columns" else rows


def _grid(variant: str, rows: int, inner: int, parts: int) -> tuple[int, int, int]:
    """Return the workgroup counts: rows along x and y, parts along z unless they are packed."""
    runs = _runs(variant, rows, inner)
    if variant in ("lanes", "subgroups"):
        x, y, _ = fold(runs if variant == "lanes" else -(-runs * TEAM // GROUP))
        return x, y, parts
    if _is_packed(variant, rows, inner):
        return fold(-(-runs * parts // _group(variant)))
    x, y, _ = fold(-(-runs // _group(variant)))
    return x, y, parts
