"""Where training and ``map_overlap`` on Dask stop scaling: a simulation of discrete events.

`python -m benchmarks.scale_simulation` takes each constant from what `benchmarks.scale` measured,
says how well the model has those figures, and draws up to 1,024 workers in docs/images/scale.svg.
What is assumed rather than measured is in the same file, and on the picture.

The model: a worker computes in one thread, and its event loop handles messages one by one, in the
order in which they come. A message costs either side a constant and a time a MB, adding included;
links carry any number at a time. The scheduler is one loop, which has a time for each chunk.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from benchmarks.results import RESULTS, Results, load
from benchmarks.scale_picture import draw

MEASURED = RESULTS / "scale" / "loopback.json"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "scale.svg"
DIRECT_UP_TO = 8
"""Workers that exchange with one another directly; more of them halve and double."""
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SIZES = ((50.0, 0.2), (200.0, 4.0), (1000.0, 100.0))
"""Of training: milliseconds that a worker computes a step, and MB of gradient."""
CHUNKS_MS = (5.0, 50.0, 500.0, 5000.0)
"""Milliseconds that a worker computes a chunk."""
Rounds: TypeAlias = list[tuple[list[int], float]]
"""Of one worker: to whom it sends in each round, and how many MB to each."""


@dataclass(frozen=True)
class Costs:
    """The constants of the model, in milliseconds and milliseconds a MB.

    Attributes:
        message: A message, on either side.
        megabyte: A MB of a message, on either side.
        chunk: The scheduler's and client's time for the tasks of a chunk of ``map_overlap``.
        halo: A worker's time for a chunk beside computing it.
        link: A MB on the way; assumed.
        latency: A message on the way; assumed.
        spread: The standard deviation of the logarithm of computing times; assumed.
    """

    message: float
    megabyte: float
    chunk: float
    halo: float
    link: float
    latency: float
    spread: float


def costs_of(found: Results) -> Costs:
    """Return the constants: those with the least relative errors in what was measured."""
    rows = found["all_reduce"]
    cpu = np.array([row["cpu_ms"] for row in rows])
    counts = np.array([_handled(row["workers"], row["megabytes"]) for row in rows])
    message, megabyte = np.linalg.lstsq(counts / cpu[:, None], np.ones(len(rows)))[0]
    chunks = found["map_overlap"]
    return Costs(
        message=float(message),
        megabyte=float(megabyte),
        chunk=float(np.mean([row["scheduler_ms"] / row["chunks"] for row in chunks])),
        halo=float(np.mean([row["workers_ms"] / row["chunks"] for row in chunks])),
        link=found["assumed"]["link_ms_a_megabyte"],
        latency=found["assumed"]["latency_ms"],
        spread=found["assumed"]["spread"],
    )


def _handled(workers: int, megabytes: float) -> tuple[float, float]:
    """Return how many messages a worker sends and gets in an all-reduce, and how many MB."""
    rounds = rounds_of(workers, 0, megabytes)
    messages = [(len(peers), part) for peers, part in rounds]
    return 2 * sum(n for n, _ in messages), 2 * sum(n * part for n, part in messages)


def rounds_of(workers: int, worker: int, megabytes: float) -> Rounds:
    """Return whom a worker sends what in an all-reduce, as `WorkerGroup.all_reduce` does it."""
    if workers <= DIRECT_UP_TO:
        others = [(worker + by) % workers for by in range(1, workers)]
        return [(others, megabytes / workers)] * 2
    levels = range(int(math.log2(workers)))
    halving = [([worker ^ (1 << level)], megabytes / (2 << level)) for level in levels]
    return halving + halving[::-1]


def all_reduce(ready: Sequence[float], megabytes: float, costs: Costs) -> tuple[list[float], float]:
    """Simulate an all-reduce.

    Args:
        ready: When each worker has its gradient, in ms; a power of two of them.
        megabytes: Of the gradient.
        costs: The constants.

    Returns:
        When each worker has the sum, and how long an event loop worked, in ms.
    """
    workers = len(ready)
    plans = [rounds_of(workers, one, megabytes) for one in range(workers)]
    events = [(when, worker, "begin", worker, 0, 0) for worker, when in enumerate(ready)]
    heapq.heapify(events)
    free, turns, ends = list(ready), [-1] * workers, list(ready)
    handled: defaultdict[tuple[int, int], int] = defaultdict(int)
    number, busy = workers, 0.0
    while events:
        now, _, kind, worker, turn, target = heapq.heappop(events)
        peers, part = plans[worker][turn] if turn < len(plans[worker]) else ([], 0.0)
        follow = []
        if kind == "begin":
            turns[worker], ends[worker] = turn, now
            follow = [(now, "send", worker, turn, one) for one in peers]
        elif kind == "handled":
            handled[worker, turn] += 1
        else:
            took = costs.message + costs.megabyte * part
            busy += took
            free[worker] = max(now, free[worker]) + took
            follow = [(free[worker], "handled", worker, turn, 0)]
            if kind == "send":
                arrives = free[worker] + costs.latency + costs.link * part
                follow.append((arrives, "receive", target, turn, 0))
        if peers and turns[worker] == turn and handled[worker, turn] == 2 * len(peers):
            handled[worker, turn] = 0
            follow.append((now, "begin", worker, turn + 1, 0))
        for when, *event in follow:
            number += 1
            heapq.heappush(events, (when, number, *event))
    return ends, busy / workers


def training(compute: float, megabytes: float, workers: int, costs: Costs, steps: int = 8) -> float:
    """Return which part of the time each of ``workers`` computes, of 1: the efficiency.

    Weak scaling: a worker computes ``compute`` ms a step, whatever their number.
    """
    draw_from = np.random.default_rng(workers)
    at = np.zeros(workers)
    for _ in range(steps):
        at += compute * draw_from.lognormal(0, costs.spread, workers)
        at = np.array(all_reduce(at.tolist(), megabytes, costs)[0])
    return float(steps * compute / at.max())


def overlap(compute: float, workers: int, costs: Costs, chunks: int = 16_384) -> float:
    """Return how many times faster than one worker's computing a graph of ``map_overlap`` is."""
    free = [0.0] * workers
    for at in range(chunks):
        begin = max(heapq.heappop(free), (at + 1) * costs.chunk)
        heapq.heappush(free, begin + compute + costs.halo)
    return chunks * compute / max(free)


def figures(found: Results) -> dict[str, tuple[float, float]]:
    """Return by name what was measured, and what the model has for it; both in ms."""
    costs = costs_of(found)
    both: dict[str, tuple[float, float]] = {}
    for row in found["all_reduce"]:
        workers, megabytes = row["workers"], row["megabytes"]
        modelled = all_reduce([0.0] * workers, megabytes, costs)[1]
        both[f"all-reduce, {workers} workers, {megabytes} MB"] = row["cpu_ms"], modelled
    for row in found["map_overlap"]:
        name = f"map_overlap, {row['chunks']} chunks"
        both[f"{name}, scheduler"] = row["scheduler_ms"], row["chunks"] * costs.chunk
        both[f"{name}, workers"] = row["workers_ms"], row["chunks"] * costs.halo
    for step in found["steps"]:
        modelled = all_reduce([0.0] * step["workers"], step["megabytes"], costs)[1]
        both[f"all-reduce in a step, {step['workers']} workers"] = step["all_reduce_ms"], modelled
    return both


def main() -> None:
    """Print how well the model has what was measured, and draw what it says of more workers."""
    found = load(MEASURED)
    costs = costs_of(found)
    print(costs)
    for name, (measured, modelled) in figures(found).items():
        print(f"{name:40} measured {measured:9.2f} ms, modelled {modelled:9.2f} ms")
    narrow = {"float32": 1.0, "float16": 0.5}
    trained = {
        (compute, megabytes, dtype): [
            training(compute, megabytes * part, one, costs) for one in WORKERS
        ]
        for compute, megabytes in SIZES
        for dtype, part in narrow.items()
    }
    overlapped = {one: [overlap(one, n, costs) for n in WORKERS] for one in CHUNKS_MS}
    for key, line in (*trained.items(), *overlapped.items()):
        print(key, [f"{n}: {value:.3g}" for n, value in zip(WORKERS, line, strict=True)])
    draw(WORKERS, trained, overlapped, assumptions(costs), PICTURE)


def assumptions(costs: Costs) -> str:
    """Return in words what the picture follows from."""
    return (
        "Simulated; nothing above 4 workers was measured. Measured on one machine: a message "
        f"{costs.message:.2g} ms and a MB {costs.megabyte:.2g} ms of either event loop,\n"
        f"a chunk {costs.chunk:.2g} ms of the scheduler and {costs.halo:.2g} ms of its worker. "
        f"Assumed: links of {8 / costs.link:.0f} Gb/s, {costs.latency:g} ms away; computing times "
        f"that vary by {100 * costs.spread:.0f} %;\n"
        "a GPU each, so that computing does not slow the event loop; each worker computes so many "
        "ms a step, whatever their number. Labels: what a worker computes\n"
        "in a step, and its gradient. Not in it: lost workers, other users of the network, data."
    )


if __name__ == "__main__":
    main()
