"""Atomic stores that come as late as they may: behind what other invocations do in the meantime.

Atomic functions order nothing, so that an invocation which stores may come last of its workgroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.simulator.memory import Run

if TYPE_CHECKING:
    from wgsl_kernels.simulator.memory import VariableMemory


class LateRun(Run):
    """A run in which an ``atomicStore`` to workgroup memory is pending until a barrier.

    Where those that have stored use atomic functions again, all others come first, then each second
    one of them with its store, then the rest with theirs.
    """

    _pending: tuple[Any, ...] = ()
    """The arguments of a store, and who has not done it yet."""

    def atomic(
        self,
        name: str,
        memory: VariableMemory,
        at: Any,
        scalar: str,
        mask: Any,
        site: int,
        *given: Any,
    ) -> Any:
        """Run an atomic function, but keep a store back."""
        run = super().atomic
        active = np.broadcast_to(mask, self.count)
        if name == "atomicStore" and memory.is_workgroup:
            self._settle()
            self._pending = memory, at, scalar, active, site, *given
            return np.zeros(self.count, np.uint32)
        stored = active & self._pending[3] if self._pending and memory.is_workgroup else None
        if stored is None or not stored.any():
            return run(name, memory, at, scalar, mask, site, *given)
        found = run(name, memory, at, scalar, active & ~stored, site, *given)
        for turn in range(2):
            now = stored & (self.lanes % 2 == turn)
            self._settle(now)
            more = run(name, memory, at, scalar, now, site, *given)
            if isinstance(found, list):  # of a compare and exchange: what was there, and if it did
                found = [np.where(now, two, one) for one, two in zip(found, more, strict=True)]
            else:
                found = np.where(now, more, found)
        return found

    def barrier(self, of_workgroup: bool | None = None) -> None:
        """Have what is pending done, since all invocations have come to a barrier."""
        self._settle()
        super().barrier(of_workgroup)

    def _settle(self, who: Any = True) -> None:
        """Have the stores done of some invocations, or of all."""
        if self._pending:
            memory, at, scalar, late, *rest = self._pending
            super().atomic("atomicStore", memory, at, scalar, late & who, *rest)
            self._pending = memory, at, scalar, late & ~np.asarray(who), *rest
