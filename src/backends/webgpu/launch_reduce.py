"""Launching reductions: axes brought in order, then one dispatch, or two for long rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import ITEMSIZE, device_bytes
from wgsl_kernels.backends.webgpu.collapse import collapse
from wgsl_kernels.backends.webgpu.compose import Options
from wgsl_kernels.backends.webgpu.launch import VALUE, ShaderLaunch, State
from wgsl_kernels.backends.webgpu.operands import Operand
from wgsl_kernels.backends.webgpu.recipe import Compiled, compile_kernel, fold, record
from wgsl_kernels.backends.webgpu.reductions import CHUNK
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.shapes import normalize_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.device import Device
    from wgsl_kernels.backends.webgpu.pool import Storage

AXIS_ATTRS = ("axis", "reduction_indices", "dim", "dims")
ROWS_PER_GROUP = 64
SPREAD = 2048
"""Elements from which a reduction to few outputs is spread over several workgroups."""


class ReduceRecipe:
    """A reduction's stages for one layout of its input."""

    __slots__ = ("facts", "groups", "partial_bytes", "stages", "windows")

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


class ReduceLaunch(ShaderLaunch):
    """Runs a reduction of its one input."""

    def start(self, device: Device, arrays: list[Any], states: list[State]) -> Sequence[GpuArray]:
        """Record the one or two dispatches."""
        key = tuple(states)
        recipe: ReduceRecipe | None = self.recipes.get(key)
        if recipe is None:
            recipe = self.remember(key, self.build(device, arrays[0], states[0]))
        outputs = self.allocate(device)
        facts = dict(recipe.facts)
        if states[0] is VALUE:
            facts[f"{self.names[0]}_value"] = arrays[0].scalar
        bound = {self.names[0]: arrays[0], self.output_names[0]: outputs[0]}
        partials = None
        if recipe.partial_bytes:
            partials = device.storage(recipe.partial_bytes, self.kernel, "partial results")
        for compiled, groups in zip(recipe.stages, recipe.groups, strict=True):
            if recipe.windows and compiled is recipe.stages[0]:
                self._in_windows(device, recipe, bound, facts, partials)
            else:
                record(device, compiled, bound, facts, groups, partials)
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
        rows = self.outputs[0].size
        for first, last in recipe.windows:
            begin = first * facts["wk_part_size"] * rows * itemsize // 256 * 256
            end = min(last * facts["wk_part_size"] * rows, array.size) * itemsize
            facts |= {
                "wk_first_part": first,
                "wk_last_part": last,
                f"wk_{name}_offset": -(begin // itemsize),  # wraps: indices count from the window
            }
            window = {name: (begin, end - begin)}
            grid = _grid(rows * (last - first), "rows")
            record(device, recipe.stages[0], bound, facts, grid, partials, window)

    def axes(self, rank: int) -> tuple[int, ...]:
        """Return the reduced axes, counted from the front."""
        given = next((self.attrs[name] for name in AXIS_ATTRS if name in self.attrs), None)
        return normalize_axes(self.kernel, given, rank)

    def build(self, device: Device, array: GpuArray, state: State) -> ReduceRecipe:
        """Compose the stages for this layout."""
        rank = len(array.shape)
        reduced = self.axes(rank)
        order = [axis for axis in range(rank) if axis not in reduced] + list(reduced)
        shape = tuple(array.shape[axis] for axis in order)
        count = math.prod(array.shape[axis] for axis in reduced)
        facts = {**self.attrs, f"{self.output_names[0]}_size": self.outputs[0].size, "wk_n": count}
        least = self._least_parts(device, array, state, reduced)
        windowed = least > 0
        seen = (array.strides, array.offset) if windowed else state
        operand, kept = self._operand(array, seen, order, shape, rank - len(reduced), facts)
        parts = max(self._parts(count), least)
        by_rows = windowed or self._by_rows(device, parts, count)
        variant: Any = "rows" if by_rows else "lanes"
        source = self.shader.source

        def stage(which: Any) -> Compiled:
            options = Options(variant=variant, stage=which, kept=kept)
            outputs = self.output_operands()
            return compile_kernel(
                device, self.kernel, source, [operand], outputs, list(facts), options
            )

        self.add_facts(facts, [array])
        rows = self.outputs[0].size
        if parts == 1:
            return ReduceRecipe([stage("whole")], [_grid(rows, variant)], facts, 0)
        size = -(-count // parts)
        facts |= {"wk_parts": parts, "wk_part_size": size}
        facts |= {"wk_first_part": 0, "wk_last_part": parts}
        stages = [stage("partial"), stage("final")]
        grids = [_grid(rows * parts, variant), _grid(rows, variant)]
        partial_bytes = rows * parts * stages[0].composed.partial_bytes
        recipe = ReduceRecipe(stages, grids, facts, partial_bytes)
        if windowed:
            each = device.largest_binding // (size * rows * ITEMSIZE[array.dtype] + 256)
            recipe.windows = [
                (first, min(first + each, parts)) for first in range(0, parts, max(each, 1))
            ]
        return recipe

    def _operand(
        self,
        array: GpuArray,
        state: State,
        order: list[int],
        shape: tuple[int, ...],
        kept: int,
        facts: dict[str, Any],
    ) -> tuple[Operand, int]:
        name = self.names[0]
        if state is VALUE or array.size == 0:
            facts.setdefault(f"{name}_value", 0)
            return Operand(name, array.dtype, len(shape), "value"), kept
        if state is None and order == sorted(order):
            return Operand(name, array.dtype, len(shape), "flat"), kept
        strides = tuple(array.strides[axis] for axis in order)
        merged, (own,), left = collapse(shape, [strides], kept)
        facts |= {
            "wk_shape": merged,
            f"wk_{name}_strides": own,
            f"wk_{name}_offset": array.offset,
        }
        return Operand(name, array.dtype, len(merged), "strided"), left

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

    def _parts(self, count: int) -> int:
        """Return over how many partial results each output is spread."""
        rows = self.outputs[0].size
        least = -(-count // CHUNK)
        if least > CHUNK:
            raise ShapeError(
                f"{self.kernel}: {count} elements are reduced into one; at most {CHUNK * CHUNK} "
                "can be. Reduce one axis after the other."
            )
        wanted = 1
        if count >= SPREAD and rows * ROWS_PER_GROUP < SPREAD:
            wanted = min(-(-count // 1024), max(1, SPREAD // rows))
        return max(least, wanted)

    def _by_rows(self, device: Device, parts: int, count: int) -> bool:
        """Say whether an invocation takes a row: best on CPUs, and for short rows anywhere."""
        return device.is_software or count // parts <= 32


def _grid(rows: int, variant: str) -> tuple[int, int, int]:
    return fold(-(-rows // ROWS_PER_GROUP) if variant == "rows" else rows)
