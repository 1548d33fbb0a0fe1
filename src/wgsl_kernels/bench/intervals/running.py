"""What kernels may give: every dispatch of a block runs on the device, and on intervals beside."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.runtime.watching import with_methods
from wgsl_kernels.bench.intervals.dispatches import run_on_intervals
from wgsl_kernels.bench.intervals.memory import IntervalWords
from wgsl_kernels.bench.intervals.numbers import OutOfReachError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.bench.intervals.numbers import Array
    from wgsl_kernels.wgsl.syntax.places import Place
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap

MOST_BYTES = 1 << 20
"""Bytes of a buffer that is looked at."""


@dataclass(frozen=True)
class Range:
    """What a device that follows WGSL may give, per element of a result.

    Attributes:
        v: What the formula gives without any rounding; rounded in between where ``is_refined``.
        low: The least.
        high: The largest.
        is_refined: Whether values were taken apart as bits on the way.
    """

    v: Array
    low: Array
    high: Array
    is_refined: bool

    def errors(self) -> tuple[Array, Array]:
        """Return how far below and above the exact result a device may be."""
        with np.errstate(all="ignore"):
            below, above = self.v - self.low, self.high - self.v
            if self.is_refined:
                below = above = self.high - self.low
            settled = (self.low == self.high) | (np.isnan(self.v) & np.isnan(self.low))
            return np.where(settled, 0.0, below), np.where(settled, 0.0, above)

    @property
    def unbounded(self) -> int:
        """How many elements may be anything: a branch was in doubt, or WGSL bounds nothing."""
        below, above = self.errors()
        return int((~np.isfinite(below) | ~np.isfinite(above)).sum())


@dataclass
class Ranges:
    """What a block's reads may give.

    Attributes:
        found: For each read, in order, what it may give; None where that is out of reach.
        reasons: What was out of reach.
        names: What names in shaders may be, by where their authors declare them; None where
            nobody asks.
    """

    found: list[Range | None] = field(default_factory=list["Range | None"])
    reasons: list[str] = field(default_factory=list[str])
    names: dict[Place, tuple[float, float]] | None = None

    def note(self, source_map: SourceMap, noted: Mapping[int, tuple[float, float]]) -> None:
        """Note what names in a composed text may be, beside what they were before."""
        if self.names is None:
            return
        for begin, (low, high) in noted.items():
            at = source_map.composed.place(begin)
            _, place = source_map.origin(at.line, at.column)
            before = self.names.get(place, (low, high))
            self.names[place] = min(low, before[0]), max(high, before[1])


class _BlockBuffers:
    """The buffers of a block."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.words: dict[int, IntervalWords | None] = {}
        self.storages: list[Storage] = []  # alive, so that none takes another's place
        self.is_refined = False

    def see(self, storages: Sequence[Storage]) -> None:
        """Have the words of buffers, as they are at first sight; None of one that is large."""
        new = {id(one): one for one in storages if id(one) not in self.words}
        self.storages += new.values()
        sizes = {key: one.capacity // 4 * 4 for key, one in new.items()}
        self.words |= dict.fromkeys(new)
        small = [key for key, nbytes in sizes.items() if nbytes <= MOST_BYTES]
        found = self.device.peek([(new[key], sizes[key]) for key in small]) if small else []
        for key, raw in zip(small, found, strict=True):
            self.words[key] = IntervalWords(raw.view(np.uint32))

    def forget(self, storage: Storage) -> None:
        """Look at a buffer anew, which the host wrote."""
        self.words.pop(id(storage), None)

    def lose(self, storages: Sequence[Storage], ready: Ready) -> None:
        """Know nothing any more of what a dispatch writes."""
        assert ready.origin is not None
        for one, binding in zip(storages, ready.origin[1].bindings, strict=True):
            if binding.access != "read":
                self.words[id(one)] = None

    def run(self, ready: Ready, storages: Sequence[Storage], ranges: Ranges) -> str:
        """Compute a dispatch, and return why it cannot be computed."""
        assert ready.origin is not None
        dispatch = ready.origin[1]
        buffers: list[tuple[IntervalWords, int, int]] = []
        for one, (first, nbytes) in zip(storages, ready.fitting.ranges, strict=True):
            words = self.words[id(one)]
            if words is None:
                return "a buffer of which nothing is known"
            buffers.append((words, first, nbytes))
        noted: dict[int, tuple[float, float]] | None = None if ranges.names is None else {}
        try:
            if run_on_intervals(dispatch, ready.params, ready.groups, buffers, noted):
                self.is_refined = True
            ranges.note(dispatch.module.source_map, noted or {})
        except OutOfReachError as error:
            return str(error)
        return ""

    def seen(self, storage: Storage, offset: int, nbytes: int) -> Range | None:
        """Return what a read of a buffer may give."""
        words = self.words.get(id(storage))
        if words is None or nbytes % 4:
            return None
        part = words.part(offset // 4, (offset + nbytes) // 4).floats()
        if part is None:
            return None
        return Range(part.v, part.low, part.high, self.is_refined)


@contextmanager
def on_intervals(device: Device, *, names: bool = False) -> Iterator[Ranges]:
    """Compute all dispatches of a block on intervals, too, and tell what its reads may give.

    With ``names`` also what the names in its shaders may be.
    """
    kept, ranges = _BlockBuffers(device), Ranges(names={} if names else None)
    plain = device.run

    def run(ready: Ready, storages: Sequence[Storage]) -> None:
        if ready.origin is None or not ready.work:
            plain(ready, storages)
            return
        kept.see(storages)
        plain(ready, storages)
        reason = kept.run(ready, storages, ranges)
        if reason:
            ranges.reasons.append(reason)
            kept.lose(storages, ready)

    def read(storage: Storage, offset: int, nbytes: int) -> Any:
        ranges.found.append(kept.seen(storage, offset, nbytes))
        return type(device).read(device, storage, offset, nbytes)

    def upload(storage: Storage, offset: int, data: Any) -> None:
        kept.forget(storage)
        type(device).upload(device, storage, offset, data)

    with with_methods(device, run=run, read=read, upload=upload):
        yield ranges
