"""What the recordings of all captured functions keep: together ``config.capture_limit`` bytes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from wgsl_kernels.engine.environment.config import config

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from wgsl_kernels.engine.capture.captured_run import CapturedRun

IN_A_ROW = 32
"""Signatures after which a function is told that it is recorded again and again."""

made = [0]
"""How many recordings were made so far; a replay notes it as the time of its latest use."""


class Holder(Protocol):
    """A captured function, as far as it keeps recordings."""

    def recordings(self) -> Iterable[tuple[Hashable, CapturedRun]]: ...

    def drop(self, key: Hashable, run: CapturedRun) -> None: ...


holders: WeakSet[Holder] = WeakSet()
"""The captured functions that are alive."""
_adding = threading.RLock()


def add(holder: Holder) -> None:
    """Have a captured function share in the limit."""
    with _adding:
        holders.add(holder)


def evict(nbytes: int) -> None:
    """Drop recordings, those not used for longest first, so that ``nbytes`` more may be kept."""
    made[0] += 1
    with _adding:
        alive = list(holders)
    found = [(one, key, run) for one in alive for key, run in one.recordings()]
    more = sum(run.nbytes for _, _, run in found) + nbytes - config.capture_limit
    if more <= 0:
        return
    found.sort(key=lambda one: one[2].used)
    for holder, key, run in found:
        holder.drop(key, run)
        more -= run.nbytes
        if more <= 0:
            return
