"""Whether memory stays flat: what is alive, and the process's size, along 1,000 training steps."""

import gc
import json
import time
from typing import Any

import numpy as np
import psutil

import wgsl_kernels as wk

STEPS = 1000
EVERY = 100
SETTLED = 200
"""From this step on, caches are full and pipelines compiled, so nothing may grow."""
SHAPES = {"filter": (3, 3, 1, 8), "weights": (4 * 4 * 8, 10), "bias": (10,)}
MIB = 1 << 20


class Network:
    """A convolution, a pool and a dense layer, trained on random images."""

    def __init__(self) -> None:
        draw = np.random.default_rng(0)
        self.draw = draw
        self.variables = {
            name: wk.variable(draw.normal(0.0, 0.1, shape), name=name, dtype="float32")
            for name, shape in SHAPES.items()
        }
        self.adam = wk.train.Adam(0.001)

    def step(self) -> None:
        """Train on a new batch of 16 images."""
        images = wk.tensor(self.draw.normal(size=(16, 8, 8, 1)), dtype="float32")
        labels = wk.tensor(np.eye(10)[self.draw.integers(0, 10, 16)], dtype="float32")
        self.adam.minimize(lambda: self._loss(images, labels))

    def _loss(self, images: wk.Tensor, labels: wk.Tensor) -> wk.Tensor:
        own = self.variables
        x = wk.max_pool(wk.relu(wk.conv2d(images, own["filter"], pad="same")), 2)
        x = wk.reshape(x, (images.shape[0], -1)) @ own["weights"] + own["bias"]
        return wk.softmax_cross_entropy(labels, x)


def measure() -> dict[str, Any]:
    """Return a row for every 100 steps, and what grew after the first 200."""
    with wk.use_backend("webgpu"):
        network = Network()
        start = time.perf_counter()
        series = []
        for step in range(1, STEPS + 1):
            network.step()
            if step % EVERY == 0:
                series.append({"step": step, **_sizes()})
        spent = time.perf_counter() - start
    settled = [row for row in series if row["step"] >= SETTLED]
    grown = {name: settled[-1][name] - settled[0][name] for name in series[0] if name != "step"}
    return {"series": series, "grown": grown, "ms_per_step": 1e3 * spent / STEPS}


def _sizes() -> dict[str, Any]:
    wk.synchronize()
    gc.collect()
    alive = wk.memory()
    return {
        "tensors": alive.num_tensors,
        "buffers": alive.num_buffers,
        "bytes": alive.num_bytes,
        "resident_mib": round(psutil.Process().memory_info().rss / MIB, 2),
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
