"""Launching: from arrays to recorded dispatches, along a recipe per layout of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.array import GpuArray, device_bytes
from wgsl_kernels.backends.webgpu.composing.operands import Operand
from wgsl_kernels.backends.webgpu.fusion.extras import ALONE, Extras
from wgsl_kernels.backends.webgpu.kernel import ShaderKernel, params_with
from wgsl_kernels.backends.webgpu.launching.recipe import Fixed, fixed, tensor_facts
from wgsl_kernels.engine.recent import Recent
from wgsl_kernels.engine.shapes import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.backend import WebGpuBackend
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.launching.recipe import Compiled
    from wgsl_kernels.engine.spec import Spec

VALUE = "value"
ABSENT = "absent"
RECIPES_MAX = 64
"""Recipes of one kernel for certain shapes that are kept at least: per layout, and per group of
maps that is fused into it."""
CHECKED_BYTES = 1 << 18
"""Smaller outputs are left to the pool's own check."""

FACT_ENDINGS = ("_shape", "_strides", "_offset", "_size", "_dtype")

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
        self.is_empty = all(one.size == 0 for one in self.outputs)
        self.large = [one for one in self.outputs if one.nbytes >= CHECKED_BYTES]
        self.recipes: Recent[Any, Any] = Recent(RECIPES_MAX)
        self.device: Device | None = None
        self.set_up()

    is_anchor = False

    def set_up(self) -> None:
        """Find out what the form needs to know of the kernel before it runs."""

    def __call__(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Run the kernel, now or when it is needed."""
        return self.run_now(arrays)

    def run_now(self, arrays: list[Any]) -> Sequence[GpuArray]:
        """Record the dispatches and return the output arrays."""
        device = self.backend.open()
        if device is not self.device:
            self.recipes.clear()
            self.device = device
        if self.is_empty:
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

    def start(
        self, device: Device, arrays: list[Any], states: list[State], extras: Extras = ALONE
    ) -> Sequence[GpuArray]:
        """Record what these arrays need; each form has its own."""
        raise AssertionError("each form has its own start")

    def allocate(self, device: Device) -> list[GpuArray]:
        """Return new output arrays."""
        for spec in self.large:
            self.backend.check_size(spec)
        made: list[GpuArray] = []
        for index, spec in enumerate(self.outputs):
            nbytes = self.nbytes[index]
            storage = device.storage(nbytes, self.kernel, self.labels[index]) if nbytes else None
            made.append(GpuArray(spec.shape, spec.dtype, spec.size, storage, device))
        return made

    def fix(
        self,
        device: Device,
        compiled: Compiled,
        arrays: Sequence[Any],
        facts: dict[str, Any],
        groups: tuple[int, int, int],
    ) -> Fixed | None:
        """Return the kernel's one dispatch, None where more changes than the buffers."""
        inputs = dict(zip(self.names, arrays, strict=True))
        outputs = dict(zip(self.output_names, self.nbytes, strict=True))
        return fixed(device, compiled, inputs, outputs, facts, groups)

    def remember(self, key: Any, recipe: Any) -> Any:
        """Keep a recipe, within bounds."""
        return self.recipes.keep(key, recipe)

    def retire(self) -> None:
        """Have groups forget the kernel: its registration has changed."""
        self.backend.fuser.retire(self)

    def add_facts(self, facts: dict[str, Any], arrays: Sequence[Any]) -> None:
        """Add to ``facts`` what ``params=`` gives, and the facts of tensors that fields name."""
        shown = {name: one for name, one in zip(self.names, arrays, strict=True) if one is not None}
        for name, spec in zip(self.output_names, self.outputs, strict=True):
            shown[name] = GpuArray(spec.shape, spec.dtype, spec.size, None, None)
        known = {**tensor_facts(shown), **facts}
        if self.shader.params is not None:
            facts.update(params_with(self.shader.params, known, self.kernel))
        structs = self.shader.source.structs.values()
        if any(field.name.endswith(FACT_ENDINGS) for struct in structs for field in struct.fields):
            facts.update({name: value for name, value in known.items() if name not in facts})

    def output_operands(self) -> list[Operand]:
        """Return what the composer needs to know of the outputs."""
        return [
            Operand(name, spec.dtype, spec.ndim)
            for name, spec in zip(self.output_names, self.outputs, strict=True)
        ]
