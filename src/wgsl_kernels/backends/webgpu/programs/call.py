"""A kernel's call: the shader, its attributes, and the specs of what it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
from wgsl_kernels.backends.webgpu.declare.kernel import params_with
from wgsl_kernels.backends.webgpu.modules.kernel_source import names_fields
from wgsl_kernels.backends.webgpu.programs.arguments import Argument, tensor_facts
from wgsl_kernels.backends.webgpu.programs.building import PLAIN, Bound, Composition
from wgsl_kernels.backends.webgpu.tuning.choice import Choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.compose import Options
    from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.backends.webgpu.programs.program import Program
    from wgsl_kernels.backends.webgpu.tuning.choice import Candidate, ShapeClass
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
        if names_fields(self.source, FACT_ENDINGS):
            facts.update({name: value for name, value in known.items() if name not in facts})

    def composition(
        self, inputs: Iterable[Operand], facts: Iterable[str], options: Options = PLAIN, **more: Any
    ) -> Composition:
        """Return how the kernel is composed for these inputs; ``more`` is as in `Composition`."""
        outputs = self.output_operands()
        return Composition(
            self.kernel, self.source, tuple(inputs), outputs, tuple(facts), options, **more
        )

    def bound(self, arguments: Sequence[Argument | None]) -> Bound:
        return Bound({**self.given(arguments), **self.made()})

    def choice(
        self, candidates: Mapping[str, Candidate], shape_class: ShapeClass, work: int
    ) -> Choice | None:
        """Return the choice among configurations of a form's templates, None where there is one.

        The call's files fill the templates' slots. The static configuration is the first.
        """
        if len(candidates) == 1:
            return None

        def read(path: str) -> str:
            from wgsl_kernels.backends.webgpu.composing.text.instances import template_hash
            from wgsl_kernels.backends.webgpu.templates.template import hash_of

            return hash_of([template_hash(path), *(one.text.text for one in self.source.files)])

        return Choice(self.kernel, shape_class, candidates, next(iter(candidates)), read, work)

    def output_operands(self) -> tuple[Operand, ...]:
        return tuple(
            [
                Operand(name, spec.dtype, spec.ndim)
                for name, spec in zip(self.output_names, self.outputs, strict=True)
            ]
        )

    def made(self) -> dict[str, Argument]:
        pairs = zip(self.output_names, self.outputs, strict=True)
        return {name: Argument.made(spec, n) for n, (name, spec) in enumerate(pairs)}

    def given(self, arguments: Sequence[Argument | None]) -> dict[str, Argument]:
        pairs = zip(self.names, arguments, strict=True)
        return {name: one for name, one in pairs if one is not None}


Lowered = tuple["Program", Choice | None]
"""A program, and what else there is in its place."""
