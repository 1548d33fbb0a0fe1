"""All rules of the lint, on one module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.hazards import hazard_remarks, overflow_remarks
from wgsl_kernels.wgsl.lint.loops import loop_remarks
from wgsl_kernels.wgsl.lint.memory import memory_remarks
from wgsl_kernels.wgsl.lint.portability import (
    binding_remarks,
    grid_remarks,
    name_remarks,
    subgroup_remarks,
)
from wgsl_kernels.wgsl.lint.uniformity import barrier_remarks
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.types.infer import infer

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.lint.remarks import Remark
    from wgsl_kernels.wgsl.syntax.places import Text


def lint(text: Text, *, default_grid: bool = False) -> list[Remark]:
    """Return what there is to say of a complete shader, in the order of its text.

    Args:
        text: The text with everything that it needs: a composed one.
        default_grid: Whether its grid is the default one, which may fold.

    Raises:
        ShaderError: It cannot be read at all.
    """
    module = parse(text)
    types = infer(module.declarations)
    found = [
        *barrier_remarks(module),
        *hazard_remarks(module, types),
        *overflow_remarks(module, types),
        *memory_remarks(module),
        *loop_remarks(module),
        *name_remarks(module),
        *binding_remarks(module),
        *subgroup_remarks(module),
        *(grid_remarks(module) if default_grid else ()),
    ]
    return sorted(found, key=lambda one: one.span.begin)
