"""What kernels may give: every dispatch of a block runs on the device, and on intervals beside."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.runtime.watching import with_methods
from wgsl_kernels.bench.intervals.dispatches import run_on_intervals
from wgsl_kernels.bench.intervals.memory import IntervalWords
from wgsl_kernels.bench.intervals.numbers import OutOfReachError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes
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
        reads: How many there are.
        found: For each read, in order, what it may give; None where that is out of reach.
        reasons: What was out of reach.
        names: What names in shaders may be, by where their authors declare them; None where
            nobody asks.
        later: What computes all of that.
    """

    reads: int = 0
    found: list[Range | None] = field(default_factory=list["Range | None"])
    reasons: list[str] = field(default_factory=list[str])
    names: dict[Place, tuple[float, float]] | None = None
    later: list[Callable[[], object]] = field(default_factory=list["Callable[[], object]"])

    def compute(self) -> None:
        """Compute what has not been computed yet."""
        later, self.later = self.later, []
        for compute in later:
            compute()

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
        self.storages: dict[int, Storage] = {}  # alive, so that none takes another's place
        self.is_refined = False

    def see(self, storages: Sequence[Storage]) -> dict[int, Bytes | None]:
        """Return the bytes of buffers, as they are at first sight; None of one that is large."""
        new = {id(one): one for one in storages if id(one) not in self.storages}
        self.storages |= new
        sizes = {key: one.capacity // 4 * 4 for key, one in new.items()}
        small = [key for key, nbytes in sizes.items() if nbytes <= MOST_BYTES]
        found = self.device.peek([(new[key], sizes[key]) for key in small]) if small else []
        return {**dict.fromkeys(new), **dict(zip(small, found, strict=True))}

    def lose(self, keys: Sequence[int], ready: Ready) -> None:
        """Know nothing any more of what a dispatch writes."""
        assert ready.origin is not None
        for key, binding in zip(keys, ready.origin[1].bindings, strict=True):
            if binding.access != "read":
                self.words[key] = None

    def run(
        self, ready: Ready, keys: Sequence[int], new: Mapping[int, Bytes | None], ranges: Ranges
    ) -> None:
        """Compute a dispatch on buffers, some of which are new; tell why it cannot be computed."""
        for key, raw in new.items():
            self.words[key] = None if raw is None else IntervalWords(raw.view(np.uint32))
        reason = self._run(ready, keys, ranges)
        if reason:
            ranges.reasons.append(reason)
            self.lose(keys, ready)

    def _run(self, ready: Ready, keys: Sequence[int], ranges: Ranges) -> str:
        assert ready.origin is not None
        dispatch = ready.origin[1]
        buffers: list[tuple[IntervalWords, int, int]] = []
        for key, (first, nbytes) in zip(keys, ready.fitting.ranges, strict=True):
            words = self.words[key]
            if words is None:
                return "a buffer of which nothing is known"
            buffers.append((words, first, nbytes))
        noted: dict[int, tuple[float, float]] | None = None if ranges.names is None else {}
        try:
            lanes = self.device.info.lanes
            if run_on_intervals(dispatch, ready.params, ready.groups, buffers, noted, lanes):
                self.is_refined = True
            ranges.note(dispatch.module.source_map, noted or {})
        except OutOfReachError as error:
            return str(error)
        return ""

    def seen(self, key: int, offset: int, nbytes: int) -> Range | None:
        """Return what a read of a buffer may give."""
        words = self.words.get(key)
        if words is None or nbytes % 4:
            return None
        part = words.part(offset // 4, (offset + nbytes) // 4).floats()
        if part is None:
            return None
        return Range(part.v, part.low, part.high, self.is_refined)


@contextmanager
def on_intervals(device: Device, *, names: bool = False) -> Iterator[Ranges]:
    """Note all dispatches of a block, so that they can be computed on intervals, too.

    That tells what its reads may give, and with ``names`` what the names in its shaders may be.
    """
    kept, ranges = _BlockBuffers(device), Ranges(names={} if names else None)
    plain = device.run

    def run(ready: Ready, storages: Sequence[Storage]) -> None:
        if ready.origin is None or not ready.work:
            plain(ready, storages)
            return
        new = kept.see(storages)
        plain(ready, storages)
        ranges.later.append(partial(kept.run, ready, [*map(id, storages)], new, ranges))

    def read(storage: Storage, offset: int, nbytes: int) -> Any:
        ranges.reads += 1
        key = id(storage)
        ranges.later.append(lambda: ranges.found.append(kept.seen(key, offset, nbytes)))
        return type(device).read(device, storage, offset, nbytes)

    def upload(storage: Storage, offset: int, data: Any) -> None:
        kept.storages.pop(id(storage), None)  # which is looked at anew
        ranges.later.append(partial(kept.words.pop, id(storage), None))
        type(device).upload(device, storage, offset, data)

    with with_methods(device, run=run, read=read, upload=upload):
        yield ranges
    kept.storages.clear()
