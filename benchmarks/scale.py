"""What more than one machine costs on Dask, in CPU time, as `benchmarks.scale_simulation` needs it.

`python -m benchmarks.scale` starts clusters of processes on this machine, and writes what it found
to benchmarks/results/scale/loopback.json: an all-reduce, a chunk of ``map_overlap``, the parts of a
step of training. CPU time, since workers that share cores wait for each other.
"""

import datetime
import os
import platform
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from rich.progress import track

import wgsl_kernels as wk
from benchmarks.results import Results, save
from benchmarks.scale_simulation import MEASURED
from wgsl_kernels.dask import WorkerGroup, WorkerSetup, fit, run_on_workers

MEGABYTES = (0.2, 2.0, 16.0, 64.0)
WORKERS = (2, 4)
CHUNKS = (8, 16)
"""Along each axis of an array of `map_overlap`."""
CHUNK, HALO = 64, 4
"""Elements of a chunk along an axis, and of its halo."""
STEPS, MICRO_BATCHES, BATCH = 40, 8, 8
ASSUMED = {"link_ms_a_megabyte": 0.8, "latency_ms": 0.1, "spread": 0.05}
"""What one machine cannot show: links of 10 Gb/s, and how far computing times vary."""


@contextmanager
def cluster_of(workers: int) -> Iterator[Client]:
    """Start so many processes of one thread, whose memory is not looked after."""
    settings = {f"distributed.worker.memory.{one}": False for one in ("target", "spill", "pause")}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(WorkerSetup(backend="cpu"))
        yield client


def all_reduces(group: WorkerGroup, megabytes: float, times: int) -> list[tuple[float, float]]:
    """Return the CPU time and the wall time of so many all-reduces on a worker, in ms."""
    values = np.full(round(megabytes * 1e6 / 4), group.rank + 1.0, np.float32)
    found = []
    for _ in range(times + 1):
        busy, since = time.process_time(), time.perf_counter()
        total = group.all_reduce(values)
        found.append((1e3 * (time.process_time() - busy), 1e3 * (time.perf_counter() - since)))
        assert total[0] == group.size * (group.size + 1) / 2
    return found[1:]  # the first one connects the workers


def measure_all_reduce(client: Client, workers: int) -> list[Results]:
    """Return a row for each size of a gradient: medians over the times and the workers."""
    rows = []
    for megabytes in MEGABYTES:
        times = 30 if megabytes < 10 else 8
        found = np.median(run_on_workers(client, all_reduces, megabytes, times), axis=(0, 1))
        cpu, wall = (float(f"{one:.4g}") for one in found)
        rows.append({"workers": workers, "megabytes": megabytes, "cpu_ms": cpu, "wall_ms": wall})
    return rows


def same(block: wk.Tensor) -> wk.Tensor:
    """Return a block as it is: what a chunk costs without its computation."""
    return block


def measure_overlap(client: Client, along: int) -> Results:
    """Return the CPU time of a graph of ``map_overlap``, here and on the workers."""
    size = along * CHUNK
    chunks = da.from_array(np.zeros((size, size), np.float32), chunks=CHUNK)
    x = chunks.to_backend("wgsl-cpu").persist()
    wait(x)
    y = x.map_overlap(same, depth=HALO, boundary="nearest", dtype=np.float32)
    before = client.run(time.process_time)
    busy = time.process_time()
    wait(y.persist())
    scheduler = time.process_time() - busy
    workers = sum(client.run(time.process_time).values()) - sum(before.values())
    return {
        "chunks": along**2,
        "scheduler_ms": round(1e3 * scheduler, 1),
        "workers_ms": round(1e3 * workers, 1),
    }
