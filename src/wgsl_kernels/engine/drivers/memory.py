"""Memory accounting: how many tensors live, and what their backends hold for them."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.drivers.abilities import abilities_of
from wgsl_kernels.engine.drivers.backends import running_drivers
from wgsl_kernels.engine.environment.liveness import Marker
from wgsl_kernels.engine.environment.tables import html_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.drivers.driver import Usage

_alive = Marker()
life: object = _alive.token
"""Every tensor that is not disposed holds this, and nothing else does: so they are counted without
a finalizer in Python, which would be a tenth of a small op's time."""
_named = _alive.holders


@dataclass(frozen=True)
class Memory:
    """A count of what is alive.

    Attributes:
        num_tensors: Tensors that are neither disposed nor collected.
        num_buffers: Arrays that back them, on all backends; views share one, and a pending
            array has none yet.
        num_bytes: Bytes of these arrays.
        by_backend: The same for each running backend, with the bytes that it pools for reuse.
    """

    num_tensors: int
    num_buffers: int
    num_bytes: int
    by_backend: Mapping[str, Usage]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a row per backend, tensors above."""
        rows = [
            (name, one.num_buffers, one.num_bytes, one.pool_bytes, one.captured_bytes)
            for name, one in self.by_backend.items()
        ]
        head = ("backend", "buffers", "bytes", "pooled bytes", "captured bytes")
        return html_table(head, rows, f"{self.num_tensors:,} tensors, {self.num_bytes:,} bytes")


def memory() -> Memory:
    """Return what is alive now; forces no pending work."""
    usage = {driver.name: driver.memory() for driver in running_drivers()}
    return Memory(
        num_tensors=_alive.holders - _named,
        num_buffers=sum(one.num_buffers for one in usage.values()),
        num_bytes=sum(one.num_bytes for one in usage.values()),
        by_backend=usage,
    )


def empty_cache() -> int:
    """Give memory that backends keep for reuse back to their drivers; arrays alive stay.

    Returns:
        How many bytes that were.

    Example:
        >>> wk.empty_cache() >= 0
        True
    """
    gc.collect()  # arrays in reference cycles
    pools = [abilities_of(driver).pooling for driver in running_drivers()]
    return sum(pool.trim() for pool in pools if pool is not None)
