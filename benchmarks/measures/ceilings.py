"""What the device itself can do: copy memory, and multiply and add."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.limits.raw import GLOBAL, GROUP, LANE, Raw, divide, each, head, main

NBYTES = 64 << 20
ROUNDS = 7
CHAINS = (1, 2, 4, 8)
"""So many vec4 at once: few do not keep the units busy, many do not fit the registers."""
TURNS = 512
LANES = 1 << 16


def measure() -> dict[str, Any]:
    """Return gigabytes a second, read and written together, and float32 operations a second."""
    raw = Raw()
    copies = {name: round(one, 2) for name, one in _copies(raw).items()}
    loops = {f"{chains} vec4": round(_fma(raw, chains), 1) for chains in CHAINS}
    return {
        "copy_gb_per_s": max(copies.values()),
        "copies": copies,
        "fma_gflop_per_s": max(loops.values()),
        "loops": loops,
    }


def _copies(raw: Raw) -> dict[str, float]:
    """Return gigabytes a second of each way to copy 64 MB."""
    x, y = raw.empty(NBYTES), raw.empty(NBYTES)
    found = {}
    for per in (1, 4, 64):
        body = """
  for (var j = 0u; j < PER; j++) {
    let i = (group.x * PER + j) * 64u + lane;
    y[i] = x[i];
  }"""
        source = head({"PER": per}, {"x": "vec4f"}, {"y": "vec4f"})
        source += main("64", [GROUP, LANE], body)
        groups = divide(NBYTES, 16 * 64 * per)
        if groups <= 65_535:
            copy = raw.dispatch(source, [x, y], groups)
            seconds = _least(raw, partial(raw.record, [copy]))
            found[f"a shader, {per} vec4"] = 2 * NBYTES / seconds / 1e9

    def by_command() -> None:
        encoder = raw.device.create_command_encoder()
        encoder.copy_buffer_to_buffer(x, 0, y, 0, NBYTES)
        raw.device.queue.submit([encoder.finish()])

    found["the copy command"] = 2 * NBYTES / _least(raw, by_command) / 1e9
    return found


def _fma(raw: Raw, chains: int) -> float:
    """Return operations a second, in thousands of millions, of independent chains of fma."""
    body = f"""
  let a = vec4f(x[0].x);
  let b = vec4f(x[0].y);
  {each("var c{i} = vec4f(f32(id.x) + {i}.0);", i=chains)}
  for (var k = 0u; k < TURNS; k++) {{
    {each("c{i} = fma(c{i}, a, b);", i=chains)}
  }}
  y[id.x] = {" + ".join(f"c{i}" for i in range(chains))};"""
    source = head({"TURNS": TURNS}, {"x": "vec4f"}, {"y": "vec4f"}) + main("64", [GLOBAL], body)
    loop = raw.dispatch(source, [raw.empty(64), raw.empty(LANES * 16)], LANES // 64)
    seconds = _least(raw, lambda: raw.record([loop]))
    return 2 * 4 * chains * TURNS * LANES / seconds / 1e9


def _least(raw: Raw, run: Callable[[], None]) -> float:
    """Return the least seconds that ``run`` and its completion took."""
    found = []
    for _ in range(ROUNDS):
        raw.wait()
        start = time.perf_counter()
        run()
        raw.wait()
        found.append(time.perf_counter() - start)
    return min(found)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
