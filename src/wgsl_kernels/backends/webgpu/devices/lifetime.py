"""What a device must be ready for: its loss, a fork, the process's end, what captures keep of it.

A GPU device does not survive ``fork``: the child would hang, so there it raises instead. Software
devices finish before the process ends: see `Policy.finishes_before_exit`.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import os
import weakref
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from wgsl_kernels.backends.webgpu.devices.adapters import forget_adapters
from wgsl_kernels.backends.webgpu.devices.threads import TooLong, are_at_work, in_thread
from wgsl_kernels.engine.environment.errors import DeviceLostError
from wgsl_kernels.engine.environment.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Block, MemoryUse, Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.devices.status import LastingStatus


MESSAGE = "This process was forked after a GPU device was opened; it cannot use one. Use spawn."
PATIENCE = 5.0
"""Seconds to wait, at the end, for what the device does, or for a thread that has its lock."""

K = TypeVar("K")
V = TypeVar("V")

_devices: weakref.WeakSet[Device] = weakref.WeakSet()
_opened_by: set[int] = set()


class Dependent(Protocol):
    """What holds something that was made for one device, such as a cache."""

    def forget_device(self) -> None:
        """Let go of that: the device is lost."""


class DeviceCache(Recent[K, V]):
    """A `Recent` of programs, pipelines or buffers of one device, which are useless without it.

    Attributes:
        device: Whose they are; None before there is one, and once it is lost.
    """

    __slots__ = ("device",)

    device: Device | None

    def __init__(self, nbytes: int | Callable[[V], int]) -> None:
        super().__init__(nbytes)
        self.device = None

    def begin(self, device: Device) -> None:
        """Hold values of ``device`` from now on, until it is lost."""
        self.clear()
        self.device = device
        device.dependents.add(self)

    def forget_device(self) -> None:
        """Forget everything: the device is lost."""
        self.clear()
        self.device = None


def abandon(device: Device) -> None:
    """Have everything forget a device that is lost, since there is another."""
    with device.lock:
        while device.dependents:
            device.dependents.pop().forget_device()
        for one in device.retained:
            one.forget_device()
        device.pool.trim()


def watch(device: Device) -> None:
    """Have ``device`` refuse to work in a forked process, and finish before this one ends."""
    _opened_by.add(os.getpid())
    _devices.add(device)


def watched() -> list[Device]:
    return list(_devices)


def check() -> None:
    """Raise in a process that was forked from one that had opened a device."""
    if _opened_by - {os.getpid()}:
        raise DeviceLostError(MESSAGE)


def leave_behind(device: Any) -> None:
    """Never release a wgpu device that a call of the driver may hold, nor what was made on it.

    To release it wgpu would wait for what it runs, then end the process. The next device is of
    another instance of wgpu, since all OpenGL devices of one share a context.
    """
    helpers = importlib.import_module("wgpu.backends.wgpu_native._helpers")
    helpers._the_instance = None  # type: ignore[attr-defined]  # wgpu-py has no other way to it
    forget_adapters()
    objects = gc.get_objects()
    kept = [one for one in objects if getattr(type(one), "__module__", "").startswith("wgpu.")]
    made = [one for one in kept if getattr(one, "_device", None) is device]
    everything = [device, *made]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(everything))  # also when the interpreter ends
    exit_at_once()


def exit_at_once() -> None:
    """Have the process end without the destructors of libraries that a thread may be inside of.

    A driver's compiler ends the process by a segmentation fault if its library is taken down while
    it works (Mesa 22.3, LLVM 15). Where the system has no ``on_exit``, as outside of glibc, nothing
    can be done about that.
    """
    library = ctypes.CDLL(None) if os.name == "posix" else None
    on_exit = getattr(library, "on_exit", None)
    if library is not None and on_exit is not None:
        atexit.register(library.fflush, None)
        on_exit(ctypes.cast(library._exit, ctypes.c_void_p), None)


def _refuse_all() -> None:
    for device in _devices:
        device.refuse(DeviceLostError(MESSAGE))


def _finish() -> None:
    for device in watched():
        if device.policy.finishes_before_exit and device.refusal is None:
            try:
                in_thread(device.wait, PATIENCE)
            except TooLong:
                device.give_up(DeviceLostError("The process ends."))
            except Exception:  # it is lost, or has an error that nobody has read
                continue
    if are_at_work():  # as with what took too long to compile
        exit_at_once()


atexit.register(_finish)
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_refuse_all)


class Retained(Dependent, Protocol):
    """What a captured function keeps: a replay, or the buffers that it works in."""

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with its buffers in a place of their own."""

    def forget(self, block: Block) -> None:
        """Drop what names a buffer that leaves the pool."""


class NoteTaker(Protocol):
    """Takes notes of what one thread has a device do."""

    @property
    def current(self) -> LastingStatus:
        """Where the kernels report, here and in the replays."""

    def listens(self) -> bool:
        """Say whether the calling thread is the one that is listened to."""

    def dispatched(self, ready: Ready, storages: Sequence[Storage]) -> None: ...

    def has_read(self) -> None:
        """Give up: what comes back from the device steers Python."""

    def status_storage(self) -> Storage:
        """Return the buffer of the next dispatch that reports."""
