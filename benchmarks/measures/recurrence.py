"""An LSTM of 32 steps by ``wk.scan`` and as a loop: its values, its gradient, and their memory."""

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wgsl_kernels as wk

STEPS, BATCH, UNITS = 32, 16, 64
ROUNDS = 9
Cell = Callable[[Any, Any], Any]


def _cell(kernel: wk.Tensor, bias: wk.Tensor) -> Cell:
    def step(carry: Any, x: wk.Tensor) -> Any:
        c, h = wk.basic_lstm_cell(1.0, kernel, bias, x, *carry)
        return (c, h), h

    return step


def _looped(f: Cell, carry: Any, xs: wk.Tensor) -> Any:
    ys = []
    for x in wk.unstack(xs):
        carry, y = f(carry, x)
        ys.append(y)
    return carry, wk.stack(ys)


def measure() -> dict[str, Any]:
    """Return milliseconds of each way, in turns, and the bytes that are held at the most."""
    draw = np.random.default_rng(0)
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        kernel = wk.variable(0.1 * draw.standard_normal((2 * UNITS, 4 * UNITS)), dtype="float32")
        bias, state = wk.zeros((4 * UNITS,)), wk.zeros((BATCH, UNITS))
        xs = wk.tensor(draw.standard_normal((STEPS, BATCH, UNITS)), dtype="float32")
        step = _cell(kernel, bias)
        kept = wk.capture(step)

        def values(scan: Callable[..., Any], f: Cell) -> wk.Tensor:
            return wk.sum(wk.square(scan(f, (state, state), xs)[1]))

        def slopes(scan: Callable[..., Any], f: Cell) -> Any:
            return list(wk.variable_grads(lambda: values(scan, f))[1].values())

        ways = {"scan": (wk.scan, kept), "loop": (_looped, step)}
        calls: dict[str, Callable[[], Any]] = {
            f"{way} {what}": lambda f=f, own=own: f(*own)
            for way, own in ways.items()
            for what, f in (("values", values), ("gradient", slopes))
        }
        calls |= {
            f"captured {name}": wk.capture(f)
            for name, f in calls.items()
            if name.startswith("loop")
        }
        times = _in_turns(calls)
        peaks = {name: wk.profile(calls[name]).peak_bytes for name in calls if "gradient" in name}
    return {"steps": STEPS, "ms": times, "peak_bytes": peaks}


def _in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(ROUNDS + 3):
        for name, f in calls.items():
            start = time.perf_counter()
            wk.evaluate(f())
            wk.synchronize()
            if turn >= 3:
                samples[name].append(1e3 * (time.perf_counter() - start))
    return {name: round(statistics.median(found), 3) for name, found in samples.items()}


if __name__ == "__main__":
    print(json.dumps(measure()))
