"""How long ``import wgsl_kernels`` takes beyond NumPy's own import, and what it leaves alone."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

RUNS = 15
PROGRAM = """
import json, sys, time
import numpy
shaders = []
sys.addaudithook(
    lambda event, args: shaders.append(str(args[0]))
    if event == "open" and str(args[0]).endswith((".wesl", ".wgsl")) else None
)
start = time.perf_counter()
import wgsl_kernels
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "wgpu": "wgpu" in sys.modules, "shaders": len(shaders)}))
"""


def measure() -> dict[str, Any]:
    """Return seconds over several new processes, whether wgpu came along, and shaders read."""
    with tempfile.TemporaryDirectory() as bytecode:
        runs = [_import(bytecode) for _ in range(RUNS + 1)][1:]  # the first writes the bytecode
    seconds = [one["seconds"] for one in runs]
    return {
        "runs": RUNS,
        "seconds_min": min(seconds),
        "seconds_median": statistics.median(seconds),
        "imports_wgpu": any(one["wgpu"] for one in runs),
        "shaders_read": max(one["shaders"] for one in runs),
    }


def _import(bytecode: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
