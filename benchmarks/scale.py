"""What more than one machine costs on Dask, in CPU time, as `benchmarks.scale_simulation` needs it.

`python -m benchmarks.scale` starts clusters of processes on this machine, and writes what it found
to benchmarks/results/scale/loopback.json: an all-reduce, a chunk of ``map_overlap``, the parts of a
step of training. CPU time, since workers that share cores wait for each other; backend ``cpu``.
"""

import datetime
import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import dask.array as da
import numpy as np
from benchmarks.results import Results, save
from benchmarks.scale_simulation import MEASURED
from dask import config
from distributed import Client, LocalCluster, wait
from rich.progress import track

import wgsl_kernels as wk
from wgsl_kernels.dask import WorkerGroup, WorkerSetup, run_on_workers

MEGABYTES = (0.2, 2.0, 16.0, 64.0)
WORKERS = (2, 4)
CHUNKS = (4, 8, 16)
"""Along each axis of an array of ``map_overlap``."""
CHUNK, HALO = 64, 4
"""Elements of a chunk along an axis, and of its halo on either side."""
LAYERS = (64, 256, 128, 10)
STEPS, MICRO_BATCHES, ROWS = 60, 8, 8
"""Of training: steps, micro-batches a step, rows of each."""
ASSUMED = {"link_ms_a_megabyte": 0.8, "latency_ms": 0.1, "spread": 0.05}
"""What one machine cannot show: links of 10 Gb/s, and how far computing times vary."""


@contextmanager
def cluster_of(workers: int) -> Iterator[Client]:
    """Start so many processes of one thread, whose memory nobody looks after."""
    unwatched = {f"distributed.worker.memory.{one}": False for one in ("target", "spill", "pause")}
    with (
        config.set(unwatched),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(WorkerSetup(backend="cpu"))
        yield client


def all_reduces(group: WorkerGroup, megabytes: float, times: int) -> tuple[float, float]:
    """Return the least CPU time and wall time of an all-reduce on a worker, in ms."""
    values = np.full(round(megabytes * 1e6 / 4), group.rank + 1.0, np.float32)
    found = []
    for _ in range(times + 1):
        busy, since = time.process_time(), time.perf_counter()
        total = group.all_reduce(values)
        found.append((1e3 * (time.process_time() - busy), 1e3 * (time.perf_counter() - since)))
        assert total[-1] == group.size * (group.size + 1) / 2
    cpu, wall = zip(*found[1:], strict=True)  # the first one connects the workers
    return min(cpu), min(wall)


def measure_all_reduce(client: Client, megabytes: float) -> Results:
    """Return what an all-reduce costs a worker: the mean over the workers."""
    times = 40 if megabytes < 10 else 8
    found = run_on_workers(client, all_reduces, megabytes, times)
    cpu, wall = np.mean(found, axis=0)
    return {
        "workers": len(found),
        "megabytes": megabytes,
        "cpu_ms": _short(cpu),
        "wall_ms": _short(wall),
    }


def same(block: wk.Tensor) -> wk.Tensor:
    """Return a block as it is, so that a chunk costs what it costs without being computed."""
    return block


def measure_overlap(client: Client, along: int) -> Results:
    """Return what a graph of ``map_overlap`` costs the scheduler, the client and the workers."""
    size = along * CHUNK
    blocks: Any = (CHUNK, CHUNK)
    given: Any = da.from_array(np.zeros((size, size), np.float32), chunks=blocks)
    x = given.to_backend("wgsl-cpu").persist()
    wait(x)
    y = x.map_overlap(same, depth=HALO, boundary="nearest", dtype=np.float32)
    there = _busy(client)
    here = time.process_time()
    kept = y.persist()
    wait(kept)
    here = time.process_time() - here
    return {
        "chunks": along**2,
        "scheduler_ms": _short(1e3 * here),
        "workers_ms": _short(_busy(client) - there),
    }


def _busy(client: Client) -> float:
    times: Any = client.run(time.process_time)
    return 1e3 * float(sum(times.values()))


class Parts:
    """The CPU time of this process by part of a step, in ms."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}
        self._since = time.process_time()

    def note(self, part: str) -> None:
        """Have the time since the last note be that of a part."""
        now = time.process_time()
        self.found.setdefault(part, []).append(1e3 * (now - self._since))
        self._since = now


def train(group: WorkerGroup, steps: int) -> dict[str, float]:
    """Train a perceptron on this worker's micro-batches, and return the least time of each part.

    What a step of `fit` does, in the open: the gradients of micro-batches are added as a tree.
    """
    draw = np.random.default_rng(0)
    pairs = list(itertools.pairwise(LAYERS))
    weights = [wk.variable(draw.normal(size=one).astype(np.float32) * 0.1) for one in pairs]
    optimizer = wk.train.Adam(1e-3)
    count = MICRO_BATCHES // group.size
    parts = Parts()
    for _ in range(steps):
        batches = [
            [
                wk.tensor(draw.normal(size=(ROWS, n)).astype(np.float32))
                for n in LAYERS[:: len(pairs)]
            ]
            for _ in range(count)
        ]
        parts.note("data_ms")
        leaves = [_gradient(weights, x, y) for x, y in batches]
        parts.note("gradients_ms")
        while len(leaves) > 1:
            leaves = [a + b for a, b in zip(leaves[::2], leaves[1::2], strict=True)]
        parts.note("local_sum_ms")
        total = group.all_reduce(leaves[0])
        parts.note("all_reduce_ms")
        cuts = np.cumsum([one.size for one in weights])[:-1]
        mean = np.split(total / np.float32(MICRO_BATCHES), cuts)
        slopes = [wk.tensor(one.reshape(w.shape)) for one, w in zip(mean, weights, strict=True)]
        optimizer.apply_gradients(list(zip(slopes, weights, strict=True)))
        wk.evaluate(weights)
        parts.note("update_ms")
    return {part: min(times) for part, times in parts.found.items()}


def _gradient(weights: list[wk.Variable], x: wk.Tensor, y: wk.Tensor) -> np.ndarray[Any, Any]:
    def loss() -> wk.Tensor:
        h = x
        for one in weights:
            h = wk.tanh(h @ one)
        return wk.mean((h - y) ** 2)

    _, slopes = wk.variable_grads(loss, weights)
    return wk.concat([one.reshape(-1) for one in slopes]).numpy()


def measure_step(client: Client) -> Results:
    """Return what the parts of a step cost a worker: the mean over the workers."""
    found = run_on_workers(client, train, STEPS)
    parts = {part: _short(float(np.mean([one[part] for one in found]))) for part in found[0]}
    size = 4e-6 * sum(a * b for a, b in itertools.pairwise(LAYERS))
    return {"workers": len(found), "megabytes": round(size, 3), **parts}


def _short(number: float) -> float:
    return float(f"{number:.4g}")


def main() -> None:
    """Measure, and write what was found."""
    reduced: list[Results] = []
    steps: list[Results] = []
    overlapped: list[Results] = []
    for workers in WORKERS:
        with cluster_of(workers) as client:
            for megabytes in track(MEGABYTES, f"all-reduce of {workers}"):
                reduced.append(measure_all_reduce(client, megabytes))
            steps.append(measure_step(client))
            if workers == min(WORKERS):
                # The first graph also imports what the others find there.
                overlapped = [measure_overlap(client, one) for one in (4, *CHUNKS)][1:]
    found = {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "packages": {one: version(one) for one in ("wgsl-kernels", "distributed", "numpy")},
        "all_reduce": reduced,
        "map_overlap": overlapped,
        "steps": steps,
        "assumed": ASSUMED,
    }
    save(MEASURED, found)


if __name__ == "__main__":
    main()
