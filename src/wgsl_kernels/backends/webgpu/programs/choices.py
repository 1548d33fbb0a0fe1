"""The configurations in which the work of one form of kernel can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.instances import template_hash
from wgsl_kernels.backends.webgpu.templates.template import hash_of
from wgsl_kernels.backends.webgpu.tuning.choice import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.programs.call import ShaderCall
    from wgsl_kernels.backends.webgpu.programs.program import Program
    from wgsl_kernels.backends.webgpu.tuning.choice import Candidate, ShapeClass

Lowered = tuple["Program", Choice | None]
"""A program, and what else there is in its place."""


def choice_of_form(
    call: ShaderCall, candidates: Mapping[str, Candidate], shape_class: ShapeClass, work: int
) -> Choice | None:
    """Return the choice among configurations of a form's templates, None where there is but one.

    The call's files fill the templates' slots. The static configuration is the first.
    """
    if len(candidates) == 1:
        return None

    def read(path: str) -> str:
        return hash_of([template_hash(path), *(facts.text.text for facts in call.source.files)])

    return Choice(call.kernel, shape_class, candidates, next(iter(candidates)), read, work)
