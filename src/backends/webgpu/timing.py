"""Device time of each dispatch, from timestamp queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.recorder import Dispatch

MOST_DISPATCHES = 256  # in one batch; a query set holds two stamps for each

COPY_SRC, QUERY_RESOLVE = 4, 512  # wgpu.BufferUsage


class Timer:
    """Gives every dispatch a pass of its own between two timestamps, and keeps their labels."""

    def __init__(self, device: Any, period: float) -> None:
        self.rows: list[tuple[str, int]] = []
        self._period = period
        self._stamps = device.create_query_set(
            label="timestamps", type="timestamp", count=2 * MOST_DISPATCHES
        )
        self._buffer = device.create_buffer(
            label="timestamps", size=16 * MOST_DISPATCHES, usage=COPY_SRC | QUERY_RESOLVE
        )

    def encode(
        self,
        encoder: Any,
        records: Sequence[Dispatch],
        run: Callable[[Any, Sequence[Dispatch]], None],
    ) -> None:
        """Encode ``records`` with a timestamp before and after each."""
        for number, record in enumerate(records):
            writes = {
                "query_set": self._stamps,
                "beginning_of_pass_write_index": 2 * number,
                "end_of_pass_write_index": 2 * number + 1,
            }
            compute = encoder.begin_compute_pass(timestamp_writes=writes)
            run(compute, (record,))
            compute.end()
        encoder.resolve_query_set(self._stamps, 0, 2 * len(records), self._buffer, 0)

    def collect(self, queue: Any, records: Sequence[Dispatch]) -> None:
        """Wait for the batch just submitted and keep (label, nanoseconds) of each dispatch."""
        stamps = np.frombuffer(queue.read_buffer(self._buffer, 0, 16 * len(records)), np.uint64)
        for record, start, end in zip(records, stamps[::2], stamps[1::2], strict=True):
            spent = max(0, int(end) - int(start))
            self.rows.append((record[4] or record[0].label, round(spent * self._period)))
