"""Memory that backends keep for reuse, given back where a worker is short of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tornado.ioloop import PeriodicCallback

import wgsl_kernels as wk

if TYPE_CHECKING:
    from distributed import Worker

NAME = "wgsl_kernels_trim"
PAUSE = 1.0
"""Seconds between two looks at the memory of a worker."""


def trim_when_full(worker: Worker) -> None:
    """Have a worker empty our pools while its process is above its memory target.

    Dask counts chunks, and pauses a worker by what its process holds: buffers kept for reuse would
    hold it above that limit for good, since a paused worker begins no task that takes them.
    """
    manager: Any = worker.memory_manager
    fraction = min(
        [one for one in (manager.memory_target_fraction, manager.memory_pause_fraction) if one],
        default=0,
    )
    if not manager.memory_limit or not fraction or NAME in worker.periodic_callbacks:
        return
    limit = manager.memory_limit * fraction

    async def look() -> None:
        if worker.monitor.get_process_memory() > limit:
            await asyncio.to_thread(_trim)  # a task may hold the device meanwhile

    worker.periodic_callbacks[NAME] = PeriodicCallback(look, 1000 * PAUSE)
    worker.periodic_callbacks[NAME].start()


def _trim() -> None:
    if any(one.pool_bytes for one in wk.memory().by_backend.values()):
        wk.empty_cache()
