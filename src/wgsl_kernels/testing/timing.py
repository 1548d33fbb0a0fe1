"""How long a call takes, warm, and the rate at which it moves bytes."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.observe.profile import evaluate, synchronize
from wgsl_kernels.engine.tensors.scopes import tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS = 5
LEAST_SECONDS = 0.02


@dataclass(frozen=True)
class Timing:
    """How long a call takes.

    Attributes:
        what: What was called, with its shapes.
        backend: Where.
        seconds: The median.
        nbytes: Bytes of its inputs and outputs together.
    """

    what: str
    backend: str
    seconds: float
    nbytes: int

    @property
    def gigabytes_per_second(self) -> float:
        """The bytes of inputs and outputs, moved once, over the time."""
        return self.nbytes / self.seconds / 1e9 if self.seconds else 0.0

    def __str__(self) -> str:
        rate = f"{self.gigabytes_per_second:.3g} GB/s"
        return f"{self.what} on {self.backend}: {1e3 * self.seconds:.3g} ms, {rate}"


def timed(
    f: Callable[..., Any], arrays: Sequence[Any], backend: str, what: str, rounds: int = ROUNDS
) -> Timing:
    """Return how long ``f`` takes on a backend, warm, its inputs being there already."""
    with use_backend(backend):
        xs = [tensor(one) for one in arrays]
        outputs = list(tensors_in(f(*xs)))
        evaluate(*outputs)
        synchronize()
        nbytes = sum(int(np.asarray(one).nbytes) for one in arrays)
        nbytes += sum(one.spec.nbytes for one in outputs)
        count = 1
        seconds: list[float] = []
        while len(seconds) < rounds:
            begin = time.perf_counter()
            for _ in range(count):
                evaluate(*tensors_in(f(*xs)))
            synchronize()
            spent = time.perf_counter() - begin
            if spent < LEAST_SECONDS and count < 1 << 12:
                count *= 2
            else:
                seconds.append(spent / count)
        return Timing(what, backend, statistics.median(seconds), nbytes)
