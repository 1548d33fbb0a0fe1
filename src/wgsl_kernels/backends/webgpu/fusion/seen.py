"""Which structures were met before: those that are new run map by map, and compile nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.recent import Recent

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.structure import Structure
    from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup

SEEN_BYTES = 3000
"""What a structure takes that is remembered."""
FUSED_EARLY = 32
"""Structures of maps that may be fused on first use in a process that has run nothing yet."""
COST_WITH_KERNEL = 4
"""For how many of them one counts that a kernel with a loop of its own is in, such as a product."""
EARNED_BY = 256
"""Dispatches for which there may be another: they take about as long as one is compiled."""


class SeenStructures:
    """The structures that one backend has met."""

    def __init__(self) -> None:
        self._keys: Recent[Any, bool] = Recent(SEEN_BYTES)
        self._early = 0

    def is_new(self, key: Any) -> bool:
        """Say whether a structure was never met, and remember it."""
        if self._keys[key]:
            return False
        self._keys.keep(key, True)
        return True

    def may_be_early(self, recorded: int, cost: int) -> bool:
        """Say whether a new structure may be fused at once, where so many dispatches ran; count it.

        Most programs are loops, in which it recurs; of those that are not, this bounds the cost.
        """
        if self._early + cost > FUSED_EARLY + recorded // EARNED_BY:
            return False
        self._early += cost
        return True

    def ran_separately(self, structure: Structure) -> None:
        self._keys.keep(structure.maps, True)

    def was_separate(self, group: FusionGroup, structure: Structure) -> bool:
        """Say whether the maps of a group ran before, behind what was made by itself."""
        if len(structure.steps) == 1:
            return bool(group.nodes[-1].op.was_alone)
        return self._keys[structure.maps] is not None
