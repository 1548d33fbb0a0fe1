"""How fast this adapter can be: bytes and operations a second, measured once in a process."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.observe.explain import explain
from wgsl_kernels.engine.registry.snapshot import take_snapshot
from wgsl_kernels.testing.timing import timed
from wgsl_kernels.testing.work import work_of

if TYPE_CHECKING:
    from collections.abc import Callable

ELEMENTS = 1 << 22
"""Numbers that are moved: more than caches hold."""
ROUNDS = 64
_BUSY = f"""
// multiplies and adds that depend on nothing but themselves, four chains at once
fn op(x: f32) -> f32 {{
  var a = vec4(x, x + 1.0, x + 2.0, x + 3.0);
  for (var i = 0u; i < {ROUNDS}u; i++) {{
    a = fma(a, vec4(0.5), vec4(x));
    a = fma(a, vec4(0.25), vec4(x));
  }}
  return a.x + a.y + a.z + a.w;
}}
"""


@dataclass(frozen=True)
class Ceilings:
    """What the adapter reaches where nothing else holds it up.

    Attributes:
        bytes_per_second: Read and written, by a map of large arrays.
        operations_per_second: Of ``f32``, a fused multiply and add being two.
    """

    bytes_per_second: float
    operations_per_second: float


@functools.cache
def ceilings() -> Ceilings:
    """Return the adapter's, which is measured at the first time: in well under a second."""
    before = take_snapshot()
    try:
        wgsl_kernel("Ceiling", _BUSY, override=True)
        few = np.linspace(0.0, 1.0, 1 << 16, dtype=np.float32)
        busy = timed(lambda x: run("Ceiling", x), [few], "webgpu", "")
    finally:
        before.restore()
    moved = timed(lambda x: x + 1.0, [np.ones(ELEMENTS, np.float32)], "webgpu", "")
    done = few.size * ROUNDS * 2 * 2 * 4
    return Ceilings(moved.nbytes / moved.seconds, done / busy.seconds)


def operations_of(f: Callable[[], Any]) -> int | None:
    """Return about how many operations the dispatches of a call do, None where loops do not tell.

    See `testing.work.work_of`.
    """
    with use_backend("webgpu"), config.using(small_ops="device", fusion="never"):
        seen = explain(f)
    found = [work_of(row.dispatch) for row in seen.dispatches if row.dispatch is not None]
    return None if None in found else sum(one for one in found if one is not None)
