"""Launching: from arrays to recorded dispatches, along a recipe per layout of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray, device_bytes
from wgsl_kernels.backends.webgpu.compose import Options
from wgsl_kernels.backends.webgpu.kernel import ShaderKernel, call_with
from wgsl_kernels.backends.webgpu.operands import Operand, allowed_access
from wgsl_kernels.backends.webgpu.recipe import (
    Compiled,
    compile_kernel,
    fold,
    grid_of,
    record,
    tensor_facts,
)
from wgsl_kernels.engine.shapes import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.device import Device
    from wgsl_kernels.engine.spec import Spec

VALUE = "value"
ABSENT = "absent"
RECIPES_MAX = 1024
CHECKED_BYTES = 1 << 18
"""Smaller outputs are left to the pool's own check."""

State = Any
"""How one input lies: `VALUE`, `ABSENT`, None (row-major) or its `Layout`."""


class ShaderLaunch:
    """Runs one shader kernel on inputs of fixed specs; the forms differ in `build` and `start`."""

    def __init__(
        self,
        backend: WebGpuBackend,
        shader: ShaderKernel,
        names: Sequence[str],
        attrs: dict[str, Any],
        outputs: Sequence[Spec],
        output_names: Sequence[str],
    ) -> None:
        self.backend = backend
        self.shader = shader
        self.kernel = shader.name
        self.names = tuple(names)
        self.attrs = attrs
        self.outputs = tuple(outputs)
        self.output_names = tuple(output_names)
        self.nbytes = [device_bytes(one.size, one.dtype) for one in outputs]
        self.labels = [f"{show(one.shape)} {one.dtype}" for one in outputs]
        self.large = [one for one in self.outputs if one.nbytes >= CHECKED_BYTES]
        self.recipes: dict[Any, Any] = {}
        self.device: Device | None = None

    def __call__(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Record the dispatches and return the output arrays."""
        device = self.backend.open()
        if device is not self.device:
            self.recipes.clear()
            self.device = device
        if all(one.size == 0 for one in self.outputs):
            return [GpuArray(one.shape, one.dtype, 0, None, None) for one in self.outputs]
        states: list[State] = []
        for array in arrays:
            if array is None:
                states.append(ABSENT)
            elif array.size == 1 and array.host is not None:
                states.append(VALUE)
            else:
                if array.storage is None or array.device is not device:
                    self.backend.make_resident(array, f"{self.kernel} takes buffers")
                states.append(array.layout)
        return self.start(device, arrays, states)

    def start(self, device: Device, arrays: list[Any], states: list[State]) -> Sequence[GpuArray]:
        """Record what these arrays need; each form has its own."""
        raise AssertionError("each form has its own start")

    def allocate(self, device: Device) -> list[GpuArray]:
        """Return new output arrays."""
        for spec in self.large:
            self.backend.check_size(spec)
        made: list[GpuArray] = []
        for spec, nbytes, label in zip(self.outputs, self.nbytes, self.labels, strict=True):
            storage = device.storage(nbytes, self.kernel, label) if nbytes else None
            made.append(GpuArray(spec.shape, spec.dtype, spec.size, storage, device))
        return made

    def remember(self, key: Any, recipe: Any) -> Any:
        """Keep a recipe, within bounds."""
        if len(self.recipes) >= RECIPES_MAX:
            self.recipes.clear()
        return self.recipes.setdefault(key, recipe)

    def add_facts(self, facts: dict[str, Any], arrays: Sequence[Any]) -> None:
        """Add to ``facts`` what ``params=`` gives, and the facts of tensors that fields name."""
        shown = {name: one for name, one in zip(self.names, arrays, strict=True) if one is not None}
        for name, spec in zip(self.output_names, self.outputs, strict=True):
            shown[name] = GpuArray(spec.shape, spec.dtype, spec.size, None, None)
        known = {**tensor_facts(shown), **facts}
        if self.shader.params is not None:
            facts.update(call_with(self.shader.params, known, self.kernel))
        structs = self.shader.source.structs.values()
        if any(field.name.endswith(_FACTS) for struct in structs for field in struct.fields):
            facts.update({name: value for name, value in known.items() if name not in facts})

    def output_operands(self) -> list[Operand]:
        """Return what the composer needs to know of the outputs."""
        return [
            Operand(name, spec.dtype, spec.ndim)
            for name, spec in zip(self.output_names, self.outputs, strict=True)
        ]


class FreeRecipe:
    """A free kernel's shader, grid and parameters for one layout of its inputs."""

    __slots__ = ("compiled", "facts", "groups", "packed")

    def __init__(
        self,
        compiled: Compiled,
        facts: dict[str, Any],
        groups: tuple[int, int, int],
        packed: tuple[int, ...],
    ) -> None:
        self.compiled = compiled
        self.facts = facts
        self.groups = groups
        self.packed = packed


class FreeLaunch(ShaderLaunch):
    """Runs a kernel with its own ``main``."""

    def start(self, device: Device, arrays: list[Any], states: list[State]) -> Sequence[GpuArray]:
        """Record the one dispatch."""
        key = tuple(states)
        recipe: FreeRecipe | None = self.recipes.get(key)
        if recipe is None:
            recipe = self.remember(key, self.build(device, arrays, states))
        for index in recipe.packed:
            arrays[index] = self.backend.contiguous(arrays[index])
            if arrays[index].storage is None:
                self.backend.make_resident(arrays[index])
        outputs = self.allocate(device)
        bound = {name: one for name, one in zip(self.names, arrays, strict=True) if one is not None}
        facts = dict(recipe.facts)
        for name, array, state in zip(self.names, arrays, states, strict=True):
            if state is VALUE:
                facts[f"{name}_value"] = array.scalar
        bound.update(zip(self.output_names, outputs, strict=True))
        record(device, recipe.compiled, bound, facts, recipe.groups)
        return outputs

    def build(self, device: Device, arrays: list[Any], states: list[State]) -> FreeRecipe:
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
            access: Any = "value" if state is VALUE else "flat" if state is None else "strided"
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
            facts.update(call_with(self.shader.params, facts, self.kernel))
        known = [one for one in facts if one not in _tensor_fact_names(facts, self.attrs)]
        compiled = compile_kernel(
            device, self.kernel, source, operands, self.output_operands(), known, Options()
        )
        return FreeRecipe(compiled, facts, self.grid(compiled, facts), tuple(packed))

    def grid(self, compiled: Compiled, facts: dict[str, Any]) -> tuple[int, int, int]:
        """Return the workgroup counts."""
        if self.shader.groups is not None:
            return grid_of(self.kernel, call_with(self.shader.groups, facts, self.kernel))
        x, y, z = compiled.composed.workgroup_size
        return fold(-(-self.outputs[0].size // (x * y * z)))


def _row_major_twin(array: GpuArray) -> GpuArray:
    return GpuArray(array.shape, array.dtype, array.size, None, None)


def _tensor_fact_names(facts: dict[str, Any], attrs: dict[str, Any]) -> set[str]:
    return {one for one in facts if one.endswith(_FACTS) and one not in attrs}


_FACTS = ("_shape", "_strides", "_offset", "_size", "_dtype")
