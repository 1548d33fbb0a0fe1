"""Device memory: whole buffers, pooled by size class, counted in a ledger.

A ``Storage`` is one array's hold on a buffer. When the last one is dropped its buffer goes back to
the pool at once: the queue runs in order, so whoever gets it next writes after every recorded read.
"""

from __future__ import annotations

import gc
import itertools
from dataclasses import dataclass, replace
from functools import partial
from heapq import heapify, heappop, heappush
from operator import setitem
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from wgsl_kernels.engine.environment.errors import OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable


SMALLEST = 16  # bytes; wgpu aborts on zero-size bindings
ALIGNMENT = 16  # bytes; array<vec4<f32>> wants whole vectors
REMEMBERED_SIZES = 4096


class Block:
    """One wgpu buffer and what is known of it.

    ``epoch`` is the batch that last used it, ``written`` the one before which the queue last wrote
    into it, ``keys`` the cached bind groups that name it, ``free`` the heap of free buffers of its
    class.
    """

    __slots__ = (
        "buffer", "capacity", "epoch", "free", "give_back", "id", "keys", "nbytes", "pool",
        "released", "written",
    )  # fmt: skip

    def __init__(
        self, pool: Pool, buffer: Any, number: int, capacity: int, free: list[int]
    ) -> None:
        self.pool = pool
        self.free = free
        self.buffer = buffer
        self.id = number
        self.capacity = capacity
        self.nbytes = 0
        self.epoch = self.written = -1
        self.keys: set[tuple[object, ...]] = set()
        self.released: object = None
        self.give_back: Callable[[object], None] = partial(setitem, pool.returned, self)


class Lender(Protocol):
    """Serves a thread's allocations in place of the pool."""

    def serves(self) -> bool:
        """Say whether an allocation of this thread belongs there."""

    def allocate(self, nbytes: int, label: str, what: str) -> Storage:
        """Return a storage as the pool would."""


class Storage:
    """A hold on one buffer of at least ``nbytes`` bytes; contents are undefined at first.

    When it goes, in whatever thread, its block is put among those that the pool takes back. No line
    of Python runs for that, as it would in ``__del__``: it is quicker, and where a line of Python
    runs an interrupt may be raised, which would be lost there.
    """

    __slots__ = ("__weakref__", "block", "nbytes")

    def __init__(self, block: Block, nbytes: int) -> None:
        self.block = block
        self.nbytes = nbytes
        block.released = ref(self, block.give_back)

    @property
    def id(self) -> int:
        """The buffer's number: small, and used again after the buffer has left the pool."""
        return self.block.id

    @property
    def capacity(self) -> int:
        return self.block.capacity


@dataclass(frozen=True)
class MemoryUse:
    """Bytes and buffers of one device."""

    num_buffers: int
    num_bytes: int
    peak_bytes: int
    held_bytes: int
    pool_buffers: int
    pool_bytes: int
    captured_bytes: int = 0

    def without(self, buffers: int, nbytes: int) -> MemoryUse:
        """Return the same, but for some live buffers that are none of the user's."""
        return replace(
            self,
            num_buffers=self.num_buffers - buffers,
            num_bytes=self.num_bytes - nbytes,
            peak_bytes=self.peak_bytes - nbytes,
        )


def size_class(nbytes: int) -> int:
    """Return the capacity for ``nbytes``: four steps an octave, so at most a quarter more.

    Up to 128 bytes the steps are 16 bytes; powers of two are classes of their own.
    """
    if nbytes <= SMALLEST:
        return SMALLEST
    step = max((nbytes - 1).bit_length() - 3, 4)
    return (((nbytes - 1) >> step) + 1) << step


class Pool:
    """The buffers of one device. The caller holds the device's lock."""

    def __init__(
        self,
        create: Callable[[int, str], Any],
        *,
        largest: int,
        limit: Callable[[], int | None],
        forget: Callable[[Block], None],
        settle: Callable[[], None],
    ) -> None:
        """Make an empty pool.

        Args:
            create: Makes a buffer of a size in bytes under a label; raises OutOfMemoryError.
            largest: Bytes of the largest buffer that the device makes.
            limit: Bytes that all buffers together may take, or None; asked at every growth.
            forget: Told of a buffer that leaves the pool.
            settle: Waits until the device has dropped the buffers that it was told to.
        """
        self.returned: dict[Block, object] = {}
        self.live_bytes = 0
        self.peak_bytes = 0
        self.held_bytes = 0
        self.scratch: Lender | None = None
        self._create = create
        self._largest = largest // ALIGNMENT * ALIGNMENT
        self._limit = limit
        self._forget = forget
        self._settle = settle
        self._blocks: dict[int, Block] = {}
        self._vacant: list[int] = []
        self._numbers = itertools.count()  # one that an interrupt loses is never given again
        self._free: dict[int, list[int]] = {}
        self._classes: dict[int, list[int]] = {}

    def allocate(self, nbytes: int, label: str = "", what: str = "") -> Storage:
        """Return a storage of ``nbytes`` bytes; ``what`` says in an error what it was for.

        Raises:
            OutOfMemoryError: It is above the largest buffer, the limit, or what the driver gives.
        """
        scratch = self.scratch
        if scratch is not None and scratch.serves():
            return scratch.allocate(nbytes, label, what)
        returned = self.returned
        while returned:  # as in collect, without the call
            block, _ = returned.popitem()
            self.live_bytes -= block.nbytes
            heappush(block.free, block.id)
        free = self._classes.get(nbytes)
        if free is None:
            free = self._class_of(nbytes)
        block = self._blocks[heappop(free)] if free else self._grow(nbytes, label, what)
        block.nbytes = nbytes
        self.live_bytes = live = self.live_bytes + nbytes
        if live > self.peak_bytes:
            self.peak_bytes = live
        return Storage(block, nbytes)

    def allocate_idle(self, nbytes: int, epoch: int, label: str = "", what: str = "") -> Storage:
        """Return a storage that batch ``epoch`` does not use, else the lowest there is.

        The host may write into it without waiting for that batch to be submitted. It never comes
        from the scratch memory of a recording, whose dispatches would write there again.
        """
        self.collect()
        free = self._class_of(nbytes)
        idle = [number for number in free if self._blocks[number].epoch != epoch]
        if not free or not idle:
            return self.hold(self.take(nbytes, label, what), nbytes)
        number = min(idle)
        free.remove(number)
        heapify(free)
        return self.hold(self._blocks[number], nbytes)

    def take(self, nbytes: int, label: str = "", what: str = "") -> Block:
        """Return a buffer for ``nbytes`` bytes that nobody holds; the caller keeps it."""
        free = self._class_of(nbytes)
        return self._blocks[heappop(free)] if free else self._grow(nbytes, label, what)

    def take_exactly(self, capacity: int, label: str = "") -> Block:
        """Return a buffer of that many bytes, a multiple of 16, and no more; else as `take`."""
        free = self.free_list(capacity)
        return self._blocks[heappop(free)] if free else self._grow(capacity, label, "", capacity)

    def hold(self, block: Block, nbytes: int) -> Storage:
        block.nbytes = nbytes
        self.live_bytes += nbytes
        self.peak_bytes = max(self.peak_bytes, self.live_bytes)
        return Storage(block, nbytes)

    def block(self, number: int) -> Block:
        return self._blocks[number]

    def free_list(self, capacity: int) -> list[int]:
        return self._free.setdefault(capacity, [])

    def collect(self) -> None:
        """Take back the buffers whose storages were dropped."""
        returned = self.returned
        while returned:
            block, _ = returned.popitem()
            self.live_bytes -= block.nbytes
            heappush(block.free, block.id)

    def trim(self) -> int:
        """Give the free buffers back to the driver; return how many bytes that was."""
        self.collect()
        before = self.held_bytes
        for free in self._free.values():
            while free:
                self._release(self._blocks[free.pop()])
        return before - self.held_bytes

    def use(self) -> MemoryUse:
        self.collect()
        free = [self._blocks[number] for numbers in self._free.values() for number in numbers]
        return MemoryUse(
            num_buffers=len(self._blocks) - len(free),
            num_bytes=self.live_bytes,
            peak_bytes=self.peak_bytes,
            held_bytes=self.held_bytes,
            pool_buffers=len(free),
            pool_bytes=sum(block.capacity for block in free),
        )

    def _class_of(self, nbytes: int) -> list[int]:
        if nbytes < 0:
            raise ValueError(f"nbytes is {nbytes}; want 0 or more")
        if len(self._classes) >= REMEMBERED_SIZES:
            self._classes.clear()
        free = self._classes[nbytes] = self._free.setdefault(self.capacity_for(nbytes), [])
        return free

    def capacity_for(self, nbytes: int) -> int:
        """Return the bytes of the buffer that ``nbytes`` bytes get."""
        capacity = size_class(nbytes)
        return capacity if capacity <= self._largest else self.rounded(nbytes)

    @staticmethod
    def rounded(nbytes: int) -> int:
        """Return the least that a buffer for ``nbytes`` bytes has."""
        return max(SMALLEST, -(-nbytes // ALIGNMENT) * ALIGNMENT)

    def _grow(self, nbytes: int, label: str, what: str, capacity: int = 0) -> Block:
        if self.rounded(nbytes) > self._largest:
            raise self._refusal(nbytes, what)
        capacity = capacity or self.capacity_for(nbytes)
        limit = self._limit()
        if limit is not None and self.held_bytes + capacity > limit:
            self._relieve()
            if self.held_bytes + capacity > limit:
                raise self._refusal(nbytes, what)
        number = heappop(self._vacant) if self._vacant else next(self._numbers)
        try:
            buffer = self._make(capacity, f"#{number} {label}".rstrip())
        except OutOfMemoryError:
            heappush(self._vacant, number)
            raise self._refusal(nbytes, what) from None
        block = Block(self, buffer, number, capacity, self.free_list(capacity))
        self._blocks[number] = block
        self.held_bytes += capacity
        return block

    def _make(self, capacity: int, label: str) -> Any:
        try:
            return self._create(capacity, label)
        except OutOfMemoryError:
            self._relieve()
            return self._create(capacity, label)

    def _relieve(self) -> None:
        gc.collect()  # arrays in reference cycles
        if self.trim():
            self._settle()

    def _release(self, block: Block) -> None:
        self._forget(block)
        del self._blocks[block.id]
        heappush(self._vacant, block.id)
        self.held_bytes -= block.capacity
        del block.give_back  # it refers to the block
        block.buffer = None  # never destroyed: the driver keeps it until recorded work is done

    def _refusal(self, nbytes: int, what: str) -> OutOfMemoryError:
        asked = f"asked for {nbytes} bytes" + (f" ({what})" if what else "")
        use = self.use()
        limit = self._limit()
        total = "" if limit is None else f", {limit} bytes in all (memory_limit)"
        return OutOfMemoryError(
            f"{asked}.\n"
            f"Held: {use.num_bytes} bytes in {use.num_buffers} buffers that take "
            f"{use.held_bytes - use.pool_bytes}, and {use.pool_bytes} bytes pooled. "
            f"Largest allowed: {self._largest} bytes a buffer (max-buffer-size){total}."
        )
