"""What the first call of a text costs the calling thread on webgpu, in ms of its own time.

It is beyond what the second call costs: reading the kernel's file, where it was not read before,
lowering, composing, and what the host makes of the text. Compilers work in threads of their own, so
their time is not in it. A new process measures, since texts are kept.
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

import wgsl_kernels as wk

SHAPE = (3, 4, 5, 6)
SIDE = 64
ONE = ("exp", "sin", "cos", "tanh", "sqrt", "log", "abs", "floor", "ceil", "sinh", "cosh")
TWO = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
REDUCTIONS = ("sum", "max", "min", "prod", "mean", "any", "all")
AXES: tuple[int | tuple[int, ...] | None, ...] = (0, 1, 3, (0, 2), None)

Call = Callable[[], wk.Tensor]


def maps() -> Iterator[Call]:
    """Yield maps, each on arrays in their order and on transposed ones."""
    x = _ones(SHAPE)
    for y in (x, _transposed(x)):
        yield from (lambda name=name, y=y: getattr(wk, name)(y) for name in ONE)
        yield from (lambda name=name, y=y: getattr(wk, name)(y, y) for name in TWO)


def reductions() -> Iterator[Call]:
    """Yield reductions, each along several axes."""
    x = _ones(SHAPE)
    for axis in AXES:
        yield from (
            lambda name=name, axis=axis: getattr(wk, name)(x, axis=axis) for name in REDUCTIONS
        )


def products() -> Iterator[Call]:
    """Yield products of matrices and of stacks of them, transposed or not."""
    b = _ones((SIDE, SIDE))
    for a in (_ones((SIDE, SIDE)), _ones((3, SIDE, SIDE))):
        for first in (a, _transposed(a)):
            yield from (lambda first=first, last=last: first @ last for last in (b, _transposed(b)))


KINDS = {"map": maps, "reduction": reductions, "product": products}


def measure() -> dict[str, float]:
    """Return the mean milliseconds of a first call beyond the second, by kind."""
    wk.set_backend("webgpu")
    found = {}
    with wk.config.using(fusion="never", small_ops="device"):
        wk.evaluate(_ones((2,)) - 1)  # the device is there from here on
        gc.collect()
        gc.disable()
        for name, calls in KINDS.items():
            found[name] = statistics.fmean([_own_ms(f) - _own_ms(f) for f in calls()])
    return found


def _own_ms(f: Call) -> float:
    wk.synchronize()
    start = time.thread_time()
    wk.evaluate(f())
    return (time.thread_time() - start) * 1e3


def _ones(shape: tuple[int, ...]) -> wk.Tensor:
    """Return a tensor that was computed, so that the host has no copy to read instead."""
    x = wk.tensor(np.ones(shape, np.float32)) * 1
    wk.evaluate(x)
    return x


def _transposed(x: wk.Tensor) -> wk.Tensor:
    return wk.permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(json.dumps(measure(), indent=2))
