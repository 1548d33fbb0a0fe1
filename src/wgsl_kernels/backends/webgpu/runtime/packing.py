"""Running the kernel that packs bytes: deferred, so that maps before it are fused with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.lowering.packing import lower_packing, packing_call
from wgsl_kernels.backends.webgpu.programs.arguments import arguments_of
from wgsl_kernels.backends.webgpu.runtime.fusible import FusibleLaunch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.programs.choices import Lowered
    from wgsl_kernels.backends.webgpu.runtime.session import Session
    from wgsl_kernels.engine.values.spec import Spec


class PackingLaunch(FusibleLaunch):
    """Packs int32, int8 or uint8 modulo 256 as bytes; each element is read once."""

    def __init__(self, session: Session, kernel: str, y: Spec) -> None:
        """Take the name of the kernel that packs, and what it gives."""
        super().__init__(session, packing_call(kernel, y), "free")
        self.reads = 1

    def lower(self, arrays: Sequence[Any], device: Device, variant: str | None) -> Lowered:
        """Return the kernel's program."""
        return lower_packing(
            self.call, arguments_of(arrays, device.largest_binding), device, variant
        )
