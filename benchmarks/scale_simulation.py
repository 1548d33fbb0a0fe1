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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from benchmarks.results import RESULTS, Results, load
from benchmarks.scale_picture import draw

from wgsl_kernels.dask.group import DIRECT

MEASURED = RESULTS / "scale" / "loopback.json"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "scale.svg"
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SIZES = ((50.0, 0.2), (200.0, 4.0), (1000.0, 100.0))
"""Of training: milliseconds that a worker computes a step, and MB of gradient."""
CHUNKS_MS = (5.0, 50.0, 500.0, 5000.0)
"""Milliseconds that a worker computes a chunk."""
CHUNKS = 16_384
"""Of a graph of ``map_overlap``."""
Rounds: TypeAlias = list[tuple[list[int], float]]
"""Of one worker: to whom it sends in each round, and how many MB to each."""


@dataclass(frozen=True)
class Costs:
    """The constants of the model, in milliseconds and milliseconds a MB.

    Attributes:
        reduce: An all-reduce, of a worker's event loop, once.
        message: A message, on either side.
        megabyte: A MB of a message, on either side.
        graph: A graph of ``map_overlap``, of the client and the scheduler, once.
        chunk: The tasks of a chunk of it, of the same.
        halo: A chunk, of its worker, beside computing it.
        link: A MB on the way; assumed.
        latency: A message on the way; assumed.
        spread: The standard deviation of the logarithm of computing times; assumed.
    """

    reduce: float = 0.0
    message: float = 0.0
    megabyte: float = 0.0
    graph: float = 0.0
    chunk: float = 0.0
    halo: float = 0.0
    link: float = 0.0
    latency: float = 0.0
    spread: float = 0.0


def costs_of(found: Results) -> Costs:
    """Return the constants: those with the least relative errors in what was measured."""
    reduced = [(row["workers"], row["megabytes"], row["cpu_ms"]) for row in found["all_reduce"]]
    reduced += [(row["workers"], row["megabytes"], row["all_reduce_ms"]) for row in found["steps"]]
    handled = [(1.0, *_handled(workers, megabytes)) for workers, megabytes, _ in reduced]
    reduce, message, megabyte = _fitted(handled, [ms for *_, ms in reduced])
    rows = found["map_overlap"]
    graph, chunk = _fitted(
        [(1.0, row["chunks"]) for row in rows], [row["scheduler_ms"] for row in rows]
    )
    (halo,) = _fitted([(row["chunks"],) for row in rows], [row["workers_ms"] for row in rows])
    assumed = found["assumed"]
    return Costs(
        reduce=reduce,
        message=message,
        megabyte=megabyte,
        graph=graph,
        chunk=chunk,
        halo=halo,
        link=assumed["link_ms_a_megabyte"],
        latency=assumed["latency_ms"],
        spread=assumed["spread"],
    )


def _fitted(terms: Sequence[Sequence[float]], measured: Sequence[float]) -> list[float]:
    """Return factors of the terms, none below 0, whose sums have the least relative errors."""
    relative = np.array(terms) / np.array(measured)[:, None]
    factors = np.zeros(relative.shape[1])
    kept = np.ones(relative.shape[1], bool)
    while kept.any():
        factors[kept] = np.linalg.lstsq(relative[:, kept], np.ones(len(measured)))[0]
        if factors.min() >= 0:
            break
        kept &= factors >= 0
        factors[:] = 0.0
    return [float(one) for one in factors]


def _handled(workers: int, megabytes: float) -> tuple[float, float]:
    """Return how many messages a worker sends and gets in an all-reduce, and how many MB."""
    rounds = [(len(peers), part) for peers, part in rounds_of(workers, 0, megabytes)]
    return 2 * sum(n for n, _ in rounds), 2 * sum(n * part for n, part in rounds)


def rounds_of(workers: int, worker: int, megabytes: float) -> Rounds:
    """Return whom a worker sends what in an all-reduce, as `WorkerGroup.all_reduce` does it."""
    if workers <= DIRECT:
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
    free = [when + costs.reduce for when in ready]
    events: list[tuple[float, int, str, int, int, int]] = [
        (when, worker, "begin", worker, 0, 0) for worker, when in enumerate(free)
    ]
    heapq.heapify(events)
    turns, ends = [-1] * workers, list(ready)
    handled: defaultdict[tuple[int, int], int] = defaultdict(int)
    number, busy = workers, workers * costs.reduce
    while events:
        now, _, kind, worker, turn, target = heapq.heappop(events)
        peers, part = plans[worker][turn] if turn < len(plans[worker]) else ([], 0.0)
        follow: list[tuple[float, str, int, int, int]] = []
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
        for when, what, whose, which, whom in follow:
            number += 1
            heapq.heappush(events, (when, number, what, whose, which, whom))
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


def overlap(compute: float, workers: int, costs: Costs, chunks: int = CHUNKS) -> float:
    """Return how many times faster than one worker's computing a graph of ``map_overlap`` is."""
    free = [0.0] * workers
    for at in range(chunks):
        begin = max(heapq.heappop(free), costs.graph + (at + 1) * costs.chunk)
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
        both[f"{name}, scheduler"] = row["scheduler_ms"], costs.graph + row["chunks"] * costs.chunk
        both[f"{name}, workers"] = row["workers_ms"], row["chunks"] * costs.halo
    for step in found["steps"]:
        modelled = all_reduce([0.0] * step["workers"], step["megabytes"], costs)[1]
        both[f"all-reduce in a step, {step['workers']} workers"] = step["all_reduce_ms"], modelled
    return both


def main() -> None:
    """Print how well the model has what was measured, and draw what it says of more workers."""
    found = load(MEASURED)
    costs = costs_of(found)
    for name, (measured, modelled) in figures(found).items():
        print(f"{name:38} measured {measured:7.2f} ms, modelled {modelled:7.2f} ms")
    trained = {
        (compute, megabytes, dtype): [
            training(compute, megabytes * part, one, costs) for one in WORKERS
        ]
        for compute, megabytes in SIZES
        for dtype, part in (("float32", 1.0), ("float16", 0.5))
    }
    overlapped = {one: [overlap(one, n, costs) for n in WORKERS] for one in CHUNKS_MS}
    rows = {
        f"a step of {compute:,g} ms, {megabytes:g} MB in {dtype}": [f"{one:.0%}" for one in line]
        for (compute, megabytes, dtype), line in trained.items()
    }
    rows |= {
        f"`map_overlap`, {compute:,g} ms a chunk": [f"{one:,.1f} times" for one in line]
        for compute, line in overlapped.items()
    }
    shown = [WORKERS.index(one) for one in (8, 64, 1024)]
    print("\n| workers | 8 | 64 | 1,024 |\n|---|---|---|---|")
    for name, line in rows.items():
        print(f"| {name} | {' | '.join(line[at] for at in shown)} |")
    sizes = " | ".join(f"{compute:,g} ms, {megabytes:g} MB" for compute, megabytes in SIZES)
    print(f"\n| what moves a step at 1,024 workers | {sizes} |\n|---|---|---|---|")
    for name, other in moves(costs).items():
        print(f"| {name} | {' | '.join(f'{training(*size, 1024, other):.0%}' for size in SIZES)} |")
    draw(WORKERS, trained, overlapped, assumptions(costs), PICTURE)


def moves(costs: Costs) -> dict[str, Costs]:
    """Return by name the constants, and each with one of them made better."""
    return {
        "as measured and assumed": costs,
        "all workers as fast as each other": replace(costs, spread=0.0),
        "messages at a quarter": replace(costs, message=costs.message / 4),
        "a MB at a quarter, as by a compiled transport": replace(
            costs, megabyte=costs.megabyte / 4
        ),
        "links of 40 Gb/s": replace(costs, link=costs.link / 4),
    }


def assumptions(costs: Costs) -> str:
    """Return in words what the picture follows from."""
    return (
        "Simulated; nothing above 4 workers was measured. Measured on one machine: a message "
        f"{costs.message:.2g} ms and a MB {costs.megabyte:.2g} ms of either event loop, a chunk "
        f"{costs.chunk:.2g} ms of the scheduler\nand {costs.halo:.2g} ms of its worker. Assumed: "
        f"links of {8 / costs.link:.0f} Gb/s, {costs.latency:g} ms away; computing times that vary "
        f"by {100 * costs.spread:.0f} %; a GPU each, so that computing does not slow the event "
        "loop.\nEach worker computes the named time a step, whatever their number, and has a "
        f"gradient of the named size; a graph has {CHUNKS:,} chunks. Not in it: lost workers, "
        "other users\nof the network, reading data."
    )


if __name__ == "__main__":
    main()
