"""Running copies of views, which make contiguous arrays of them, and fills of new arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
from wgsl_kernels.backends.webgpu.control.gpu import Gpu
from wgsl_kernels.backends.webgpu.control.parts import copied
from wgsl_kernels.backends.webgpu.declare.sources import Sources
from wgsl_kernels.backends.webgpu.devices.lifetime import DeviceCache
from wgsl_kernels.backends.webgpu.lowering.copying import COPY_ORIGIN, lower_copy
from wgsl_kernels.backends.webgpu.lowering.padding import fill
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.runtime.session import Session


class Copier:
    """Copies views, and fills arrays, on a backend."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ready: DeviceCache[tuple[Any, ...], Loaded] = DeviceCache(bytes_of_loaded)
        self._gpu = Gpu(session, "Copy", COPY_ORIGIN, Sources(COPY_ORIGIN))

    def begin(self, device: Device) -> None:
        """Go on with a new device: what is ready is of the one before."""
        self._ready.begin(device)

    def copy(self, array: GpuArray) -> GpuArray:
        session, spec = self._session, Spec(array.shape, array.dtype)
        device = session.open()
        if not array.size:
            return GpuArray(spec.shape, spec.dtype, 0, None, device)
        key = (spec, array.layout, array.is_scalar_on_host)
        ready = self._ready[key]
        if ready is None:
            x = Argument.of(array, 0).within(device.largest_binding)
            if max(x.bound_bytes, x.contiguous().bound_bytes) > device.largest_binding:
                session.check_size(spec)
                return copied(self._gpu, array)
            ready = self._ready.keep(key, Loaded(device, lower_copy(x, device)))
        session.make_resident(array)
        session.check_size(spec)
        return GpuArray(spec.shape, spec.dtype, spec.size, ready.make([array]), device)

    def fill(self, array: GpuArray, words: Words) -> None:
        device = self._session.open()
        key = ("fill", array.size, array.dtype, words)
        ready = self._ready[key]
        if ready is None:
            program = Program((fill(device, Argument.of(array, 0), words),), (), ())
            ready = self._ready.keep(key, Loaded(device, program))
        ready.run([array])
