"""Running copies of views: what makes a contiguous array of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
from wgsl_kernels.backends.webgpu.control.gpu import Gpu
from wgsl_kernels.backends.webgpu.control.parts import copied
from wgsl_kernels.backends.webgpu.declare.sources import Sources
from wgsl_kernels.backends.webgpu.devices.caches import DeviceCache
from wgsl_kernels.backends.webgpu.lowering.copying import (
    COPY_ORIGIN,
    copy_call,
    has_own_kernel,
    lower_copy,
)
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.runtime.map import MapLaunch
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.runtime.session import Session

COPY_BYTES = 6000
"""What a copy that is kept ready takes."""


class Copier:
    """Copies views on a backend."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ready: DeviceCache[tuple[Any, ...], MapLaunch | Loaded] = DeviceCache(COPY_BYTES)
        self._gpu = Gpu(session, "Copy", COPY_ORIGIN, Sources(COPY_ORIGIN))

    def begin(self, device: Device) -> None:
        """Go on with a new device: what is ready is of the one before."""
        self._ready.begin(device)

    def copy(self, array: GpuArray) -> GpuArray:
        """Return a row-major copy of an array on the device."""
        session, spec = self._session, Spec(array.shape, array.dtype)
        device = session.open()
        key = (spec, array.layout)
        ready = self._ready[key]
        if ready is None:
            x = Argument.of(array, 0).within(device.largest_binding)
            if max(x.bound_bytes, x.contiguous().bound_bytes) > device.largest_binding:
                session.check_size(spec)
                return copied(self._gpu, array)
            made = Loaded(device, lower_copy(x, device)) if has_own_kernel(array) else None
            ready = self._ready.keep(key, made or MapLaunch(session, copy_call(spec)))
        if isinstance(ready, MapLaunch):
            return ready.run_now([array])[0]
        session.make_resident(array)
        session.check_size(spec)
        return GpuArray(spec.shape, spec.dtype, spec.size, ready.make([array]), device)
