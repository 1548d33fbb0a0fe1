"""Caches of what was made for one device: they are emptied when it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.engine.environment.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.devices.device import Device

K = TypeVar("K")
V = TypeVar("V")


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
