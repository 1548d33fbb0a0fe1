"""How long ``import wgsl_kernels`` takes beyond NumPy's own import, and what it leaves alone."""

import json
import statistics
import subprocess
import sys
from typing import Any

RUNS = 15
PROGRAM = """
import json, sys, time
import numpy
shaders = []
sys.addaudithook(
    lambda event, args: shaders.append(str(args[0]))
    if event == "open" and str(args[0]).endswith(".wgsl") else None
)
start = time.perf_counter()
import wgsl_kernels
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "wgpu": "wgpu" in sys.modules, "shaders": len(shaders)}))
"""


def measure() -> dict[str, Any]:
    """Return seconds over several new processes, whether wgpu came along, and shaders read."""
    runs = [_import() for _ in range(RUNS + 1)][1:]  # the first may write bytecode
    seconds = [one["seconds"] for one in runs]
    return {
        "runs": RUNS,
        "seconds_min": min(seconds),
        "seconds_median": statistics.median(seconds),
        "imports_wgpu": any(one["wgpu"] for one in runs),
        "shaders_read": max(one["shaders"] for one in runs),
    }


def _import() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
