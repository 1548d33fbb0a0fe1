"""What an op costs the calling thread on webgpu, in microseconds of its own time.

It is the thread's processor time: waiting for the device is not in it. A round begins with an
idle device, runs so many ops and has the last one evaluated, so that all of them are forced,
encoded and submitted. The least round counts. Rounds are short, since on a software adapter the
device's threads take the same cores and caches, which makes the calling thread up to twice as slow.
"""

import argparse
import cProfile
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wgsl_kernels as wk

OPS = 256
ROUNDS = 60
SIZE = 256
"""Elements of a map's tensor: more than are computed on the host."""
SIDE = 16
REPLAYED = (12, 36, 120)
REPLAYS = 150
TURNS = 10_000
"""Of a plain loop, which says how quick the machine is at Python."""


def adds(x: wk.Tensor) -> None:
    """Run the adds, each on the result of the one before, and have the last one evaluated."""
    y = x
    for _ in range(OPS):
        y = y + x
    wk.evaluate(y)


def taped(x: wk.Tensor) -> None:
    """Run multiplications that a tape records, and have the last one evaluated."""
    with wk.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(OPS):
            y = y * x
        wk.evaluate(y)


def repeated(op: Callable[[wk.Tensor], wk.Tensor]) -> Callable[[wk.Tensor], None]:
    """Return a function that runs an op again and again on its own result, and evaluates it."""

    def run(x: wk.Tensor) -> None:
        y = x
        for _ in range(OPS):
            y = op(y)
        wk.evaluate(y)

    return run


OTHERS: dict[str, Callable[[wk.Tensor], wk.Tensor]] = {
    "matmul": lambda x: x @ x,
    "softmax": lambda x: wk.softmax(x),
    "sum": lambda x: wk.sum(x, axis=0, keepdims=True),
}


def own_time(
    run: Callable[[wk.Tensor], None], x: wk.Tensor, ops: int = OPS, rounds: int = ROUNDS
) -> float:
    """Return microseconds per op, the least over the rounds."""
    for _ in range(3):
        run(x)
    found = []
    for _ in range(rounds):
        wk.synchronize()
        start = time.thread_time()
        run(x)
        found.append((time.thread_time() - start) / ops * 1e6)
    return min(found)


def beyond_numpy() -> float:
    """Return microseconds that a small add on our CPU backend takes beyond NumPy's own."""
    values = np.ones(SIZE, np.float32)

    def plain(_x: wk.Tensor) -> None:
        y = values
        for _ in range(OPS):
            y = y + values

    with wk.use_backend("cpu"):
        x = wk.tensor(values)
        return own_time(adds, x) - own_time(plain, x)


def replays(x: wk.Tensor) -> dict[str, float]:
    """Return microseconds of one captured replay, submitted, by its number of dispatches."""

    def products(count: int) -> Callable[[wk.Tensor], wk.Tensor]:
        def run(x: wk.Tensor) -> wk.Tensor:
            for _ in range(count):
                x = x @ x
            return x

        return run

    found = {}
    for count in REPLAYED:
        fast = wk.capture(products(count))

        def replay(x: wk.Tensor, fast: Any = fast) -> None:
            wk.evaluate(fast(x))

        found[str(count)] = own_time(replay, x, 1, REPLAYS)
    return found


def turn_of_a_loop() -> float:
    """Return nanoseconds of one turn of a plain Python loop."""

    def turns(_x: wk.Tensor) -> None:
        total = 0
        for number in range(TURNS):
            total += number

    with wk.use_backend("cpu"):
        return 1e3 * own_time(turns, wk.tensor(0.0), TURNS)


def measure() -> dict[str, Any]:
    """Return microseconds of the thread's own time, the least over the rounds."""
    with wk.use_backend("webgpu"):
        x = wk.tensor(np.ones(SIZE, np.float32))
        square = wk.tensor(np.full((SIDE, SIDE), 1 / SIDE, np.float32))
        with wk.config.using(fusion="never"):
            unfused = own_time(adds, x)
        others = {name: own_time(repeated(op), square) for name, op in OTHERS.items()}
        return {
            "ops": OPS,
            "rounds": ROUNDS,
            "python_loop_ns": turn_of_a_loop(),
            "map_us": own_time(adds, x),
            "unfused_map_us": unfused,
            "taped_us": own_time(taped, x),
            "others_us": others,
            "other_us": max(others.values()),
            "replays": replays(square),
            "cpu_beyond_numpy_us": beyond_numpy(),
        }


def show_profile() -> None:
    """Print where the thread's time goes, by function."""
    with wk.use_backend("webgpu"):
        x = wk.tensor(np.ones(SIZE, np.float32))
        adds(x)
        profile = cProfile.Profile(time.thread_time)
        profile.runcall(adds, x)
    profile.print_stats("tottime")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    if parser.parse_args().profile:
        show_profile()
    else:
        print(json.dumps(measure(), indent=2))
