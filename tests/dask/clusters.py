"""Clusters on this machine, whose workers are processes of one thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask.config
from distributed import Client, LocalCluster

SETTINGS = {
    # A worker is forked from a process that has imported Dask, as Dask's own tests do it.
    "distributed.worker.multiprocessing-method": "forkserver",
    # Else a cluster on this machine gives up a nanny whose worker is just not back at that moment.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    "distributed.worker.profile.enabled": False,
}
"""What takes no time and no luck of a machine that does other things, too."""


@contextmanager
def cluster_of(
    workers: int, memory: dict[str, Any] | None = None, settings: dict[str, Any] | None = None
) -> Iterator[Client]:
    """Start workers; with ``memory``, the fractions of 1 GB at which each does what."""
    limit: dict[str, Any] = {} if memory is None else {"memory_limit": "1GB"}
    given = {f"distributed.worker.memory.{name}": one for name, one in (memory or {}).items()}
    with (
        dask.config.set({**SETTINGS, **given, **(settings or {})}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=":0",
            **limit,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
