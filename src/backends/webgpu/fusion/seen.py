"""Which structures were met before: those that are new run map by map, and compile nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.structure import Structure
    from wgsl_kernels.backends.webgpu.fusion.graph import Group

SEEN_MAX = 65536


class Seen:
    """The structures that one backend has met."""

    def __init__(self) -> None:
        self._keys: set[Any] = set()

    def is_new(self, key: Any) -> bool:
        """Say whether a structure was never met, and remember it."""
        if key in self._keys:
            return False
        if len(self._keys) > SEEN_MAX:
            self._keys.clear()
        self._keys.add(key)
        return True

    def ran_apart(self, structure: Structure) -> None:
        """Remember maps that ran one by one."""
        self._keys.add(structure.maps)

    def was_apart(self, group: Group, structure: Structure) -> bool:
        """Say whether the maps of a group ran before, behind what was made by itself."""
        if len(structure.steps) == 1:
            return bool(group.nodes[-1].op.was_alone)
        return structure.maps in self._keys
