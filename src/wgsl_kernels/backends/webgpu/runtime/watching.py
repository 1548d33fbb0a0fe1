"""Running shaders that watch themselves: every dispatch of a block, whoever asks for it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.devices.pipeline import CompileFailure
from wgsl_kernels.backends.webgpu.runtime.runner import binding_range
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.instrument.log import new_log, records_in
from wgsl_kernels.wgsl.instrument.rewrite import watch
from wgsl_kernels.wgsl.syntax.known import once_per_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.wgsl.instrument.log import LogRecord

_watched = once_per_text(watch)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a dispatch did wrong: what it noted, and the dispatch."""

    record: LogRecord
    dispatch: Dispatch


@contextmanager
def with_methods(
    device: Device, part: object = None, **methods: Callable[..., Any]
) -> Iterator[None]:
    """Have a device, or a part of it, other methods in a block, for whoever calls them there."""
    own = vars(device if part is None else part)
    with device.lock:
        before = {name: own[name] for name in methods if name in own}
        own.update(methods)
    try:
        yield
    finally:
        with device.lock:
            for name in methods:
                own.pop(name, None)
            own.update(before)


@contextmanager
def watching(device: Device) -> Iterator[list[Event]]:
    """Have all dispatches of a block watch themselves; the list has what they noted."""
    seen: list[Event] = []
    plain = device.run

    def run(ready: Ready, storages: Sequence[Storage]) -> None:
        if ready.origin is None or not ready.work:
            plain(ready, storages)
        else:
            seen.extend(watch_run(device, plain, ready, storages))

    with with_methods(device, run=run):
        yield seen


@dataclass
class Guards:
    """The memory of a block, and behind each buffer a zone that nobody may write.

    Attributes:
        storages: The buffers, each with its own bytes.
    """

    device: Device
    word: int
    storages: list[Storage] = field(default_factory=list["Storage"])

    def allocate(self, nbytes: int, label: str = "", what: str = "") -> Storage:
        """Return a new buffer with a zone behind it, both filled with the word."""
        storage = allocate_poisoned(self.device, self.word, nbytes + GUARD_BYTES, label, what)
        storage.nbytes = nbytes
        self.storages.append(storage)
        return storage

    def broken(self) -> list[tuple[int, int]]:
        """Return the bytes of each buffer whose zone was written, and where that is."""
        found: list[tuple[int, int]] = []
        for one in self.storages:
            first = -(-one.nbytes // 16) * 16  # kernels write whole groups of four
            zone = type(self.device).read(self.device, one, first, one.capacity // 4 * 4 - first)
            changed = np.flatnonzero(zone.view(np.uint32) != self.word)
            if changed.size:
                found.append((one.nbytes, first + 4 * int(changed[0])))
        return found


GUARD_BYTES = 256
"""Bytes behind a buffer that are looked at, at least."""


@contextmanager
def poisoned(device: Device, word: int) -> Iterator[Guards]:
    """Fill new memory of a block with a word, so that what nobody writes shows, and guard it."""
    guards = Guards(device, word)
    with with_methods(device, device.pool, allocate=guards.allocate):
        yield guards


def allocate_poisoned(
    device: Device, word: int, nbytes: int, label: str = "", what: str = ""
) -> Storage:
    storage = type(device.pool).allocate(device.pool, nbytes, label, what)
    device.upload(storage, 0, np.full(storage.capacity // 4, word, np.uint32))
    return storage


def watch_run(
    device: Device, plain: Callable[[Any, Any], None], ready: Ready, storages: Sequence[Storage]
) -> list[Event]:
    """Run one dispatch as a shader that watches itself, wait for it, and return what it noted.

    One that does not compile, or not with what it adds, runs as it is.
    """
    assert ready.origin is not None
    _, dispatch = ready.origin
    composed = dispatch.module.composed
    slots = [one for one in composed.bindings if one.role != "params"]
    number = max((one.number for one in composed.bindings), default=-1) + 1
    try:
        made = _watched(
            composed.source_map.composed,
            composed.entry,
            number,
            composed.workgroup_size,
            composed.workgroup_bytes,
        )
        pipeline = device.pipeline(
            made.text,
            [*((one.number, one.access) for one in composed.bindings), (number, "read_write")],
            composed.kernel,
            composed.workgroup_bytes + made.workgroup_bytes,
            workgroup_size=composed.workgroup_size,
            constants=dict(dispatch.module.constants) or None,
            entry=composed.entry,
        )
    except (CompileFailure, ShaderError):
        plain(ready, storages)
        return []
    ranges = [binding_range(device, one) for one in dispatch.bindings]
    strides = {one.name: one.stride for one in slots}
    lengths = {
        one.name: size // max(strides[one.name], 1)
        for one, (_, size) in zip(dispatch.bindings, ranges, strict=True)
    }
    words = new_log([lengths.get(name, 0) for name in made.shadowed])
    log = device.put(words, "log")
    own = device.ready(
        pipeline, (*ranges, (0, words.nbytes)), ready.params, ready.groups, ready.label
    )
    plain(own, [*storages, log])
    noted = type(device).read(device, log, 0, words.nbytes).view(np.uint32)
    return [Event(record, dispatch) for record in records_in(noted, made.sites)]
