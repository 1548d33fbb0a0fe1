"""Launching free kernels: one dispatch along a recipe per layout of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray
from wgsl_kernels.backends.webgpu.composing.compose import Options
from wgsl_kernels.backends.webgpu.composing.operands import Operand, allowed_access
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.kernel import call_with, params_with
from wgsl_kernels.backends.webgpu.launching.anchor import COMPUTED, AnchorLaunch
from wgsl_kernels.backends.webgpu.launching.filling import words_of
from wgsl_kernels.backends.webgpu.launching.launch import FACT_ENDINGS, VALUE, State
from wgsl_kernels.backends.webgpu.launching.padding import ends_behind, may_end_behind
from wgsl_kernels.backends.webgpu.launching.recipe import (
    Compiled,
    Fixed,
    compile_kernel,
    fold,
    grid_of,
    record,
    tensor_facts,
)
from wgsl_kernels.backends.webgpu.wgsl.names import wgsl_name
from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.shapes import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.launching.filling import Words

UNKNOWN_READS = 4
"""How often a free kernel is taken to read each element."""


class FreeRecipe:
    """A free kernel's shader, grid and parameters for one layout of its inputs."""

    __slots__ = ("compiled", "facts", "fixed", "groups", "packed", "padded")

    def __init__(
        self,
        compiled: Compiled,
        facts: dict[str, Any],
        groups: tuple[int, int, int],
        packed: tuple[int, ...],
        padded: tuple[tuple[str, int], ...],
        fixed: Fixed | None,
    ) -> None:
        self.compiled = compiled
        self.facts = facts
        self.groups = groups
        self.packed = packed
        self.padded = padded
        self.fixed = fixed


class FreeLaunch(AnchorLaunch):
    """Runs a kernel with its own ``main``."""

    def set_up(self) -> None:
        """Find out what can be fused with the kernel."""
        own = self.shader.source.variables
        self.swallows = tuple(n for n, name in enumerate(self.names) if wgsl_name(name) not in own)
        self.hands_on = wgsl_name(self.output_names[0]) not in own
        self.reads = UNKNOWN_READS
        self.is_ours = self.shader.origin.is_ours
        self.starts = self._starts()
        if self.starts:
            self.hands_on = False  # an element that is never stored keeps the number

    def start(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> Sequence[GpuArray]:
        """Record the one dispatch."""
        key: Any = tuple(states) if extras is ALONE else (tuple(states), extras.key)
        recipe: FreeRecipe | None = self.recipes[key]
        if recipe is None:
            recipe = self.remember(key, self.build(device, arrays, states, extras))
        if recipe.fixed is not None:
            outputs = self.allocate(device)
            recipe.fixed.run(arrays, outputs)
            return outputs
        numbers = {
            f"{name}_value": array.scalar  # before the number is put on the device
            for name, array, state in zip(self.names, arrays, states, strict=True)
            if state is VALUE
        }
        for index in recipe.packed:
            arrays[index] = self.backend.contiguous(arrays[index])
            if arrays[index].storage is None:
                self.backend.make_resident(arrays[index])
        for name, stride in recipe.padded:
            index = self.names.index(name)
            arrays[index] = self.backend.padded(arrays[index], stride)
        outputs = self.allocate(device) if extras.keeps else []
        present = {n: one for n, one in enumerate(arrays) if one is not None}
        bound = {self.names[n]: one for n, one in present.items() if n not in extras.before}
        bound |= extras.arrays()
        facts = {**recipe.facts, **extras.values(), **numbers}
        bound.update(zip(self.output_names, outputs, strict=False))
        label = extras.label(self.kernel)
        record(device, recipe.compiled, bound, facts, recipe.groups, label=label)
        return outputs

    def build(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> FreeRecipe:
        """Compose the kernel for these layouts."""
        source = self.shader.source
        operands: list[Operand] = []
        packed: list[int] = []
        shown: dict[str, GpuArray] = {}
        for index, (name, array, state) in enumerate(zip(self.names, arrays, states, strict=True)):
            if array is None:
                operands.append(Operand(name, "float32", 0, "absent"))
                continue
            allowed = allowed_access(source, name)
            access: Any = "value" if state is VALUE else "strided"
            if state is None or state is COMPUTED:
                access = "flat"
            if access == "strided" and not self.is_ours and may_end_behind(source, name, array):
                allowed = frozenset({"flat"})
            if access not in allowed:
                packed.append(index)
                access = "flat"
            operands.append(Operand(name, array.dtype, len(array.shape), access))
            plain = access == "flat" and array.layout is not None
            shown[name] = _row_major_twin(array) if plain else array
        facts = {**self.attrs, **tensor_facts(shown)}
        for name, spec in zip(self.output_names, self.outputs, strict=True):
            facts.update(
                tensor_facts({name: GpuArray(spec.shape, spec.dtype, spec.size, None, None)})
            )
        if self.shader.params is not None:
            facts.update(params_with(self.shader.params, facts, self.kernel))
        known = [one for one in facts if one not in _tensor_fact_names(facts, self.attrs)]
        options = Options(before=extras.stand_ins(self.names), after=extras.handed_on())
        compiled = compile_kernel(
            device, self.kernel, source, operands, self.output_operands(), known, options
        )
        facts |= extras.facts()
        grid = self.grid(compiled, facts)
        padded: tuple[tuple[str, int], ...] = ()
        if not self.is_ours:
            padded = ends_behind(compiled, operands, dict(zip(self.names, arrays, strict=True)))
        fits = extras is ALONE and not packed and not padded
        fixed = self.fix(device, compiled, arrays, facts, grid) if fits else None
        return FreeRecipe(compiled, facts, grid, tuple(packed), padded, fixed)

    def allocate(self, device: Device) -> list[GpuArray]:
        """Return new output arrays, with the numbers that they start from."""
        made = super().allocate(device)
        for index, words in self.starts:
            self.backend.fill(made[index], words)
        return made

    def known(self, states: tuple[State, ...]) -> Fixed | None:
        """Return the one dispatch for arrays of these layouts; filled outputs take several."""
        return None if self.starts else super().known(states)

    def _starts(self) -> list[tuple[int, Words]]:
        """Return the outputs that start from a number, and its words.

        Raises:
            ArgumentError: There is no output of that name, or it cannot hold the number.
        """
        found: list[tuple[int, Words]] = []
        for name, value in self.shader.init.items():
            if name not in self.output_names:
                known = ", ".join(self.output_names)
                raise ArgumentError(
                    f"{self.kernel}: init names {name!r}, which is no output; known: {known}."
                )
            index = self.output_names.index(name)
            what = f"{self.kernel}: init of {name}"
            found.append((index, words_of(value, self.outputs[index].dtype, what)))
        return found

    def grid(self, compiled: Compiled, facts: dict[str, Any]) -> tuple[int, int, int]:
        """Return the workgroup counts.

        Raises:
            ArgumentError: They are none, or there is no work and an output would stay undefined.
        """
        if self.shader.groups is None:
            x, y, z = compiled.composed.workgroup_size
            groups = fold(-(-self.outputs[0].size // (x * y * z)))
        else:
            groups = grid_of(self.kernel, call_with(self.shader.groups, facts, self.kernel))
        filled = {index for index, _ in self.starts}
        left = [n for n, spec in enumerate(self.outputs) if spec.size and n not in filled]
        if 0 in groups and left:
            name, shape = self.output_names[left[0]], show(self.outputs[left[0]].shape)
            raise ArgumentError(
                f"{self.kernel}: groups is {groups}, so nothing writes {name}, which is {shape}; "
                "want counts from 1. Return them from groups=, or pass init= for the output."
            )
        return groups


def _row_major_twin(array: GpuArray) -> GpuArray:
    return GpuArray(array.shape, array.dtype, array.size, None, None)


def _tensor_fact_names(facts: dict[str, Any], attrs: dict[str, Any]) -> set[str]:
    return {one for one in facts if one.endswith(FACT_ENDINGS) and one not in attrs}
