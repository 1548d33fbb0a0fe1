"""What captured functions keep on one device, and what they and warm-ups reach of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.devices.background import Background
    from wgsl_kernels.backends.webgpu.devices.pipeline import PipelineCache
    from wgsl_kernels.backends.webgpu.devices.pool import Block, MemoryUse, Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.recorder import Recorder
    from wgsl_kernels.backends.webgpu.devices.status import LastingStatus


class Retained(Protocol):
    """What a captured function keeps: a replay, or the buffers that it works in."""

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with its buffers in a place of their own."""

    def forget(self, block: Block) -> None:
        """Drop what names a buffer that leaves the pool."""

    def forget_device(self) -> None:
        """Drop all that is the device's: it is lost."""


class NoteTaker(Protocol):
    """Takes notes of what one thread has a device do."""

    @property
    def current(self) -> LastingStatus:
        """Where the kernels report, here and in the replays."""

    def listens(self) -> bool:
        """Say whether the calling thread is the one that is listened to."""

    def dispatched(self, ready: Ready, storages: Sequence[Storage]) -> None: ...

    def has_read(self) -> None:
        """Give up: what comes back from the device steers Python."""

    def status_storage(self) -> Storage:
        """Return the buffer of the next dispatch that reports."""


class Captures:
    """The replays and workspaces that are alive."""

    def __init__(self, recorder: Recorder, pipelines: PipelineCache) -> None:
        self.recorder = recorder
        self._pipelines = pipelines
        self.alive: WeakSet[Retained] = WeakSet()

    def compile_in(self, background: Background | None) -> None:
        """Have pipelines compiled in threads, or again as they are asked for."""
        try:
            if self.recorder.refusal is None:
                self.recorder.complete()
        finally:
            self._pipelines.background = background
            self.recorder.pipelines = background or self._pipelines.own

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with what they keep in a place of its own."""
        for one in self.alive:
            use = one.counted(use)
        return use

    def forget_device(self) -> None:
        """Have them drop all that is the device's: it is lost."""
        for one in self.alive:
            one.forget_device()

    def forget(self, block: Block) -> None:
        """Have them drop what names a buffer that leaves the pool."""
        for one in self.alive:
            one.forget(block)
