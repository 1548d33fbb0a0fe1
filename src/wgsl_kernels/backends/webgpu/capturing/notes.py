"""Taking notes of what a thread has the device do, so that it can be replayed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wgsl_kernels.backends.webgpu.capturing.scratch import Scratch
from wgsl_kernels.engine.environment.origin import user_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.backends.webgpu.capturing.scratch import ScratchValue
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Block, Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.status import LastingStatus


Place: TypeAlias = "Block | ScratchValue"


class RecordedDispatch(NamedTuple):
    """One dispatch; ``places`` are its buffers, values in place of those that belong to the run."""

    ready: Ready
    places: tuple[Place, ...]


class Notes:
    """What one thread had a device do between ``begin`` and ``end``.

    Attributes:
        kept: Buffers from outside the scratch memory that they name, with a hold on each.
        held: The buffers allocated meanwhile that somebody held at the end, and what is in them.
        statuses: Where its dispatches report; another one where the first was full.
        why: Why they cannot be replayed; nothing more is noted once that is known.
    """

    def __init__(self, device: Device) -> None:
        self.steps: list[RecordedDispatch] = []
        self.kept: dict[Block, Storage] = {}
        self.why = ""
        self.statuses: dict[LastingStatus, None] = {}
        self.held: dict[Block, ScratchValue] = {}
        self._device = device
        self._scratch: Scratch | None = None
        self._thread = 0

    def begin(self) -> None:
        """Listen to this thread, and serve its allocations from the scratch memory."""
        device = self._device
        with device.lock:
            self._thread = threading.get_ident()
            self._scratch = Scratch(device.pool)
            device.notes = self

    def end(self) -> None:
        device = self._device
        with device.lock:
            if device.notes is self:
                device.notes = None
            if self._scratch is not None:
                self.held = self._scratch.end()
                self._scratch = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Note nothing of a block, and let its allocations be ordinary ones."""
        scratch = self._scratch
        if scratch is None:
            yield
            return
        with self._device.lock:
            self._thread = scratch.thread = 0
            try:
                yield
            finally:
                self._thread = scratch.thread = threading.get_ident()

    def refuse(self, why: str) -> None:
        """Give up for this reason; the first one stays."""
        if not self.why:
            self.why = why
            self.end()

    def listens(self) -> bool:
        return self._thread == threading.get_ident()

    def dispatched(self, ready: Ready, storages: Sequence[Storage]) -> None:
        if self._scratch is None:
            return
        values = self._scratch.values
        for one in storages:
            if one.block not in values:
                self.kept.setdefault(one.block, one)
        places = tuple([values.get(one.block, one.block) for one in storages])
        self.steps.append(RecordedDispatch(ready, places))

    def has_read(self) -> None:
        self.refuse(f"it reads values at {user_line()}")

    @property
    def current(self) -> LastingStatus:
        found = self._device.reports.lasting()
        self.statuses[found] = None
        return found

    def status_storage(self) -> Storage:
        return self.current.storage
