"""Caches of what was made for one device: they are emptied when it is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.engine.recent import Recent

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.device import Device

K = TypeVar("K")
V = TypeVar("V")


class DeviceCache(Recent[K, V]):
    """A `Recent` of programs, pipelines or buffers of one device, which are useless without it.

    Attributes:
        device: Whose they are; None before there is one, and once it is lost.
    """

    __slots__ = ("__weakref__", "device")
    __hash__ = object.__hash__  # type: ignore[assignment]  # devices know them by identity

    device: Device | None

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.device = None

    def __eq__(self, other: object) -> bool:
        """Say whether this is the same cache."""
        return self is other

    def begin(self, device: Device) -> None:
        """Hold values of ``device`` from now on, until it is lost."""
        self.clear()
        self.device = device
        device.dependents.add(self)

    def forget_device(self) -> None:
        """Forget everything: the device is lost."""
        self.clear()
        self.device = None
