"""A training program that saves and resumes in processes of its own; run by test_resume.

Arguments: backend, way (eager, fused or captured), order of making variables, how many others are
made before, the file to load or "-", and that to save in the midst or "-"; then the same six again
for another training in the same process. Steps are counted by the
optimizer: it trains to the sixth, saves after the third, and prints the weights as hex.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import wgsl_kernels as wk

SHAPES = {"first": (4, 8), "middle": (8, 8), "last": (8, 8), "bias": (8,), "scale": (8,)}


def main(backend: str, way: str, order: str, others: str, loaded: str, saved: str) -> None:
    """Train, and print what the variables are at the end."""
    wk.config.fusion = {"eager": "auto", "fused": "always", "captured": "auto"}[way]
    wk.config.deterministic = os.environ.get("RESUMING_DETERMINISTIC") == "1"
    wk.set_backend(backend)
    wk.random.seed(11)
    kept = [wk.variable(np.ones(shape, np.float32)) for shape in [(8, 8), (8,)] * int(others)]
    names = list(SHAPES) if order == "forward" else list(SHAPES)[::-1]
    draw = np.random.default_rng(5)
    values = {name: draw.standard_normal(SHAPES[name]).astype(np.float32) for name in SHAPES}
    w = {name: wk.variable(values[name]) for name in names}
    adam, momentum = wk.train.Adam(0.01), wk.train.Momentum(0.01, 0.9)

    def body(x: Any) -> Any:
        hidden = wk.tanh(x @ w["first"] + w["bias"]) + wk.random_normal((16, 8), std_dev=0.01)
        return wk.tanh(hidden @ w["middle"]) @ w["last"]

    def step(x: Any) -> Any:
        chosen = [w[name] for name in names if name != "scale"]
        loss = adam.minimize(lambda: wk.mean((body(x) - 1.0) ** 2.0), chosen)
        return loss + momentum.minimize(
            lambda: wk.mean((body(x) * w["scale"]) ** 2.0), [w["scale"]]
        )

    state = {
        "model": {"hidden": {"w": w["middle"], "b": w["bias"]}, "in": w["first"]},
        "out": {"w": w["last"], "scale": w["scale"], "tied": w["first"]},
        "train": {"adam": adam, "momentum": momentum},
        "random": wk.random.key,
    }
    if loaded != "-":
        wk.load(loaded, into=state)
    run = wk.capture(step) if way == "captured" else step
    for number in range(int(adam.step.item()), 6):
        if number == 3 and saved != "-":
            wk.save(saved, state)
        rows = np.random.default_rng(number).standard_normal((16, 4)).astype(np.float32)
        run(wk.tensor(rows))
    if isinstance(run, wk.Captured) and backend == "webgpu":
        assert run.why is None, run.why
    assert len(kept) == 2 * int(others)
    print(int(adam.step.item()), *(w[name].numpy().tobytes().hex() for name in SHAPES))


if __name__ == "__main__":
    for begin in range(1, len(sys.argv), 6):
        main(*sys.argv[begin : begin + 6])
