"""How long a new process takes to the value of a training step, the third: a perceptron, a CNN.

Ours, eager, beside TensorFlow.js on WebGPU, and beside what importing NumPy and wgpu and opening a
device take, in turns. Cold: the caches on disk, the driver's and ours, are empty. Warm: one process
before filled them. Each peer has its own. Python's bytecode is there from the start, as it is where
an installer has written it. The seconds are those of the clock, from the start of the process on,
and of the processors.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from benchmarks.conductor import check
from benchmarks.items import ITEMS
from benchmarks.peers.process import CACHES, PeerProcess
from benchmarks.peers.setup import ROOT, TFJS

NETWORKS = {"mlp": "mlp-step", "cnn": "cnn-step"}
ROUNDS = 2
STATES = ("cold", "warm", "warm", "warm")
LONGEST = 180.0
OPENING = """
import numpy, wgpu
adapter = wgpu.gpu.enumerate_adapters_sync()[0]
device = adapter.request_device_sync()
print(flush=True)
"""

Sample = dict[str, Any]
"""``seconds``, ``cpu_seconds``; for ours ``laps``: after how many seconds each part was there."""
Start = Callable[[str, Mapping[str, str], Path], Sample]


def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Return the least of several runs, by network, state of the caches and peer."""
    peers: dict[str, Start] = {"ours": ours, "opening": _opening}
    if (TFJS / ".installed").is_file():
        peers["tfjs"] = _tensorflow_js
    found: dict[str, dict[str, dict[str, Sample]]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as bytecode:
        fixed = {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        for network in NETWORKS:
            _take_turns(network, ("cold",), {"ours": ours, "opening": _opening}, {}, fixed)
        for _ in range(rounds):
            for network in NETWORKS:
                _take_turns(network, STATES, peers, found.setdefault(network, {}), fixed)
    return found


def _take_turns(
    network: str,
    states: Sequence[str],
    peers: Mapping[str, Start],
    found: dict[str, dict[str, Sample]],
    fixed: Mapping[str, str],
) -> None:
    """Start every peer in each state of its caches; keep its quickest run by state.

    ``fixed`` are further variables of the environment.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        for state in states:
            losses = {}
            for name, start in peers.items():
                folder = Path(root, name)
                folder.mkdir(exist_ok=True)
                variables = {**fixed, **dict.fromkeys(CACHES, str(folder))}
                sample = start(NETWORKS[network], variables, folder)
                if "loss" in sample:
                    losses[name] = sample.pop("loss")
                kept = found.setdefault(state, {})
                if name not in kept or sample["seconds"] < kept[name]["seconds"]:
                    kept[name] = sample
            for one in losses.values():
                check([np.asarray(one)], [np.asarray(losses["ours"])])


def ours(item: str, caches: Mapping[str, str], _folder: Path) -> Sample:
    """Start a process that trains on ``item``, with these variables of the environment."""
    sample, line = _run(["-m", "benchmarks.peers.newcomer", item], caches)
    answer = json.loads(line)
    return {**sample, "laps": answer["laps"], "loss": np.float32(answer["loss"])}


def _opening(_item: str, caches: Mapping[str, str], _folder: Path) -> Sample:
    return _run(["-c", OPENING], caches)[0]


def _run(words: list[str], caches: Mapping[str, str]) -> tuple[Sample, bytes]:
    """Start a Python; return what it took to its first line, and that line."""
    with _Clock() as clock:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env={**os.environ, **caches}, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        clock.stop()
        process.stdout.close()
        if process.wait():
            raise SystemExit(f"{' '.join(words[:3])} ended with {process.returncode}.")
    return clock.sample, line


def _tensorflow_js(item: str, caches: Mapping[str, str], folder: Path) -> Sample:
    peer = PeerProcess("tfjs", dict(caches), folder / "log")
    with _Clock() as clock:
        try:
            results, _ = peer.prepare(ITEMS[item], folder, LONGEST)
            clock.stop()
        finally:
            peer.close()
    return {**clock.sample, "loss": results[""][0]}


class _Clock:
    """The seconds of one process of ours, which ends within the block, and of the processors."""

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        self._spent = _spent()
        self.sample: Sample = {}
        return self

    def stop(self) -> None:
        """Take the time: the value is there."""
        self.sample["seconds"] = round(time.perf_counter() - self._start, 3)

    def __exit__(self, *_: object) -> None:
        self.sample["cpu_seconds"] = round(_spent() - self._spent, 3)


def _spent() -> float:
    """Return the processors' seconds of all processes of ours that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="each with empty caches of its own"
    )
    print(json.dumps(measure(parser.parse_args().rounds), indent=2))
