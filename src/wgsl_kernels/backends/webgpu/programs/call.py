"""A kernel's call: the shader, its attributes, and the specs of what it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.declare.kernel import params_with
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.engine.values.spec import Spec

FACT_ENDINGS = ("_shape", "_strides", "_offset", "_size", "_dtype")


@dataclass(frozen=True, eq=False, slots=True)
class ShaderCall:
    """One shader kernel for inputs of fixed specs.

    Attributes:
        checks_loops: Whether it is to report where the adapter has ended its loops.
    """

    shader: ShaderKernel
    names: tuple[str, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Spec, ...]
    output_names: tuple[str, ...]
    checks_loops: bool = False

    @property
    def source(self) -> Source:
        found = self.shader.source
        return found.checked if self.checks_loops else found

    @property
    def kernel(self) -> str:
        return self.shader.name

    def add_facts(self, facts: dict[str, Any], arguments: Sequence[Argument | None]) -> None:
        """Add to ``facts`` what ``params=`` gives, and the facts of tensors that fields name."""
        pairs = zip(self.names, arguments, strict=True)
        shown = {name: one for name, one in pairs if one is not None}
        for name, spec in zip(self.output_names, self.outputs, strict=True):
            shown[name] = Argument(spec.shape, spec.dtype)
        known = {**tensor_facts(shown), **facts}
        if self.shader.params is not None:
            facts.update(params_with(self.shader.params, known, self.kernel))
        structs = self.source.structs.values()
        if any(field.name.endswith(FACT_ENDINGS) for struct in structs for field in struct.fields):
            facts.update({name: value for name, value in known.items() if name not in facts})

    def output_operands(self) -> tuple[Operand, ...]:
        """Return what the composer needs to know of the outputs."""
        return tuple(
            [
                Operand(name, spec.dtype, spec.ndim)
                for name, spec in zip(self.output_names, self.outputs, strict=True)
            ]
        )

    def made(self) -> dict[str, Argument]:
        """Return the outputs as the buffers of a program, by name."""
        pairs = zip(self.output_names, self.outputs, strict=True)
        return {name: Argument.made(spec, n) for n, (name, spec) in enumerate(pairs)}

    def given(self, arguments: Sequence[Argument | None]) -> dict[str, Argument]:
        pairs = zip(self.names, arguments, strict=True)
        return {name: one for name, one in pairs if one is not None}

    def numbers(self) -> dict[str, int]:
        return {name: n for n, name in enumerate(self.names)}
