"""Errors that kernels find in values, such as an index out of range.

A kernel writes two words, code and value, into its slot of one buffer; the next read brings the
words along and raises what the slot's owner makes of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.recorder import Bytes

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
        """How many slots were given out since the last check."""
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
        rows = words.view(np.int32).reshape(-1, 2)
        for describe, (code, value) in zip(owners, rows, strict=True):
            if code:
                return describe(int(code), int(value))
        return None
