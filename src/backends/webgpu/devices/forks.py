"""A GPU device does not survive ``fork``: the child would hang, so there it raises instead."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

from wgsl_kernels.engine.errors import DeviceLostError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.device import Device

MESSAGE = "This process was forked after a GPU device was opened; it cannot use one. Use spawn."

_devices: weakref.WeakSet[Device] = weakref.WeakSet()
_opened_by: set[int] = set()


def watch(device: Device) -> None:
    """Remember ``device``, so that its copy in a forked process refuses to work."""
    _opened_by.add(os.getpid())
    _devices.add(device)


def check() -> None:
    """Raise in a process that was forked from one that had opened a device."""
    if _opened_by - {os.getpid()}:
        raise DeviceLostError(MESSAGE)


def _refuse_all() -> None:
    for device in _devices:
        device.refuse(DeviceLostError(MESSAGE))


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_refuse_all)
