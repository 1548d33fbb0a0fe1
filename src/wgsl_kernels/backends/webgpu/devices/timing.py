"""Device time of each dispatch, from timestamp queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.backends.webgpu.devices.native import at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.devices.native import NativeCalls
    from wgsl_kernels.backends.webgpu.devices.ready import Origin
    from wgsl_kernels.backends.webgpu.devices.recorder import Dispatch, Label

MOST_DISPATCHES = 256  # at a time; a query set holds two stamps for each

MAP_READ, COPY_SRC, COPY_DST, QUERY_RESOLVE = 1, 4, 8, 512  # wgpu.BufferUsage


class Noted(NamedTuple):
    """One dispatch while profiling: its kernels, why it was made when it was, its nanoseconds.

    ``cause`` is empty for a dispatch that the op made at once. ``origin`` is the program that it
    belongs to, and its dispatch there.
    """

    kernels: tuple[str, ...]
    cause: str
    nanoseconds: int | None
    origin: Origin = None

    @property
    def milliseconds(self) -> float | None:
        return None if self.nanoseconds is None else self.nanoseconds / 1e6


class DispatchTimer:
    """What is noted of a device's dispatches while profiling, with their times if it can tell.

    For these every dispatch gets a pass of its own between two timestamps.

    Attributes:
        log: Label, cause and origin of each dispatch; None while nothing is noted.
    """

    def __init__(self, device: Any, calls: NativeCalls, has_timestamps: bool) -> None:
        self.log: list[tuple[Label, str, Origin]] | None = None
        self._rows: list[int] = []  # nanoseconds, in order
        self._device = device
        self._calls = calls
        self._has_timestamps = has_timestamps
        self._period = 1.0
        self._stamps: Any = None
        self._buffer: Any = None
        self._reader: Any = None

    def run(
        self,
        records: Sequence[Dispatch],
        fill: Callable[[Sequence[Dispatch], Any], None],
        sent: Callable[[int], Callable[[], None]],
    ) -> None:
        """Submit ``records`` with a timestamp before and after each, and wait for them.

        ``fill`` encodes some of them into a pass, given its handle; ``sent`` gives what notes that
        the next so many are submitted.
        """
        for start in range(0, len(records), MOST_DISPATCHES):
            some = records[start : start + MOST_DISPATCHES]
            encoder = self._device.create_command_encoder()
            for number in range(len(some)):
                writes = {
                    "query_set": self._stamps,
                    "beginning_of_pass_write_index": 2 * number,
                    "end_of_pass_write_index": 2 * number + 1,
                }
                compute = encoder.begin_compute_pass(timestamp_writes=writes)
                fill(some[number : number + 1], self._calls.handle(compute))
                compute.end()
            encoder.resolve_query_set(self._stamps, 0, 2 * len(some), self._buffer, 0)
            reader, self._reader = self._reader or self._new_buffer(MAP_READ | COPY_DST), None
            encoder.copy_buffer_to_buffer(self._buffer, 0, reader, 0, 16 * len(some))
            self._calls.send(self._device.queue, encoder.finish(), sent(len(some)))
            mapped = self._calls.map_for_reading(self._device, reader, 16 * len(some), at_once)
            stamps = np.frombuffer(mapped, np.uint64).copy()
            mapped.release()
            reader.unmap()
            self._reader = reader  # one that is left mapped must never be used again
            for begin, end in zip(stamps[::2], stamps[1::2], strict=True):
                self._rows.append(round(max(0, int(end) - int(begin)) * self._period))

    def turn(self, on: bool) -> DispatchTimer | None:
        """Begin or end; return what dispatches go through from now on, if they are timed."""
        self.log = [] if on else None
        self._rows.clear()  # a run that was interrupted left some
        if not (on and self._has_timestamps):
            return None
        if self._stamps is None:
            self._period = self._calls.timestamp_period(self._device.queue)
            count = 2 * MOST_DISPATCHES
            self._stamps = self._device.create_query_set(
                label="timestamps", type="timestamp", count=count
            )
            self._buffer = self._new_buffer(COPY_SRC | QUERY_RESOLVE)
        return self

    def take(self) -> list[Noted]:
        """Return what was noted since then; all of it must have been submitted."""
        log = self.log or []
        times, self._rows = self._rows, []
        if self.log is not None:
            self.log = []
        spent: list[int | None] = [*times, *[None] * (len(log) - len(times))]
        return [
            Noted((label,) if isinstance(label, str) else label, cause, nanoseconds, origin)
            for (label, cause, origin), nanoseconds in zip(log, spent, strict=False)
        ]

    def _new_buffer(self, usage: int) -> Any:
        size = 16 * MOST_DISPATCHES
        return self._device.create_buffer(label="timestamps", size=size, usage=usage)
