"""Errors that kernels find in values, such as an index out of range.

A kernel writes two words, code and value, into its slot of one buffer; the next read brings the
words along and raises what the slot's owner makes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

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
        return len(self._owners)

    @property
    def is_full(self) -> bool:
        """Whether the words must be read before another slot can be given out."""
        return len(self._owners) == SLOTS

    def add(self, describe: Callable[[int, int], Exception]) -> int:
        """Give out a slot; ``describe`` turns its code and value into the error to raise."""
        self._owners.append(describe)
        return len(self._owners) - 1

    def error_in(self, words: Bytes) -> Exception | None:
        """Return the first error that the words of all outstanding slots tell of."""
        rows = words.view(np.int32).reshape(-1, 2)
        found = np.flatnonzero(rows[:, 0])
        if not found.size:
            return None
        at = int(found[0])
        return self._owners[at](int(rows[at, 0]), int(rows[at, 1]))

    def forget(self) -> None:
        """Hear that all words were looked at."""
        self._owners = []


class LastingStatus(Status):
    """A status buffer of captured functions: its slots stay with the replayed dispatches.

    Recordings share it, one after the other, until it is full. So a run that is recorded and
    dropped, as in every call of ``scan``, takes slots alone until somebody waits, and no buffer.
    """

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self.storage = storage

    def forget(self) -> None:
        """Keep the slots: the next replay reports there again."""


class Reports:
    """All that the kernels of one device may report, and what the next read has to look at."""

    def __init__(self, put: Callable[[Any, str], Storage]) -> None:
        self.status = Status()
        self._put = put
        self._storage: Storage | None = None
        self._lasting: LastingStatus | None = None
        self._all_lasting: WeakSet[LastingStatus] = WeakSet()
        self._due: dict[LastingStatus, None] = {}
        self._error: Exception | None = None

    @property
    def current(self) -> Status:
        return self.status

    def status_storage(self) -> Storage:
        if self._storage is None:
            self._storage = self._new_storage()
        return self._storage

    def lasting(self) -> LastingStatus:
        """Return the status of what is being recorded, and have the next read look into it."""
        if self._lasting is None:
            self._lasting = LastingStatus(self._new_storage())
            self._all_lasting.add(self._lasting)
        self.watch(self._lasting)
        return self._lasting

    @property
    def own(self) -> list[Storage]:
        """The buffers that are none of the user's."""
        lasting = [one.storage for one in self._all_lasting]
        return lasting if self._storage is None else [self._storage, *lasting]

    def _new_storage(self) -> Storage:
        return self._put(np.zeros(STATUS_BYTES, np.uint8), "status")

    def watch(self, status: LastingStatus) -> None:
        """Have the next read look into the buffer of captured functions."""
        self._due[status] = None

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
        pending += [(one, one.storage) for one in self._due]
        words = [Piece(at.block, 0, one.outstanding * SLOT_BYTES) for one, at in pending]
        if not pieces and not words:
            return []
        results = read([*pieces, *words])
        for (status, storage), found in zip(pending, results[len(pieces) :], strict=True):
            error = status.error_in(found)
            if error is not None:  # kept before it is cleared, so that no interrupt loses it
                self._error = self._error or error
                write(storage, 0, np.zeros(found.nbytes, np.uint8))
            status.forget()
        self._due.clear()
        if self._lasting is not None and self._lasting.is_full:
            self._lasting = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return results[: len(pieces)]
