"""What the tests have workers run."""

import gc
import itertools
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from distributed import get_worker

import wgsl_kernels as wk
from wgsl_kernels.dask import WorkerGroup

STEPS, MICRO_BATCHES = 16, 6


def talk(group: WorkerGroup, length: int) -> Any:
    mine = np.full(length, group.rank + 1, np.float32)
    total = group.all_reduce(mine)
    first = group.broadcast(mine if group.rank == 1 else None, root=1)
    after, before = (group.rank + 1) % group.size, (group.rank - 1) % group.size
    swapped = group.exchange({after: mine, before: mine})
    return float(total[-1]), float(first[0]), {k: float(v[0]) for k, v in swapped.items()}


def die(group: WorkerGroup) -> None:
    if group.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    group.all_reduce(np.ones(4, np.float32))


def make() -> Any:
    rng = np.random.default_rng(0)
    model = {
        "w": wk.variable(rng.normal(size=(8, 4)).astype("f")),
        "b": wk.variable(np.zeros(4, "f")),
    }

    def loss(batch: Any) -> wk.Tensor:
        x, y = batch
        noise = 0.01 * wk.random_normal((5, 4))
        return wk.mean((wk.tanh(x @ model["w"] + model["b"]) + noise - y) ** 2)

    return model, wk.train.Adam(0.01), loss


def batches(step: int) -> Any:
    rng = np.random.default_rng(step)
    draw = rng.normal
    return [(draw(size=(5, 8)).astype("f"), draw(size=(5, 4)).astype("f")) for _ in range(6)]


def batches_that_end(step: int, number: int, marker: str) -> Any:
    """Send worker 1 a signal at step 7, once."""
    if step == 7 and worker_name() == 1 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), number)
    return batches(step)


def make_that_stops(marker: str) -> Any:
    """Stop worker 1 once, after the last all-reduce before the copies are compared."""
    model, optimizer, loss = make()
    apply, calls = optimizer.apply_gradients, itertools.count(1)

    def apply_or_stop(pairs: Any) -> None:
        if next(calls) == 4 and worker_name() == 1 and not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        apply(pairs)

    optimizer.apply_gradients = apply_or_stop
    return model, optimizer, loss


def make_that_dies(user: int) -> Any:
    """End every process but the user's."""
    if os.getpid() != user:
        os.kill(os.getpid(), signal.SIGKILL)
    return make()


def slow_batches(step: int) -> Any:
    time.sleep(0.05)
    return batches(step)


def several_shapes(group: WorkerGroup) -> None:
    group.all_reduce(np.ones(3 + group.rank, np.float32))


def no_such_rank(group: WorkerGroup) -> None:
    group.exchange({-1: np.ones(3)})


def ends_early(group: WorkerGroup) -> None:
    if group.rank:
        group.all_reduce(np.ones(3))
        group.all_reduce(np.ones(3))
    else:
        group.all_reduce(np.ones(3))


def ends_at_once(group: WorkerGroup) -> None:
    if group.rank:
        group.all_reduce(np.ones(3))


def other_calls(group: WorkerGroup) -> None:
    if group.rank:
        group.broadcast(np.ones(3), root=0)
    else:
        group.all_reduce(np.ones(3))


def batches_that_fail(step: int, kind: type[Exception]) -> Any:
    """Fail at step 3, as where a file or a name is missing."""
    if step == 3:
        raise kind("no such digits")
    return batches(step)


def make_that_differs() -> Any:
    model, optimizer, loss = make()
    if worker_name() == 1:
        model["b"].assign(np.ones(4, "f"))
    return model, optimizer, loss


def worker_name() -> Any:
    try:
        return get_worker().name
    except ValueError:
        return None


def lose_device() -> None:
    for one in gc.get_objects():
        if type(one).__name__ == "GPUDevice":
            one.destroy()


def chunk(number: int) -> wk.Tensor:
    return wk.ones((64, 64)) * float(number) + 1.0


def total(x: wk.Tensor) -> float:
    return float(x.sum().item())


def add_folder(folder: str) -> None:
    """Have this process find modules in a folder."""
    sys.path.insert(0, folder)
