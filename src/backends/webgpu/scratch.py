"""Where dispatches of captured functions work: buffers that no tensor ever gets."""

from __future__ import annotations

import threading
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.backends.webgpu.device import Device
    from wgsl_kernels.backends.webgpu.pool import Block, MemoryUse, Pool, Storage


class Scratch:
    """The buffers that a thread allocates while it records.

    They come from the pool but are used again inside the run only, so that the reuse, as the pool
    would have it, is a plan that replays can keep.
    """

    def __init__(self, pool: Pool) -> None:
        self.blocks: set[Block] = set()
        self._pool = pool
        self._thread = threading.get_ident()
        self._idle: dict[int, list[int]] = {}
        pool.scratch = self

    def serves(self) -> bool:
        """Say whether an allocation of this thread belongs here."""
        return self._thread == threading.get_ident()

    def allocate(self, nbytes: int, label: str, what: str) -> Storage:
        """Return a storage as the pool would."""
        pool = self._pool
        pool.collect()
        idle = self._idle.setdefault(pool.capacity_for(nbytes), [])
        if idle:
            block = pool.block(heappop(idle))
        else:
            block = pool.take(nbytes, label, what)
            block.free = idle
            self.blocks.add(block)
        return pool.hold(block, nbytes)

    def end(self) -> set[Block]:
        """Leave all buffers to the pool; return those that still hold values for somebody."""
        pool = self._pool
        if pool.scratch is self:
            pool.scratch = None
        pool.collect()
        idle = {number for numbers in self._idle.values() for number in numbers}
        held: set[Block] = set()
        for block in self.blocks:
            block.free = pool.free_list(block.capacity)
            if block.id in idle:
                heappush(block.free, block.id)
            else:
                held.add(block)
        self._idle.clear()
        return held


class Workspace:
    """The buffers that the replays of one function write between its inputs and its outputs.

    Replays run one after the other, so those for other signatures use the same ones.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._blocks: dict[int, list[Block]] = {}
        device.captures.alive.add(self)

    def places_for(self, blocks: Iterable[Block]) -> dict[Block, Block]:
        """Return a buffer of this workspace for each of these; as large, and no two the same."""
        places: dict[Block, Block] = {}
        used: dict[int, int] = {}
        for block in blocks:
            size = block.capacity
            own = self._blocks.setdefault(size, [])
            at = used[size] = used.get(size, -1) + 1
            if at == len(own):
                own.append(self.device.pool.take(size, "capture"))
            places[block] = own[at]
        return places

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with these buffers in a place of their own there."""
        sizes = [block.capacity for own in self._blocks.values() for block in own]
        more = replace(use, captured_bytes=use.captured_bytes + sum(sizes))
        return more.without(len(sizes), 0)

    def forget(self, block: Block) -> None:
        """Hear of a buffer that leaves the pool: none of these does."""

    def __del__(self) -> None:
        """Return the buffers to the pool; any thread may drop the last reference."""
        epoch = self.device.captures.recorder.epoch
        for own in self._blocks.values():
            for block in own:
                block.nbytes = 0
                block.epoch = epoch  # replays that were not submitted yet may still write there
                block.give_back(block)
