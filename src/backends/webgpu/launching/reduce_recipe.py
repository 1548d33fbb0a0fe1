"""The recipe of a reduction, a scan or a window: its dispatches, and other ways to do the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.tuning.tuner import WORTH, is_asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.launching.recipe import Compiled, Fixed
    from wgsl_kernels.backends.webgpu.lowering.scan_spreads import ScanSpread
    from wgsl_kernels.backends.webgpu.lowering.spreads import Spread


class ReduceRecipe:
    """The stages for one layout of the input.

    Attributes:
        stages: One dispatch, or two.
        groups: Their grids.
        facts: What fills their parameters.
        partial_bytes: What the first hands to the second.
        windows: The parts of an array above the binding limit.
        fixed: The dispatch, where nothing but its buffers changes.
        spreads: The ways in which it can be done, that of these stages first.
        shape_class: What is alike where the same of them is the fastest.
        work: How many elements it goes through.
    """

    __slots__ = (
        "facts",
        "fixed",
        "groups",
        "partial_bytes",
        "shape_class",
        "spreads",
        "stages",
        "windows",
        "work",
    )

    def __init__(
        self,
        stages: list[Compiled],
        groups: list[tuple[int, int, int]],
        facts: dict[str, Any],
        partial_bytes: int,
    ) -> None:
        self.stages = stages
        self.groups = groups
        self.facts = facts
        self.partial_bytes = partial_bytes
        self.windows: list[tuple[int, int]] = []
        self.fixed: Fixed | None = None
        self.spreads: Sequence[Spread | ScanSpread] = ()
        self.shape_class: tuple[object, ...] = ()
        self.work = 0

    @property
    def is_open(self) -> bool:
        """Whether the tuner is to be asked: there is a choice, and it is worth measuring."""
        return len(self.spreads) > 1 and (self.work >= WORTH or is_asked())
