"""Memory that replays work in: buffers taken out of the pool, used over and over by one function."""

from __future__ import annotations

import threading
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.pool import Storage

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.device import Device
    from wgsl_kernels.backends.webgpu.pool import Block, MemoryUse


class Scratch:
    """The buffers that dispatches of a recorded run write, until they are given away.

    While a thread records, its allocations come from here, so that a buffer is used again inside
    the run as the pool would have it: that reuse is the plan that replays keep. What still holds
    values at the end is given back to the pool's care; the rest stays idle, for replays alone.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.thread = 0
        self.blocks: set[Block] = set()
        self._pool = device.pool
        self._idle: dict[int, list[int]] = {}
        device.captured.add(self)

    def begin(self) -> None:
        """Serve the allocations of this thread from now on."""
        self.thread = threading.get_ident()
        self._pool.scratch = self

    def end(self) -> None:
        """Serve no more."""
        if self._pool.scratch is self:
            self._pool.scratch = None

    def serves(self) -> bool:
        """Say whether an allocation of this thread belongs here."""
        return self.thread == threading.get_ident()

    def allocate(self, nbytes: int, label: str, what: str) -> Storage:
        """Return a storage as the pool would."""
        pool = self._pool
        pool.collect()
        capacity = pool.capacity_for(nbytes)
        idle = self._idle.setdefault(capacity, [])
        if idle:
            block = pool.block(heappop(idle))
        else:
            block = pool.take(nbytes, label, what)
            block.free = idle
            self.blocks.add(block)
        return pool.hold(block, nbytes)

    def adopt(self, block: Block) -> None:
        """Take a buffer that nobody holds out of the pool's care, idle."""
        idle = self._idle.setdefault(block.capacity, [])
        block.free = idle
        heappush(idle, block.id)
        self.blocks.add(block)

    def held(self) -> set[Block]:
        """Return the buffers that still hold values for somebody."""
        self._pool.collect()
        idle = {number for numbers in self._idle.values() for number in numbers}
        return {block for block in self.blocks if block.id not in idle}

    def give_away(self, block: Block) -> None:
        """Leave a held buffer to the pool, which gets it when its holder lets go."""
        self.blocks.discard(block)
        block.free = self._pool.free_list(block.capacity)

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with these buffers in a place of their own there."""
        nbytes = sum(block.capacity for block in self.blocks)
        return replace(use, captured_bytes=use.captured_bytes + nbytes).without(len(self.blocks), 0)

    def forget(self, block: Block) -> None:
        """Hear of a buffer that leaves the pool: none of these does."""

    def __del__(self) -> None:
        """Return the idle buffers to the pool; any thread may drop the last reference."""
        pool = self._pool
        for block in self.blocks:
            block.free = pool.free_list(block.capacity)
            block.nbytes = 0
            pool.returned.append(block)
