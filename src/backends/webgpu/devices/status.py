"""Errors that kernels find in values, such as an index out of range.

A kernel writes two words, code and value, into its slot of one buffer; the next read brings the
words along and raises what the slot's owner makes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.devices.recorder import Piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes

SLOTS = 512
SLOT_BYTES = 8
STATUS_BYTES = SLOTS * SLOT_BYTES


class Status:
    """Which slots are outstanding, and what each one's words mean.

    A code of 0 means that nothing was found; the value is a signed 32-bit number.
    """

    def __init__(self) -> None:
        self._owners: list[Callable[[int, int], Exception]] = []

    @property
    def outstanding(self) -> int:
        """How many slots are given out."""
        return len(self._owners)

    @property
    def is_full(self) -> bool:
        """Whether the words must be read before another slot can be given out."""
        return len(self._owners) == SLOTS

    def add(self, describe: Callable[[int, int], Exception]) -> int:
        """Give out a slot; ``describe`` turns its code and value into the error to raise."""
        self._owners.append(describe)
        return len(self._owners) - 1

    def settle(self, words: Bytes) -> Exception | None:
        """Take the words of all outstanding slots, forget the slots, return the first error."""
        owners, self._owners = self._owners, []
        return _first_error(owners, words)


class LastingStatus(Status):
    """A status buffer of a captured function: its slots stay with the dispatches that it replays.

    Attributes:
        storage: The buffer.
        is_due: Whether the next read will look into it.
    """

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self.storage = storage
        self.is_due = False

    def settle(self, words: Bytes) -> Exception | None:
        """Return the first error that the words of all slots tell of."""
        self.is_due = False
        return _first_error(self._owners, words)


class Reports:
    """All that the kernels of one device may report, and what the next read has to look at."""

    def __init__(self, put: Callable[[Any, str], Storage]) -> None:
        self.status = Status()
        self._put = put
        self._storage: Storage | None = None
        self._due: list[LastingStatus] = []

    @property
    def current(self) -> Status:
        """Where dispatches that run once report."""
        return self.status

    def status_storage(self) -> Storage:
        """Return the buffer of these dispatches."""
        if self._storage is None:
            self._storage = self.new_storage()
        return self._storage

    @property
    def own(self) -> list[Storage]:
        """The buffers of its own that exist."""
        return [] if self._storage is None else [self._storage]

    def new_storage(self) -> Storage:
        """Return a status buffer full of zeros."""
        return self._put(np.zeros(STATUS_BYTES, np.uint8), "status")

    def watch(self, status: LastingStatus) -> None:
        """Have the next read look into a captured function's buffer."""
        if not status.is_due:
            status.is_due = True
            self._due.append(status)

    def read(
        self,
        pieces: list[Piece],
        read: Callable[[list[Piece]], list[Bytes]],
        write: Callable[[Storage, int, Any], None],
    ) -> list[Bytes]:
        """Read ``pieces`` and the words of all slots given out; raise the first error found."""
        pending: list[tuple[Status, Storage]] = []
        if self.status.outstanding:
            pending.append((self.status, self.status_storage()))
        due, self._due = self._due, []
        pending += [(one, one.storage) for one in due]
        words = [Piece(at.block, 0, one.outstanding * SLOT_BYTES) for one, at in pending]
        if not pieces and not words:
            return []
        results = read([*pieces, *words])
        errors: list[Exception] = []
        for (status, storage), found in zip(pending, results[len(pieces) :], strict=True):
            error = status.settle(found)
            if error is not None:
                write(storage, 0, np.zeros(found.nbytes, np.uint8))
                errors.append(error)
        if errors:
            raise errors[0]
        return results[: len(pieces)]


def _first_error(owners: list[Callable[[int, int], Exception]], words: Bytes) -> Exception | None:
    rows = words.view(np.int32).reshape(-1, 2)
    for describe, (code, value) in zip(owners, rows, strict=True):
        if code:
            return describe(int(code), int(value))
    return None
