"""Where dispatches of captured functions work: buffers that no tensor ever gets."""

from __future__ import annotations

import threading
from dataclasses import replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Block, MemoryUse, Pool, Storage


class ScratchValue:
    """What a buffer held from one allocation to the next; replays may hold it elsewhere."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class Reservation:
    """A buffer that a replay may work in: how large it is, and in which dispatches it is taken.

    ``place`` is the buffer, or the slot of a result; None where it is not made yet.
    """

    __slots__ = ("capacity", "place", "taken")

    def __init__(
        self, capacity: int, place: Block | int | None = None, taken: Iterable[range] = ()
    ) -> None:
        self.capacity = capacity
        self.place = place
        self.taken = list(taken)

    def is_free(self, span: range) -> bool:
        return all(span.stop <= one.start or one.stop <= span.start for one in self.taken)


class ScratchPlan(NamedTuple):
    """Where the values of a run are held, and which of these buffers are not made yet."""

    reservations: dict[ScratchValue, Reservation]
    more: list[Reservation]

    @property
    def more_bytes(self) -> int:
        return sum(reservation.capacity for reservation in self.more)


class Scratch:
    """The buffers that a thread allocates while it records.

    They come from the pool but are used again inside the run only, so that no value of the run
    lies where somebody else may write. Which one a buffer holds is known at any time.

    Attributes:
        values: What each buffer holds.
        thread: Whose allocations come from here; 0 while nobody's do.
    """

    def __init__(self, pool: Pool) -> None:
        self.values: dict[Block, ScratchValue] = {}
        self._pool = pool
        self.thread = threading.get_ident()
        self._idle: dict[int, list[int]] = {}
        pool.scratch = self

    def serves(self) -> bool:
        """Say whether an allocation of this thread belongs here."""
        return self.thread == threading.get_ident()

    def allocate(self, nbytes: int, label: str, what: str) -> Storage:
        pool = self._pool
        pool.collect()
        idle = self._idle.setdefault(pool.capacity_for(nbytes), [])
        if idle:
            block = pool.block(heappop(idle))
        else:
            block = pool.take(nbytes, label, what)
            block.free = idle
        self.values[block] = ScratchValue(nbytes)
        return pool.hold(block, nbytes)

    def end(self) -> dict[Block, ScratchValue]:
        """Leave all buffers to the pool; return those that somebody still holds, and the values."""
        pool = self._pool
        if pool.scratch is self:
            pool.scratch = None
        pool.collect()
        idle: set[int] = set()
        for numbers in self._idle.values():
            while (
                numbers
            ):  # taken from here first: an interrupt may lose a buffer, never give it twice
                number = numbers.pop()
                idle.add(number)
                block = pool.block(number)
                block.free = pool.free_list(block.capacity)
                heappush(block.free, number)
        held: dict[Block, ScratchValue] = {}
        for block, value in self.values.items():
            if block.id not in idle:
                block.free = pool.free_list(block.capacity)
                held[block] = value
        return held


class Workspace:
    """The buffers that the replays of one function write between its inputs and its outputs.

    Replays run one after the other, so those for other signatures use the same ones.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._blocks: list[Block] = []
        device.retained.add(self)

    def plan(
        self, values: Mapping[ScratchValue, range], results: Iterable[Reservation]
    ) -> ScratchPlan:
        """Return where a run could hold each value, which is used in these of its dispatches.

        That is a buffer of this workspace, or one of those for results as long as there is none in
        it yet. The largest values come first, each in the smallest buffer that has room for it, so
        that a new one is made only where all that are large enough are taken (the greedy way by
        size of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference").

        ``values`` has for each value its first dispatch and the one after its last; ``results`` are
        the buffers that the run's results will be in.
        """
        reservations = [*results, *(Reservation(block.capacity, block) for block in self._blocks)]
        found: dict[ScratchValue, Reservation] = {}
        more: list[Reservation] = []
        for value in sorted(values, key=lambda one: -one.nbytes):  # stable, so the same every time
            span = values[value]
            free = [
                one for one in reservations if one.capacity >= value.nbytes and one.is_free(span)
            ]
            if free:
                reservation = min(free, key=lambda one: one.capacity)
            else:
                reservation = Reservation(self._capacity_for(value.nbytes))
                reservations.append(reservation)
                more.append(reservation)
            reservation.taken.append(span)
            found[value] = reservation
        return ScratchPlan(found, more)

    def places_in(self, plan: ScratchPlan) -> dict[ScratchValue, Block | int]:
        """Make the buffers that a plan lacks, and return where it has each value."""
        for reservation in plan.more:
            reservation.place = block = self.device.pool.take_exactly(
                reservation.capacity, "capture"
            )
            self._blocks.append(block)
        return {
            value: reservation.place
            for value, reservation in plan.reservations.items()
            if reservation.place is not None
        }

    def _capacity_for(self, nbytes: int) -> int:
        """Return the bytes of another buffer; the first run's have no room to spare."""
        pool = self.device.pool
        return pool.capacity_for(nbytes) if self._blocks else pool.rounded(nbytes)

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with these buffers in a place of their own there."""
        sizes = [block.capacity for block in self._blocks]
        more = replace(use, captured_bytes=use.captured_bytes + sum(sizes))
        return more.without(len(sizes), 0)

    def forget(self, block: Block) -> None:
        """Hear of a buffer that leaves the pool: none of these does."""

    def forget_device(self) -> None:
        """Return the buffers to the pool: the device is lost."""
        self.__del__()

    def __del__(self) -> None:
        """Return the buffers to the pool; any thread may drop the last reference."""
        epoch = self.device.recorder.epoch
        blocks, self._blocks = self._blocks, []
        for block in blocks:
            block.nbytes = 0
            block.epoch = epoch  # replays that were not submitted yet may still write there
            block.give_back(None)
