"""The ways in which one kernel can be done, among which the tuner chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.programs.program import Program


@dataclass(frozen=True, slots=True)
class VariantChoices:
    """What a choice is about.

    Attributes:
        names: The variants that can run, the static choice first.
        shape_class: What is alike where the same of them is the fastest.
        work: How many elements the kernel goes through.
        template: The hash of a template that they are configurations of, beside the kernel's file.
    """

    names: tuple[str, ...] = ()
    shape_class: tuple[object, ...] = ()
    work: int = 0
    template: str = ""


NO_CHOICE = VariantChoices()
Lowered = tuple["Program", VariantChoices]
"""A program, and what else there is in its place."""
