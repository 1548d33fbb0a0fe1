"""What running asks of the backend that it works for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.tuning.tuner import Tuner
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Spec


class Making(Protocol):
    """Makes deferred arrays."""

    def make(self, root: GpuArray, why: str) -> None:
        """Make a deferred array an ordinary one."""

    def note(self, array: GpuArray) -> None:
        """Count a deferred array of a kernel that is no map."""

    def retire(self, launch: Any) -> None:
        """Forget the groups with a launch whose registration has changed."""

    def make_deferred(self) -> None: ...


class Session(Protocol):
    """One backend."""

    @property
    def tuner(self) -> Tuner:
        """What chooses among variants."""

    @property
    def evaluator(self) -> Making:
        """What makes deferred arrays."""

    def open(self) -> Device:
        """Return the device; a new one if there is none or it was lost."""

    def fusion(self) -> str:
        """Return what `config.fusion` says here."""

    def check_size(self, spec: Spec) -> None:
        """Refuse an array beyond the device or the limit."""

    def make_resident(self, array: GpuArray, why: str = "") -> None:
        """Have the array's elements on the device."""

    def contiguous(self, array: GpuArray) -> GpuArray:
        """Return the array contiguous; a copy is remembered."""

    def copy(self, array: GpuArray) -> GpuArray:
        """Return a contiguous copy of an array on the device."""

    def upload(self, values: Array, spec: Spec) -> GpuArray: ...

    def download(self, array: GpuArray, spec: Spec) -> Array:
        """Return the values as a new array."""

    def fill(self, array: GpuArray, words: Words) -> None:
        """Record that all elements of a new array become one number."""
