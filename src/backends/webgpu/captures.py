"""What captured functions keep on one device, and the way their dispatches go."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.pool import Block, MemoryUse
    from wgsl_kernels.backends.webgpu.recorder import Recorder
    from wgsl_kernels.backends.webgpu.replay import GpuReplay
    from wgsl_kernels.backends.webgpu.scratch import Workspace


class Captures:
    """The replays and workspaces that are alive.

    Attributes:
        recorder: The device's; replays put their parameters there.
        alive: All of them.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.alive: WeakSet[GpuReplay | Workspace] = WeakSet()

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with what they keep in a place of its own."""
        for one in self.alive:
            use = one.counted(use)
        return use

    def forget(self, block: Block) -> None:
        """Have them drop what names a buffer that leaves the pool."""
        for one in self.alive:
            one.forget(block)
