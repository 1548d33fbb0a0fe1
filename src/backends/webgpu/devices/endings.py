"""The end of a process: software devices finish first.

Their driver compiles and runs shaders in threads of this process. If one still does while the
library is taken down, that ends in a segmentation fault (Mesa 22.3, LLVM 15, 2026-11-22).
"""

from __future__ import annotations

import atexit
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.device import Device

PATIENCE = 5.0
"""Seconds to wait for another thread that has the device's lock."""

_devices: weakref.WeakSet[Device] = weakref.WeakSet()


def watch(device: Device) -> None:
    """Have the process wait for ``device`` before it ends."""
    _devices.add(device)


def _finish() -> None:
    for device in list(_devices):
        if device.lock.acquire(timeout=PATIENCE):
            try:
                with suppress(Exception):  # it is lost, or has an error that nobody has read
                    device.wait()
            finally:
                device.lock.release()


atexit.register(_finish)
