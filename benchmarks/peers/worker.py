"""Drive one peer: a request per line on standard input, an answer per line on standard output.

``hello`` gives the facts; ``prepare`` makes an item ready, runs it three times or as often as it is
told, and leaves the last result in a folder; ``time`` runs it; ``drop`` lets it go.
"""

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.items import named
from benchmarks.peers.peer import Peer, Running

WARM_UP = 3
PEERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "numpy": ("benchmarks.peers.numpy_peer", "NumpyPeer", {}),
    "torch": ("benchmarks.peers.torch_peer", "TorchPeer", {}),
    "tinygrad": ("benchmarks.peers.tinygrad_peer", "TinygradPeer", {}),
    "ours": ("benchmarks.peers.our_peer", "OurPeer", {"backend": "webgpu"}),
    "captured": (
        "benchmarks.peers.our_peer",
        "OurPeer",
        {"backend": "webgpu", "captured": True},
    ),
    "ours-cpu": ("benchmarks.peers.our_peer", "OurPeer", {"backend": "cpu"}),
    "limit": ("benchmarks.limits.limit_peer", "LimitPeer", {}),
    "ort": ("benchmarks.peers.onnxruntime_peer", "OnnxRuntimePeer", {"provider": "webgpu"}),
    "ort-cpu": ("benchmarks.peers.onnxruntime_peer", "OnnxRuntimePeer", {"provider": "cpu"}),
}
"""Module, class and arguments of every peer that is written in Python."""


class Worker:
    """The peer, and the item that it has ready."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._running: dict[str, Running] = {}

    def hello(self) -> dict[str, Any]:
        """Return the peer's facts."""
        return {"facts": self._peer.facts()}

    def prepare(self, item: str, folder: str, tiny: bool, runs: int = WARM_UP) -> dict[str, Any]:
        """Make an item ready; return its variants, the first call's seconds and the results."""
        chosen = named(item)
        start = time.perf_counter()
        self._running = self._peer.start(chosen, chosen.work(tiny=tiny))
        results = {}
        first = None
        for variant, running in self._running.items():
            y = running.call()
            running.finish()
            first = first or time.perf_counter() - start
            for _ in range(runs - 1):
                y = running.call()
                running.finish()
            name = f"{variant or 'result'}".replace("/", " ")
            results[variant] = _write(running.fetch(y), Path(folder), name)
        return {"results": results, "first_seconds": first}

    def time(self, calls: int, variant: str = "") -> dict[str, Any]:
        """Return what one call costs."""
        return asdict(self._running[variant].time(calls))

    def drop(self) -> dict[str, Any]:
        """Let the item go."""
        self._running = {}
        return {}


def _write(arrays: list[Any], folder: Path, name: str) -> list[str]:
    files = []
    for i, one in enumerate(arrays):
        path = folder / f"{name}-{i}.npy"
        np.save(path, one)
        files.append(str(path))
    return files


def _answers(worker: Worker, reply: Callable[[dict[str, Any]], None]) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply(getattr(worker, request.pop("do"))(**request))
        except Exception as error:  # a failed item is an answer too
            reply({"error": f"{type(error).__name__}: {error}"[:400]})


def main() -> None:
    """Answer requests until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    name = parser.parse_args().peer
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not pass for an answer

    def reply(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=out, flush=True)

    module, cls, options = PEERS[name]
    try:
        peer: Peer = getattr(importlib.import_module(module), cls)(**options)
        peer.settle()
    except Exception as error:  # said once, for the conductor to leave this peer out
        reply({"error": f"{type(error).__name__}: {error}"[:400]})
        return
    _answers(Worker(peer), reply)


if __name__ == "__main__":
    main()
