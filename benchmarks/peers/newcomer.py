"""Train a network for three steps as a newcomer's program would: all that it takes is the process.

Run as ``python -m benchmarks.peers.newcomer ITEM``; the last line says after how many seconds each
part was there, and the third loss.
"""

import json
import sys
import time

START = time.perf_counter()
STEPS = 3


def main() -> None:
    """Import, place the arrays, train."""
    from benchmarks.items.training import ITEMS
    from benchmarks.peers.vocabulary import ADAM_EPSILON, LEARNING_RATE

    laps = {"numpy": _seconds()}

    import wgsl_kernels as wk

    laps["wgsl_kernels"] = _seconds()
    work = next(one for one in ITEMS if one.name == sys.argv[1]).work()
    wk.set_backend("webgpu")

    from benchmarks.peers.our_peer import OPS

    inputs = {name: wk.tensor(one) for name, one in work.inputs.items()}
    own = {name: wk.variable(one, name=name) for name, one in work.variables.items()}
    adam = wk.train.Adam(LEARNING_RATE, epsilon=ADAM_EPSILON)
    loss = 0.0
    for step in range(STEPS):
        loss = adam.minimize(lambda: work.program(OPS, **inputs, **own)).item()
        laps[f"step {step + 1}"] = _seconds()
    print(json.dumps({"laps": laps, "loss": loss}), flush=True)


def _seconds() -> float:
    return round(time.perf_counter() - START, 3)


if __name__ == "__main__":
    main()
