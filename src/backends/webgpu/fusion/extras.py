"""The groups of maps that one run of a kernel is fused with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.composing.attach import AFTER, Before

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.composing.attach import After
    from wgsl_kernels.backends.webgpu.fusion.graph import Group
    from wgsl_kernels.backends.webgpu.fusion.parts import Fused


@dataclass(frozen=True, eq=False)
class Extras:
    """What stands for a kernel's inputs, and what its result is handed on to.

    Attributes:
        before: A group by the number of the input that it stands for.
        after: The group that the result is handed on to.
        keeps: Whether the kernel's own result is written.
        made: Where the group behind writes, by the number of its step.
        taken: Of a kernel with full control, whether its result was handed on after all.
    """

    before: Mapping[int, tuple[Fused, Group]] = field(
        default_factory=dict[int, "tuple[Fused, Group]"]
    )
    after: tuple[Fused, Group] | None = None
    keeps: bool = True
    made: Mapping[int, GpuArray] = field(default_factory=dict[int, "GpuArray"])
    taken: list[bool] = field(default_factory=list[bool])

    @property
    def key(self) -> Any:
        """What tells recipes apart."""
        before = tuple((index, one.key) for index, (one, _) in self.before.items())
        return (before, None if self.after is None else self.after[0].key, self.keeps)

    @property
    def can_be_wide(self) -> bool:
        """Whether the groups in front can be computed for four elements at once."""
        return all(one.quads is not None for one, _ in self.before.values())

    def stand_ins(self, names: tuple[str, ...], *, wide: bool = False) -> tuple[Before, ...]:
        """Return what stands for the inputs called ``names``."""
        return tuple(one.before(names[n], wide=wide) for n, (one, _) in self.before.items())

    @property
    def in_fours(self) -> bool:
        """Whether the result can be handed on in fours."""
        return self.after is not None and self.after[0].quads is not None

    def handed_on(self, *, in_fours: bool = False) -> After | None:
        """Return what the result is handed on to, elements or fours of them."""
        if self.after is None:
            return None
        return self.after[0].after(keeps=self.keeps, wide=in_fours)

    def facts(self, *, wide: bool = False, in_fours: bool = False) -> dict[str, Any]:
        """Return what fills the groups' part of the parameter block, but for values."""
        found: dict[str, Any] = {}
        for one, _ in self.before.values():
            found |= one.facts(wide=wide)
        if self.after is not None:
            found |= self.after[0].facts(wide=in_fours)
        return found

    def values(self) -> dict[str, Any]:
        """Return the numbers that travel as parameters in this run."""
        found: dict[str, Any] = {}
        for one, group in (*self.before.values(), *self._behind):
            found |= one.values(group)
        return found

    def arrays(self) -> dict[str, GpuArray]:
        """Return the groups' leaves and outputs of this run, by name."""
        found = {f"{AFTER}y{number}": array for number, array in self.made.items()}
        for one, group in (*self.before.values(), *self._behind):
            found |= one.arrays(group)
        return found

    def label(self, kernel: str) -> str | tuple[str, ...]:
        """Return the kernels in the dispatch."""
        before = [name for one, _ in self.before.values() for name in one.kernels]
        after = () if self.after is None else self.after[0].kernels
        return (*before, kernel, *after) if before or after else kernel

    @property
    def _behind(self) -> tuple[tuple[Fused, Group], ...]:
        return () if self.after is None else (self.after,)


ALONE = Extras()
"""A run that nothing is fused with."""
