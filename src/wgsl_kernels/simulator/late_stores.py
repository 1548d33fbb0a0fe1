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
    """A run in which an ``atomicStore`` to workgroup memory waits for a barrier.

    An invocation that uses atomic functions again has its store done before, and all others come
    before that.
    """

    _waiting: tuple[Any, ...] | None = None
    """The function's arguments, with which invocations run it."""

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
        if not memory.is_workgroup:
            return super().atomic(name, memory, at, scalar, mask, site, *given)
        active = np.broadcast_to(mask, self.count)
        if name == "atomicStore":
            self._settle()
            self._waiting = memory, at, scalar, active, site, *given
            return np.zeros(self.count, np.uint32)
        if self._waiting is None or not (late := active & self._waiting[3]).any():
            return super().atomic(name, memory, at, scalar, mask, site, *given)
        first = super().atomic(name, memory, at, scalar, active & ~late, site, *given)
        self._settle()
        last = super().atomic(name, memory, at, scalar, late, site, *given)
        if isinstance(first, list):  # of a compare and exchange: what was there, and if it was done
            return [np.where(late, two, one) for one, two in zip(first, last, strict=True)]
        return np.where(late, last, first)

    def barrier(self, of_workgroup: bool | None = None) -> None:
        """Have what waits done, since all invocations have come to a barrier."""
        self._settle()
        super().barrier(of_workgroup)

    def _settle(self) -> None:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            super().atomic("atomicStore", *waiting)
