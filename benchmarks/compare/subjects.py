"""What is measured on both heads: items, composing, and the first result of a new process.

Each subject yields a function that measures one head. The code that measures is this checkout's; of
a head, processes import the package alone and use its public names.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from benchmarks import conductor
from benchmarks.compare.heads import Head
from benchmarks.compare.rounds import Costs, least
from benchmarks.items.item import Item
from benchmarks.measures import first_result
from benchmarks.peers.process import PeerProcess
from benchmarks.peers.setup import ROOT

SAMPLES = 3
SAMPLING_SECONDS = 0.25
"""An item is sampled at least so often and so long in each round, unless it is slow."""
COMPOSING = ("map", "reduction", "product")
STATES = ("cold", "warm")

Take = Callable[[Head], Costs]
Subject = Callable[[Sequence[Head]], AbstractContextManager[Take]]


def process_of(head: Head) -> PeerProcess:
    """Return this library's worker on one head."""
    return PeerProcess("ours", head.environment(), head.own / "log")


@contextmanager
def item_on(
    item: Item, processes: dict[str, PeerProcess], heads: Sequence[Head]
) -> Generator[Take]:
    """Prepare an item in both heads' processes, and compare the results.

    Raises:
        PeerError: A head does not run it.
        WrongResultError: The heads' results differ.
    """
    results = []
    for one in heads:
        with tempfile.TemporaryDirectory(prefix="compare-") as folder:
            by_variant, _ = processes[one.name].prepare(
                item, Path(folder), conductor.PREPARE_SECONDS
            )
        results.append(by_variant[""])
    conductor.check(results[1], results[0])

    def sample(process: PeerProcess) -> dict[str, float]:
        return process.time(item.calls, "", conductor.PREPARE_SECONDS)

    def take(head: Head) -> Costs:
        process = processes[head.name]
        start = time.monotonic()
        found = [sample(process)]
        slow = found[0]["ms"] * item.calls > conductor.SLOW_SECONDS * 1e3
        while not slow and (len(found) < SAMPLES or time.monotonic() - start < SAMPLING_SECONDS):
            found.append(sample(process))
        own = "thread_ms" if item.family == "host" else "cpu_ms"
        return {item.name: least([{"wall": one["ms"], "CPU": one[own]} for one in found])}

    yield take
    for process in processes.values():
        process.drop()


@contextmanager
def composing(heads: Sequence[Head]) -> Generator[Take]:
    """Measure first calls of texts in a new process each time; pipelines are cached."""

    def take(head: Head) -> Costs:
        command = [sys.executable, "-m", "benchmarks.measures.composing"]
        environment = {**os.environ, **head.environment()}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, env=environment, cwd=ROOT
        )
        found: dict[str, float] = json.loads(done.stdout)
        return {f"composing-{kind}": {"CPU": found[kind]} for kind in COMPOSING}

    for one in heads:
        take(one)  # the driver compiles
    yield take


@contextmanager
def first_results(network: str, heads: Sequence[Head]) -> Generator[Take]:
    """Measure new processes to their third training step: with empty caches, and once more."""
    with tempfile.TemporaryDirectory(prefix="compare-") as bytecode:
        written = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}

        def take(head: Head) -> Costs:
            found: Costs = {}
            with tempfile.TemporaryDirectory(prefix="compare-") as caches:
                variables = {**written, **head.environment(Path(caches))}
                for state in STATES:
                    one = first_result.ours(first_result.NETWORKS[network], variables, Path(caches))
                    found[f"first-{network}-{state}"] = {
                        "wall": one["seconds"] * 1e3,
                        "CPU": one["cpu_seconds"] * 1e3,
                    }
            return found

        for one in heads:
            take(one)  # writes the bytecode
        yield take


BESIDE: dict[str, Subject] = {
    "composing": composing,
    **{f"first-{name}": partial(first_results, name) for name in first_result.NETWORKS},
}
"""The subjects beside the items, by what ``--items`` matches."""
