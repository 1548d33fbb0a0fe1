"""What a captured replay costs the calling thread on webgpu, by dispatches, and a training step."""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wgsl_kernels as wk

LENGTHS = (12, 36, 120)
CALLS = 10
ROUNDS = 40
Step = Callable[..., Any]


def chain(length: int) -> tuple[Step, tuple[wk.Tensor, ...]]:
    """Return a function of ``length`` dispatches that depend on each other, and its argument."""
    matrix = wk.tensor(np.eye(4, dtype=np.float32))

    def products(x: wk.Tensor) -> wk.Tensor:
        for _ in range(length):
            x = wk.matmul(x, matrix)
        return x

    return products, (wk.tensor(np.ones((4, 4), np.float32)),)


def training_step() -> tuple[Step, tuple[wk.Tensor, ...]]:
    """Return a step of a network 784-256-10 with Adam at batch 64, and its arguments."""
    draw = np.random.default_rng(0)
    sizes = ((784, 256), (256,), (256, 10), (10,))
    first, second, third, last = (
        wk.variable((draw.normal(size=size) * 0.05).astype(np.float32), name=f"w{number}")
        for number, size in enumerate(sizes)
    )
    adam = wk.train.Adam(0.001)

    def loss(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
        hidden = wk.relu(wk.matmul(x, first) + second)
        scores = wk.log_softmax(wk.matmul(hidden, third) + last)
        return -wk.mean(wk.sum(scores * y, axis=1))

    x = wk.tensor(draw.normal(size=(64, 784)).astype(np.float32))
    y = wk.tensor(np.eye(10, dtype=np.float32)[draw.integers(0, 10, 64)])
    return lambda x, y: adam.minimize(lambda: loss(x, y)), (x, y)


def cost(step: Step, arguments: tuple[wk.Tensor, ...]) -> float:
    """Return the least microseconds of the thread's own time that a call took, over rounds."""
    for _ in range(3):
        step(*arguments)
    best = float("inf")
    for _ in range(ROUNDS):
        wk.synchronize()
        start = time.thread_time()
        for _ in range(CALLS):
            step(*arguments)
        best = min(best, (time.thread_time() - start) / CALLS * 1e6)
    return best


def row(step: Step, arguments: tuple[wk.Tensor, ...]) -> dict[str, float]:
    """Return figures of one function, eager and replayed."""
    fast = wk.capture(step)
    fast(*arguments)
    dispatches = len(wk.profile(lambda: fast(*arguments)).dispatches)
    eager, replay = cost(step, arguments), cost(fast, arguments)
    return {
        "dispatches": dispatches,
        "eager_us": eager,
        "replay_us": replay,
        "replay_us_per_dispatch": replay / dispatches,
        "allowed_us": 70.0 + 2.0 * dispatches,
    }


def measure() -> dict[str, dict[str, float]]:
    """Return the figures by function."""
    with wk.use_backend("webgpu"):
        rows = {f"chain_{length}": row(*chain(length)) for length in LENGTHS}
        return {**rows, "mlp_adam_step": row(*training_step())}


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(json.dumps(measure(), indent=2))
