"""How long the demo's network takes to its first loss, from the import on, in new processes.

Cold: the driver's and the library's caches on disk are empty. Warm: a process before filled them.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DEMO = Path(__file__).resolve().parents[2] / "examples" / "digits"
COLD_RUNS = 1
WARM_RUNS = 3
PROGRAM = """
import json, sys, time
import numpy as np
sys.path.insert(0, sys.argv[1])
start = time.perf_counter()
import wgsl_kernels as wk
from model import Network, initial_values
images = np.random.default_rng(0).normal(size=(32, 8, 8, 1)).astype(np.float32)
labels = np.eye(10, dtype=np.float32)[np.arange(32) % 10]
seconds = []
with wk.use_backend("webgpu"):
    network, adam = Network(initial_values(0)), wk.train.Adam(0.001)
    for run in (
        lambda: network(wk.tensor(images)),
        lambda: adam.minimize(lambda: network.loss(wk.tensor(images), wk.tensor(labels))),
    ):
        run().numpy()
        seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""


def measure() -> dict[str, Any]:
    """Return the least seconds to the first logits and to the first training step's loss."""
    cold, warm = [], []
    for _ in range(COLD_RUNS):
        with tempfile.TemporaryDirectory(prefix="bench-") as caches:
            cold.append(_run(caches))
            warm += [_run(caches) for _ in range(WARM_RUNS)]
    return {
        "cold_logits_seconds": round(min(one[0] for one in cold), 3),
        "cold_step_seconds": round(min(one[1] for one in cold), 3),
        "warm_logits_seconds": round(min(one[0] for one in warm), 3),
        "warm_step_seconds": round(min(one[1] for one in warm), 3),
    }


def _run(caches: str) -> list[float]:
    names = ("MESA_SHADER_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {**os.environ, **dict.fromkeys(names, caches)}
    command = [sys.executable, "-c", PROGRAM, str(DEMO)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    found: list[float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
