"""Dispatches that a kernel with full control makes: a recipe per layout of the arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.accessors import declared_in_fours
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.operands import Operand, allowed_access
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.launching.padding import ends_behind, may_end_behind
from wgsl_kernels.backends.webgpu.launching.recipe import (
    Compiled,
    bound_ranges,
    compile_kernel,
    fold,
    grid_of,
    record,
    tensor_facts,
)
from wgsl_kernels.backends.webgpu.wgsl.names import wgsl_name
from wgsl_kernels.engine.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.composing.source import Source
    from wgsl_kernels.backends.webgpu.devices.device import Device

Grid = tuple[int, int, int]


@dataclass(frozen=True, eq=False, slots=True)
class DirectRecipe:
    """A shader with everything that does not change while the arrays' layouts stay.

    Attributes:
        compiled: The shader.
        facts: What fills the parameter block, but for values that travel there.
        written: Arrays that the shader writes.
        packed: Arrays that the shader needs row-major.
        padded: Row-major arrays that must be zero behind their ends, and their elements' bytes.
        values: Arrays of one number that travel as parameters.
        grid: The workgroup counts.
        ranges: (offset, bytes) of each binding, None where they must be computed each time.
        has_views: Whether one is of a view, which binds its whole buffer: of another size each
            time.
        params: The parameter block, None where something in it changes.
        hands_on: The one array that it writes through accessors alone, else empty.
    """

    compiled: Compiled
    facts: dict[str, Any]
    written: tuple[str, ...]
    packed: tuple[str, ...]
    padded: tuple[tuple[str, int], ...]
    values: tuple[str, ...]
    grid: Grid
    ranges: tuple[tuple[int, int], ...] | None
    has_views: bool
    params: bytes | None
    hands_on: str

    def run(self, device: Device, arrays: Mapping[str, GpuArray], extras: Extras = ALONE) -> None:
        """Record the dispatch on arrays of these layouts, which are resident and packed."""
        params = self.params
        if self.ranges is None or params is None:
            facts = self.facts
            if params is None:
                facts = {**facts, **extras.values()}
                for name in self.values:
                    facts[f"{name}_value"] = arrays[name].scalar
            label = extras.label(self.compiled.composed.kernel)
            bound = {**arrays, **extras.arrays()}
            record(device, self.compiled, bound, facts, self.grid, label=label, params=params)
            return
        ranges = self.ranges
        if self.has_views:
            ranges = bound_ranges(device, self.compiled, arrays)
        storages: list[Any] = [arrays[slot.name].storage for slot in self.compiled.slots]
        device.dispatch(
            self.compiled.pipeline,
            storages,
            ranges,
            params,
            self.grid,
            self.compiled.composed.kernel,
        )


def build(
    device: Device,
    kernel: str,
    source: Source,
    arrays: Mapping[str, GpuArray],
    params: Mapping[str, Any],
    groups: Sequence[int] | None,
    constants: Mapping[str, float] | None,
    extras: Extras = ALONE,
    *,
    is_ours: bool = True,
) -> DirectRecipe:
    """Compose a shader for these arrays, and for the maps that its result is handed on to.

    One that is not ours sees zeros behind its inputs; see `padding`.

    Raises:
        ShaderError: The shader does not compose or compile.
        ArgumentError: It writes none of the arrays.
    """
    written = {one.name for one in source.variables.values() if one.access == "read_write"}
    inputs: list[Operand] = []
    outputs: list[Operand] = []
    packed: list[str] = []
    for name, array in arrays.items():
        if wgsl_name(name) in written or _is_stored(source, name):
            outputs.append(Operand(name, array.dtype, len(array.shape)))
            continue
        whole = not is_ours and may_end_behind(source, name, array)
        operand = _input(source, name, array, packs=whole)
        inputs.append(operand)
        if operand.access == "flat" and array.layout is not None:
            packed.append(name)
    if not outputs:
        raise ArgumentError(f"{kernel}: the shader writes none of {', '.join(arrays)}.")
    values = tuple(one.name for one in inputs if one.access == "value")
    in_fours = extras.in_fours and declared_in_fours(source, outputs[0].name)
    options = Options(after=extras.handed_on(in_fours=in_fours))
    compiled = compile_kernel(
        device, kernel, source, inputs, outputs, list(params), options, constants
    )
    facts = {**tensor_facts(arrays, row_major=packed), **params, **extras.facts(in_fours=in_fours)}
    if groups is None:
        x, y, z = compiled.composed.workgroup_size
        grid = fold(-(-arrays[outputs[0].name].size // (x * y * z)))
    else:
        grid = grid_of(kernel, groups)
    padded = () if is_ours else ends_behind(compiled, inputs, arrays)
    fixed = (
        extras is ALONE
        and not values
        and not packed
        and not padded
        and all(slot.role == "tensor" for slot in compiled.slots)
    )
    fixed = fixed and all(arrays[slot.name].storage is not None for slot in compiled.slots)
    changes = values or extras.values() or compiled.composed.uses_status
    return DirectRecipe(
        compiled=compiled,
        facts=facts,
        written=tuple(one.name for one in outputs),
        packed=tuple(packed),
        padded=padded,
        values=values,
        grid=grid,
        ranges=bound_ranges(device, compiled, arrays) if fixed else None,
        has_views=any(array.layout is not None for array in arrays.values()),
        params=None if changes else compiled.composed.pack(facts),
        hands_on="" if compiled.composed.uses_status else _handed_on(source, outputs),
    )


def _input(source: Source, name: str, array: GpuArray, *, packs: bool) -> Operand:
    allowed = allowed_access(source, name)
    rank = len(array.shape)
    if array.is_scalar_on_host and "value" in allowed:
        return Operand(name, array.dtype, rank, "value")
    if array.layout is not None and "strided" in allowed and not packs:
        return Operand(name, array.dtype, rank, "strided")
    return Operand(name, array.dtype, rank)


def _handed_on(source: Source, written: Sequence[Operand]) -> str:
    """Return the one array that a shader writes, if it does so through accessors alone."""
    if len(written) != 1 or not _is_stored(source, written[0].name):
        return ""
    names_it = any(written[0].wgsl in one.needs for one in source.functions.values())
    return "" if names_it else written[0].name


def _is_stored(source: Source, name: str) -> bool:
    stores = {f"store_{name}", f"store_{wgsl_name(name)}", f"store4_{name}"}
    return any(stores & one.needs for one in source.functions.values())
