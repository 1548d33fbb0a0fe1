"""What captured functions keep on one device, and what they and warm-ups reach of it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.capturing.replay import GpuReplay
    from wgsl_kernels.backends.webgpu.capturing.scratch import Workspace
    from wgsl_kernels.backends.webgpu.devices.background import Background
    from wgsl_kernels.backends.webgpu.devices.pipeline import PipelineCache
    from wgsl_kernels.backends.webgpu.devices.pool import Block, MemoryUse
    from wgsl_kernels.backends.webgpu.devices.recorder import Recorder


class Captures:
    """The replays and workspaces that are alive.

    Attributes:
        recorder: The device's.
        alive: All of them.
    """

    def __init__(self, recorder: Recorder, pipelines: PipelineCache) -> None:
        self.recorder = recorder
        self._pipelines = pipelines
        self.alive: WeakSet[GpuReplay | Workspace] = WeakSet()

    def compile_in(self, background: Background | None) -> None:
        """Have pipelines compiled in threads, or again as they are asked for."""
        try:
            if background is None and self.recorder.refusal is None:
                self.recorder.complete()
        finally:
            self.recorder.pipelines = self._pipelines.background = background

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with what they keep in a place of its own."""
        for one in self.alive:
            use = one.counted(use)
        return use

    def forget(self, block: Block) -> None:
        """Have them drop what names a buffer that leaves the pool."""
        for one in self.alive:
            one.forget(block)
