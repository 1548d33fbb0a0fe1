"""What an eager op costs the calling thread on webgpu: dependent small adds, then one read."""

import argparse
import cProfile
import json
import statistics
import time

import numpy as np

import wgsl_kernels as wk

OPS = 1000
ROUNDS = 15


def adds(x: wk.Tensor) -> float:
    """Run the adds, each on the result of the one before, and read the last."""
    y = x
    for _ in range(OPS):
        y = y + x
    return float(y.numpy()[0])


def measure() -> dict[str, float]:
    """Return microseconds per op of the thread's own time and of the clock, over rounds."""
    own, wall = [], []
    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        x = wk.tensor(np.ones(64, np.float32))
        adds(x)
        for _ in range(ROUNDS):
            start, start_own = time.perf_counter(), time.thread_time()
            adds(x)
            own.append((time.thread_time() - start_own) / OPS * 1e6)
            wall.append((time.perf_counter() - start) / OPS * 1e6)
    return {
        "ops": OPS,
        "rounds": ROUNDS,
        "own_us_min": min(own),
        "own_us_median": statistics.median(own),
        "wall_us_min": min(wall),
        "wall_us_median": statistics.median(wall),
    }


def show_profile() -> None:
    """Print where the thread's time goes, by function."""
    with wk.use_backend("webgpu"), wk.config.using(fusion="never"):
        x = wk.tensor(np.ones(64, np.float32))
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
