"""Launching reductions: axes brought in order, then one dispatch, or two for long rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import ITEMSIZE, device_bytes, row_major
from wgsl_kernels.backends.webgpu.collapse import collapse
from wgsl_kernels.backends.webgpu.compose import Options
from wgsl_kernels.backends.webgpu.exchanges import can_exchange
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.kernel import call_with
from wgsl_kernels.backends.webgpu.launch import ABSENT, VALUE, State
from wgsl_kernels.backends.webgpu.launch_anchor import COMPUTED, AnchorLaunch
from wgsl_kernels.backends.webgpu.operands import Operand
from wgsl_kernels.backends.webgpu.recipe import (
    Compiled,
    Fixed,
    compile_kernel,
    fold,
    record,
    tensor_facts,
)
from wgsl_kernels.backends.webgpu.reductions import CHUNK, is_normalization
from wgsl_kernels.backends.webgpu.row_loads import BESIDE
from wgsl_kernels.backends.webgpu.spreads import (
    EIGHTS_GROUP,
    GROUP,
    TEAM,
    Layout,
    Spread,
    spreads,
)
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.shapes import normalize_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.device import Device
    from wgsl_kernels.backends.webgpu.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.pool import Storage
    from wgsl_kernels.engine.spec import Spec

AXIS_ATTRS = ("axis", "reduction_indices", "dim", "dims")


class ReduceRecipe:
    """A reduction's stages for one layout of its input."""

    __slots__ = ("facts", "fixed", "groups", "partial_bytes", "stages", "windows")

    def __init__(
        self,
        stages: list[Compiled],
        groups: list[tuple[int, int, int]],
        facts: dict[str, Any],
        partial_bytes: int,
    ) -> None:
        self.stages = stages
        self.groups = groups
        self.facts = facts
        self.partial_bytes = partial_bytes
        self.windows: list[tuple[int, int]] = []
        self.fixed: Fixed | None = None


class ReduceLaunch(AnchorLaunch):
    """Runs a reduction of its first input; others are a normalization's, one number per column."""

    swallows = (0,)
    hands_on = True

    def __init__(
        self,
        backend: WebGpuBackend,
        shader: ShaderKernel,
        names: Sequence[str],
        attrs: dict[str, Any],
        outputs: Sequence[Spec],
        output_names: Sequence[str],
    ) -> None:
        super().__init__(backend, shader, names, attrs, outputs, output_names)
        self.reads = 2 if is_normalization(shader.source) else 1

    def start(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> Sequence[GpuArray]:
        """Record the one or two dispatches."""
        key: Any = tuple(states)
        if extras is not ALONE:
            key = (key, extras.key)
            states = [None if state is COMPUTED else state for state in states]
        recipe: ReduceRecipe | None = self.recipes.get(key)
        if recipe is None:
            recipe = self.remember(key, self.build(device, arrays, states, extras))
        outputs = self.allocate(device) if extras.keeps else []
        if recipe.fixed is not None:
            recipe.fixed.run(device, arrays, outputs)
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
        known = dict(self.attrs)
        if self.shader.params is not None:
            facts = {**tensor_facts({self.names[0]: array}), **known}
            known |= call_with(self.shader.params, facts, self.kernel)
        given = next((known[name] for name in AXIS_ATTRS if name in known), None)
        return normalize_axes(self.kernel, given, len(array.shape))

    def build(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> ReduceRecipe:
        """Compose the stages for this layout."""
        array, source = arrays[0], self.shader.source
        reduced = self.axes(array)
        count = math.prod(array.shape[axis] for axis in reduced)
        maps = is_normalization(source)
        rows = self.outputs[0].size // count if maps else self.outputs[0].size
        facts = {**self.attrs, f"{self.output_names[0]}_size": self.outputs[0].size}
        facts |= {"wk_n": count, "wk_rows": rows}
        least = 0 if maps else self._least_parts(device, array, states[0], reduced)
        walk = _Walk(array, states[0], reduced, strided=least > 0)
        spread = self._choose(device, walk, rows, count, maps, least)
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
            return recipe
        return self._in_parts(device, array, spread, stage, rows, walk.inner, facts, maps, least)

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
            by_group = not device.is_software and parts > rows and parts >= GROUP
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

    def _choose(
        self, device: Device, walk: _Walk, rows: int, count: int, maps: bool, least: int
    ) -> Spread:
        if -(-count // CHUNK) > CHUNK:
            raise ShapeError(
                f"{self.kernel}: {count} elements are reduced into one; at most {CHUNK * CHUNK} "
                "can be. Reduce one axis after the other."
            )
        exchanges = "subgroup" in device.features and can_exchange(self.shader.source, self.names)
        layout = Layout(
            rows, count, walk.inner, walk.step, device.is_software, maps, has_subgroups=exchanges
        )
        if least:
            return Spread("rows", max(least, -(-count // CHUNK)))
        return spreads(layout)[0]

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


class _Walk:
    """The order in which an input's elements are met: kept axes, then reduced ones, merged.

    Attributes:
        kept: How many of the merged axes are kept.
        inner: How many neighbouring rows have neighbouring elements, 1 where there are none.
        step: Elements from one of a row to the next.
    """

    def __init__(
        self, array: GpuArray, state: State, reduced: tuple[int, ...], *, strided: bool
    ) -> None:
        axes = range(len(array.shape))
        order = [axis for axis in axes if axis not in reduced] + list(reduced)
        self.dtype = array.dtype
        self.offset = array.offset
        self.rank = len(order)
        self.kept = len(order) - len(reduced)
        self.inner = self.step = 1
        self.access: Any = "value" if state is VALUE or array.size == 0 else "strided"
        self.shape: tuple[int, ...] = ()
        self.own: tuple[int, ...] = ()
        self.written: tuple[int, ...] = ()
        if self.access == "value":
            return
        shape = tuple(array.shape[axis] for axis in order)
        plain = row_major(array.shape)
        strides = [[one[axis] for axis in order] for one in (array.strides, plain)]
        self.shape, (self.own, self.written), self.kept = collapse(
            shape, [tuple(one) for one in strides], self.kept
        )
        self.rank = len(self.shape)
        if not strided and state is None and order == sorted(order):
            self.access = "flat"
            return
        self.step = self.own[-1] if self.rank > self.kept else 1
        beside = self.kept > 0 and self.own[self.kept - 1] == self.written[self.kept - 1] == 1
        if beside and self.step != 1 and not strided:
            self.inner = self.shape[self.kept - 1]

    def operand(self, name: str) -> Operand:
        """Return the input as the composer wants it."""
        return Operand(name, self.dtype, self.rank, self.access)

    def add_facts(self, facts: dict[str, Any], name: str, output: str) -> None:
        """Add sizes, strides and offset to the facts of the dispatches."""
        if self.access == "value":
            facts.setdefault(f"{name}_value", 0)
            return
        facts |= {
            "wk_shape": self.shape,
            f"wk_{name}_strides": self.own,
            f"wk_{name}_offset": self.offset,
            f"wk_{output}_strides": self.written,
        }

    def is_wide(self, variant: str, maps: bool) -> bool:
        """Say whether the fours that ``variant`` loads and stores lie at multiples of four."""
        if self.access == "value" or self.dtype == "complex64" or self.offset % 4:
            return False
        both = [self.own, self.written] if maps else [self.own]
        if variant in BESIDE:
            others = [one[: self.kept - 1] + one[self.kept :] for one in both]
            return self.inner % 4 == 0 and all(s % 4 == 0 for one in others for s in one)
        if any(one[self.kept :] != (1,) for one in both):
            return False
        return all(s % 4 == 0 for one in both for s in one[: self.kept])


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
