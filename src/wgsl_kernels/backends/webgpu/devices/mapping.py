"""Buffers of shaders, mapped: the host reads and writes them in place, with no copy between.

A buffer that is mapped when a batch with it is submitted ends the process. So one that an interrupt
left mapped is noted before it is mapped, and unmapped before anything else is done.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.devices.native import MapBuffer, NativeCalls, Wait
    from wgsl_kernels.backends.webgpu.devices.recorder import Bytes

FEATURE = "mappable-primary-buffers"
USAGE = 1 | 2  # wgpu.BufferUsage: MAP_READ, MAP_WRITE

WRITTEN_BYTES, READ_BYTES = 16 << 10, 1 << 20
"""Bytes from which on a write and a read take less time so: to map a buffer takes 11 us, and before
one is read a copy of four bytes is waited for, with all else that was submitted."""


class HostAccess:
    """Maps the buffers of one device for a moment. The caller holds the device's lock.

    Attributes:
        left: A buffer that may be mapped, since an interrupt came; None otherwise.
    """

    def __init__(self, device: Any, calls: NativeCalls, wait: Wait) -> None:
        self._device = device
        self._calls = calls
        self._wait = wait
        self.left: Any = None

    def read(self, buffer: Any, offset: int, nbytes: int) -> Bytes:
        """Return bytes of a buffer as a new array, waiting for what was submitted with it."""
        with self._mapped(self._calls.map_for_reading, buffer, offset + nbytes) as found:
            return found[offset:].copy()

    def write(self, buffer: Any, offset: int, data: Bytes) -> None:
        """Write bytes into a buffer, waiting for what was submitted with it."""
        with self._mapped(self._calls.map_for_writing, buffer, offset + data.nbytes) as found:
            found[offset:] = data

    def settle(self) -> None:
        """Unmap what an interrupt left mapped."""
        if self.left is not None:
            self._calls.unmap(self.left)
            self.left = None

    @contextmanager
    def _mapped(self, map_buffer: MapBuffer, buffer: Any, nbytes: int) -> Iterator[Bytes]:
        self.settle()
        self.left = buffer
        mapped = map_buffer(self._device, buffer, nbytes, self._wait)
        yield np.frombuffer(mapped, np.uint8)
        self.settle()
