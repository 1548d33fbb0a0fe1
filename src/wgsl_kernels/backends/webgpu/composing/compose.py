"""Composing a kernel: from an author's file and the tensors at hand to a shader that runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed
    from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
    from wgsl_kernels.backends.webgpu.composing.text.operands import DeclaredForm, Operand
    from wgsl_kernels.backends.webgpu.composing.text.structure import (
        Across,
        After,
        Before,
        Structure,
    )
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source

# What reads and writes the language is imported where there is something to compose: most
# processes have all their texts from another one.


@dataclass(frozen=True, slots=True)
class Options:
    """Choices that give another text. Groups of maps have keys, by which their texts are told.

    Attributes:
        form: What the kernel is registered as, where its functions do not tell.
        held: Inputs of a map that are the same array as another: their loads are held.
        in_parts: Whether a map is cut above the binding limit, see ``maps.add_map``.
        loop: What is around the functions of a map, a reduction, a scan or a window.
        stage: Which part of it this is.
        kept: How many leading axes of a reduction's input remain.
        entry: A free kernel's entry point, where it has several.
        maps: What is computed in the place of the source's op: a group of maps.
        across: The order of its items, where it is another than that of what is written.
    """

    form: DeclaredForm | None = None
    held: tuple[str, ...] = ()
    in_parts: bool = False
    loop: Instance | None = None
    stage: Stage = "whole"
    kept: int = 0
    wide: bool = False
    entry: str | None = None
    before: tuple[Before, ...] = field(default=(), compare=False, repr=False)
    after: After | None = field(default=None, compare=False, repr=False)
    maps: Structure | None = field(default=None, compare=False, repr=False)
    across: Across | None = None


def compose(
    kernel: str,
    source: Source,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    *,
    attrs: Sequence[str] = (),
    constants: Mapping[str, float] | None = None,
    options: Options = Options(),
) -> Composed:
    """Return the shader that runs ``source`` on these tensors.

    Absent inputs are among ``inputs``. ``attrs`` are the names of attributes and of the fields that
    ``params=`` returns; ``constants`` has the values of overrides, needed where sizes depend on
    them.

    Raises:
        ShaderError: The source does not fit the tensors; the message points at the line.
    """
    from wgsl_kernels.backends.webgpu.composing.kernels import compose_kernel

    return compose_kernel(
        kernel, source, inputs, outputs, tuple(attrs), dict(constants or {}), options
    )
