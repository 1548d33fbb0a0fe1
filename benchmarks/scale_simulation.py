"""Where training and ``map_overlap`` on Dask stop scaling, by simulation of discrete events.

`python -m benchmarks.scale_simulation` takes every constant from what `benchmarks.scale` measured,
holds the model against those figures, and draws up to 1,024 workers into docs/images/scale.svg. What
is assumed rather than measured is in the same file, and on the picture.

The model: a worker computes in one thread; its event loop handles messages one by one, in the order
in which they come, each for ``message_ms`` and ``megabyte_ms`` a MB on either side; the link between
two workers is free. The scheduler is one loop, too, which spends ``chunk_ms`` on a chunk's tasks.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from benchmarks.results import RESULTS

MEASURED = RESULTS / "scale" / "loopback.json"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "scale.svg"
DIRECT_UP_TO = 8
"""Workers that exchange with one another directly; more halve and double."""
Rounds: TypeAlias = list[tuple[list[int], float]]
"""Of one worker: to whom it sends in each round, and how many MB to each."""


@dataclass(frozen=True)
class Costs:
    """The constants of the model, in milliseconds, and in milliseconds a MB.

    Attributes:
        message_ms: A message, on either side.
        megabyte_ms: A MB of a message, on either side.
        link_ms: A MB on the link; assumed.
        latency_ms: A message on the link; assumed.
        spread: The standard deviation of the logarithm of computing times; assumed.
        chunk_ms: The scheduler's and client's time for the tasks of a chunk of ``map_overlap``.
        halo_ms: A worker's time for a chunk beside its computation: tasks, halos, concatenation.
        update_ms: A step's data, local sum and update, for a MB of gradient.
    """

    message_ms: float
    megabyte_ms: float
    link_ms: float
    latency_ms: float
    spread: float
    chunk_ms: float
    halo_ms: float
    update_ms: float


def rounds_of(workers: int, worker: int, megabytes: float) -> Rounds:
    """Return whom a worker sends what in an all-reduce, as `WorkerGroup` does it."""
    if workers <= DIRECT_UP_TO:
        others = [(worker + by) % workers for by in range(1, workers)]
        return [(others, megabytes / workers)] * 2
    levels = range(int(math.log2(workers)))
    halving = [([worker ^ (1 << level)], megabytes / (2 << level)) for level in levels]
    return halving + halving[::-1]


def all_reduce(ready: Sequence[float], megabytes: float, costs: Costs) -> tuple[list[float], float]:
    """Simulate an all-reduce.

    Args:
        ready: When each worker has its gradient, in ms.
        megabytes: Of the gradient.
        costs: The constants.

    Returns:
        When each worker has the sum, and the mean time that an event loop worked, in ms.
    """
    workers = len(ready)
    plans = [rounds_of(workers, one, megabytes) for one in range(workers)]
    events: list[tuple[float, int, str, int, int, int]] = []
    number, busy = 0, 0.0
    free, at, ends = [0.0] * workers, [-1] * workers, list(ready)
    done: defaultdict[tuple[int, int], int] = defaultdict(int)

    def add(when: float, kind: str, worker: int, turn: int, target: int = -1) -> None:
        nonlocal number
        heapq.heappush(events, (when, number := number + 1, kind, worker, turn, target))

    for worker, when in enumerate(ready):
        add(when, "begin", worker, 0)
    while events:
        now, _, kind, worker, turn, target = heapq.heappop(events)
        if kind == "begin":
            at[worker] = turn
            if turn == len(plans[worker]):
                ends[worker] = now
                continue
            for one in plans[worker][turn][0]:
                add(now, "send", worker, turn, one)
        elif kind in ("send", "receive"):
            part = plans[worker][turn][1]
            took = costs.message_ms + costs.megabyte_ms * part
            free[worker] = max(now, free[worker]) + took
            busy += took
            add(free[worker], "handled", worker, turn)
            if kind == "send":
                way = costs.latency_ms + costs.link_ms * part
                add(free[worker] + way, "receive", target, turn)
            continue
        else:
            done[worker, turn] += 1
        if at[worker] == turn and done[worker, turn] == 2 * len(plans[worker][turn][0]):
            add(now, "begin", worker, turn + 1)
    return ends, busy / workers


def training(
    compute_ms: float, megabytes: float, workers: int, costs: Costs, steps: int = 8
) -> float:
    """Return a worker's part of a step that is computing, from 0 to 1: its efficiency.

    Each worker computes as much, whatever their number: weak scaling.
    """
    draw = np.random.default_rng(workers)
    at = [0.0] * workers
    update = costs.update_ms * megabytes
    for _ in range(steps):
        took = compute_ms * draw.lognormal(0, costs.spread, workers)
        at = [begin + float(one) for begin, one in zip(at, took, strict=True)]
        if workers > 1:
            at = all_reduce(at, megabytes, costs)[0]
        at = [one + update for one in at]
    return steps * compute_ms / max(at)


def overlap(chunks: int, compute_ms: float, workers: int, costs: Costs) -> float:
    """Return how many times faster than one worker's computing a graph of ``map_overlap`` is."""
    free = [0.0] * workers
    scheduled = 0.0
    for _ in range(chunks):
        scheduled += costs.chunk_ms
        begin = max(heapq.heappop(free), scheduled)
        heapq.heappush(free, begin + compute_ms + costs.halo_ms)
    return chunks * compute_ms / max(free)
