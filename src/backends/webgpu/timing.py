"""Device time of each dispatch, from timestamp queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.native import Calls
    from wgsl_kernels.backends.webgpu.recorder import Dispatch, Label

MOST_DISPATCHES = 256  # in one batch; a query set holds two stamps for each

COPY_SRC, QUERY_RESOLVE = 4, 512  # wgpu.BufferUsage


class Timer:
    """Gives every dispatch a pass of its own between two timestamps; keeps nanoseconds in order."""

    def __init__(self, device: Any, period: float) -> None:
        self.rows: list[int] = []
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
        """Wait for the batch just submitted and keep the time of each dispatch."""
        stamps = np.frombuffer(queue.read_buffer(self._buffer, 0, 16 * len(records)), np.uint64)
        for start, end in zip(stamps[::2], stamps[1::2], strict=True):
            self.rows.append(round(max(0, int(end) - int(start)) * self._period))


class Noted(NamedTuple):
    """One dispatch while profiling: its kernels, why it was made when it was, its nanoseconds.

    ``cause`` is empty for a dispatch that the op made at once.
    """

    kernels: tuple[str, ...]
    cause: str
    nanoseconds: int | None


class Watch:
    """What is noted of a device's dispatches while profiling.

    Attributes:
        log: Label and cause of each dispatch; None while nothing is noted.
    """

    def __init__(self, device: Any, calls: Calls, has_timestamps: bool) -> None:
        self.log: list[tuple[Label, str]] | None = None
        self._device = device
        self._calls = calls
        self._has_timestamps = has_timestamps
        self._timer: Timer | None = None

    def turn(self, on: bool) -> Timer | None:
        """Begin or end; return the timer that dispatches go through from now on."""
        self.log = [] if on else None
        if on and self._has_timestamps and self._timer is None:
            self._timer = Timer(self._device, self._calls.timestamp_period(self._device.queue))
        return self._timer if on else None

    def take(self) -> list[Noted]:
        """Return what was noted since then; all of it must have been submitted."""
        log = self.log or []
        times: list[int] = []
        if self._timer is not None:
            times, self._timer.rows = self._timer.rows, []
        if self.log is not None:
            self.log = []
        spent: list[int | None] = [*times, *[None] * (len(log) - len(times))]
        return [
            Noted((label,) if isinstance(label, str) else label, cause, nanoseconds)
            for (label, cause), nanoseconds in zip(log, spent, strict=False)
        ]
