"""A peer's process, seen from the conductor: requests go in, answers come out, late ones end it."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.items.item import Array, Item
from benchmarks.peers import trace
from benchmarks.peers.setup import ROOT, SOFTWARE_ADAPTERS, TFJS, dawn_for_python, python_of

START_SECONDS = 60.0
CACHES = ("MESA_SHADER_CACHE_DIR", "XDG_CACHE_HOME", "WGSL_KERNELS_CACHE")
"""The variables that say where drivers and this library keep what they have compiled."""


class PeerError(Exception):
    """What the peer said, or that it said nothing in time."""


class PeerProcess:
    """One peer: started when first asked, and again after it died.

    Args:
        name: A peer of ``worker.PEERS``, or ``"tfjs"``.
        driver: Environment variables that name the WebGPU driver.
        log: Where its standard error goes.
    """

    def __init__(self, name: str, driver: dict[str, str], log: Path) -> None:
        self.name = name
        self._driver = driver
        self._log = log
        self._started_with: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def facts(self) -> dict[str, str]:
        """Return versions, and the adapter where there is one."""
        found: dict[str, str] = self._ask({"do": "hello"}, START_SECONDS)["facts"]
        return found

    def prepare(
        self, item: Item, folder: Path, seconds: float, *, tiny: bool = False
    ) -> tuple[dict[str, list[Array]], float]:
        """Make ``item`` ready; return the results by variant and the first call's seconds."""
        request: dict[str, Any] = {"do": "prepare", "folder": str(folder)}
        if self.name == "tfjs":
            request["program"] = str(trace.write(item.work(tiny=tiny), folder))
        else:
            request |= {"item": item.name, "tiny": tiny}
        answer = self._ask(request, seconds)
        results = {name: [_read(one) for one in files] for name, files in answer["results"].items()}
        return results, answer["first_seconds"]

    def first_output(
        self, item: Item, caches: Path, variables: Mapping[str, str], seconds: float
    ) -> float:
        """Start a new process, and return after how many seconds ``item`` has its first results.

        Args:
            item: What it runs; once, and nothing before.
            caches: The folder of its caches on disk; its results go there too.
            variables: Further variables of its environment.
            seconds: How long it may take.
        """
        self.close()
        self._started_with = {**dict.fromkeys(CACHES, str(caches)), **variables}
        request = {"do": "prepare", "folder": str(caches), "item": item.name, "tiny": False}
        start = time.perf_counter()
        try:
            self._ask({**request, "runs": 1}, seconds)
            return time.perf_counter() - start
        finally:
            self.close()
            self._started_with = {}

    def time(self, calls: int, variant: str, seconds: float) -> dict[str, float]:
        """Return milliseconds of one call: ``ms``, and of Python's peers all of ``peer.Cost``."""
        request = {"do": "time", "calls": calls}
        if variant:
            request["variant"] = variant
        return self._ask(request, seconds)

    def drop(self) -> None:
        """Let the item go."""
        if self._process is not None:
            self._ask({"do": "drop"}, START_SECONDS)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said before it ended is read below
        line = b" "
        while not line.startswith(b"{"):  # Dawn writes warnings there as well
            if not select.select([process.stdout], [], [], seconds)[0]:
                self.close()
                raise PeerError(f"no answer in {seconds:.0f} s")
            line = process.stdout.readline()
            if not line:
                self.close()
                raise PeerError(f"its process ended; see {self._log.name}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        here = Path(__file__).parent
        environment = {**os.environ, **self._driver, **self._started_with}
        if self.name == "tinygrad":
            environment |= {"DEV": "WEBGPU", "WEBGPU_PATH": str(dawn_for_python())}
        if self.name == "ort":
            environment |= SOFTWARE_ADAPTERS
        if self.name == "tfjs":
            command = ["node", str(here / "tfjs.mjs"), str(TFJS)]
        else:
            own = python_of(self.name)
            python = str(own) if own.is_file() else sys.executable
            command = [python, "-m", "benchmarks.peers.worker", self.name]
        with self._log.open("ab") as log:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=log
            )
        return self._process


def _read(file: Any) -> Array:
    if isinstance(file, str):
        found: Array = np.load(file)
        return found
    name = {"complex64": "complex64", "int32": "int32"}.get(file["dtype"], "float32")
    return np.fromfile(file["file"], name).reshape(file["shape"])
