"""The WebGPU backend: uploads, downloads and launches on one device, and gets a new one if lost."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from sys import is_finalizing
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.webgpu.arrays.array import (
    CHECKED_BYTES,
    ITEMSIZE,
    GpuArray,
    device_bytes,
    layout_of,
    row_major,
    to_device_values,
    to_host_values,
)
from wgsl_kernels.backends.webgpu.arrays.host_values import (
    HostValues,
    PackedValues,
    ViewedValues,
    host_bytes,
)
from wgsl_kernels.backends.webgpu.capturing.recording import GpuRecording
from wgsl_kernels.backends.webgpu.control.gpu import Gpu
from wgsl_kernels.backends.webgpu.control.parts import copied
from wgsl_kernels.backends.webgpu.control.symbolic import lower_function
from wgsl_kernels.backends.webgpu.declare.kernel import ShaderKernel
from wgsl_kernels.backends.webgpu.declare.sources import Sources, sources_of
from wgsl_kernels.backends.webgpu.devices.compiling import Background
from wgsl_kernels.backends.webgpu.devices.device import Device
from wgsl_kernels.backends.webgpu.devices.lifetime import DeviceCache, abandon
from wgsl_kernels.backends.webgpu.devices.threads import python_ends
from wgsl_kernels.backends.webgpu.lowering.copying import COPY_ORIGIN, lower_copy
from wgsl_kernels.backends.webgpu.lowering.fit import fitting_call
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.dispatching import fill
from wgsl_kernels.backends.webgpu.programs.program import Program
from wgsl_kernels.backends.webgpu.runtime.debugging import Debugging
from wgsl_kernels.backends.webgpu.runtime.evaluator import Evaluator
from wgsl_kernels.backends.webgpu.runtime.function import FunctionCall
from wgsl_kernels.backends.webgpu.runtime.launch import KernelLaunch
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.backends.webgpu.runtime.shader import ShaderLowering
from wgsl_kernels.backends.webgpu.runtime.small import host_kernel
from wgsl_kernels.backends.webgpu.tuning.tuner import Tuner
from wgsl_kernels.engine.drivers.driver import Usage
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.context import current
from wgsl_kernels.engine.environment.errors import ArgumentError, DeviceLostError, OutOfMemoryError
from wgsl_kernels.engine.values.dtypes import DType, numpy_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from wgsl_kernels.backends.webgpu.arrays.array import Layout
    from wgsl_kernels.backends.webgpu.arrays.host_values import Words
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Session
    from wgsl_kernels.engine.drivers.driver import Noted
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.values.host import Array


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


class WebGpuBackend:
    """Runs WGSL kernels through wgpu."""

    name = "webgpu"
    counts_host_values = True
    """Whether values that no device has yet are counted here: one backend of a process does."""

    def __init__(self) -> None:
        self._device: Device | None = None
        self._copier = Copier(self)
        self.evaluator = Evaluator(self)
        self.tuner = Tuner(self.open)
        self._debugging = Debugging(self.evaluator)
        self.note_results = self._debugging.note  # under config.debug, which looks at dispatches
        self.open()

    def fusion(self) -> str:
        own = current().config
        said: str = own["fusion"] if own and "fusion" in own else config.process["fusion"]
        return said

    def open(self) -> Device:
        """Return the device; a new one if there is none or it was lost."""
        device = self._device
        if device is None or device.recorder.refusal is not None:
            lost, self._device = device, self.new_device(self._memory_limit)
            device = self._device
            if lost is not None:
                abandon(lost)
            self._copier.begin(device)
            self._debugging.attach(device)
        return device

    def new_device(self, memory_limit: Callable[[], int | None]) -> Device:
        return Device(memory_limit=memory_limit)

    @property
    def recorded(self) -> int:
        return self.open().recorded

    def _memory_limit(self) -> int | None:
        limit = config.memory_limit
        if limit != "auto":
            return limit if isinstance(limit, int) else None
        device = self._device
        return None if device is None else device.policy.memory_limit

    def supports(self, dtype: DType) -> bool:
        """Say whether buffers can hold ``dtype`` here."""
        if dtype == "float16":
            return "shader-f16" in self.open().features
        return dtype in ITEMSIZE

    def serves(self, kernel: Kernel, dtype: DType) -> bool:
        """Say whether the written types of a shader take a first input of ``dtype``."""
        return not isinstance(kernel.func, ShaderKernel) or dtype in kernel.func.served

    def upload(self, values: Array, spec: Spec) -> GpuArray:
        """Return an array of host values; a device gets them when a kernel first reads them."""
        size = spec.size
        if spec.nbytes >= CHECKED_BYTES:
            self.check_size(spec)
        host = HostValues(values) if size else None
        return GpuArray(spec.shape, spec.dtype, size, None, None, host=host)

    def upload_now(self, values: Array, spec: Spec) -> GpuArray:
        """Return an array on the device with a copy of host values, which are the caller's."""
        if not spec.size:
            return self.upload(values, spec)
        if spec.nbytes >= CHECKED_BYTES:
            self.check_size(spec)
        device = self.open()
        what = f"{show(spec.shape)} {spec.dtype}"
        storage = device.put(to_device_values(values, spec.dtype), "upload", what)
        return GpuArray(spec.shape, spec.dtype, spec.size, storage, device)

    def check_size(self, spec: Spec) -> None:
        """Refuse an array beyond the device or the limit; the words count host bytes, as on cpu."""
        nbytes = device_bytes(spec.size, spec.dtype)
        if nbytes < 1 << 20:
            return
        device = self.open()
        limit, largest = self._memory_limit(), device.limits["max-buffer-size"]
        most = device.pool.held_bytes + sum(list(host_bytes.values()))  # quicker than to count
        if nbytes <= largest and (limit is None or most + nbytes <= limit):
            return
        held = self.memory().num_bytes
        if nbytes > largest or (limit is not None and held + nbytes > limit):
            raise OutOfMemoryError(
                f"asked for {spec.nbytes} bytes ({show(spec.shape)} {spec.dtype}).\n"
                f"Backend 'webgpu' holds {held} bytes; one buffer has at most {largest} "
                f"(max-buffer-size), all together {'any number' if limit is None else limit} "
                "(config.memory_limit)."
            )

    def make_resident(self, array: GpuArray, why: str = "") -> None:
        """Have the array's elements on the device; ``why`` explains it where it was pending.

        Raises:
            DeviceLostError: They were on a device that is lost, and the host has no copy.
        """
        if array.op is not None:
            self.evaluator.make(array, why or "its buffer is needed")
        device = self.open()
        if array.size == 0 or (array.storage is not None and array.device is device):
            return
        filling = array.filling
        if filling is None and array.device is None:
            raise ArgumentError(
                f"{why or 'a kernel'}: one is of a symbolic run of a function (see Gpu.repeats), "
                "kept beyond it; make arrays anew in each run."
            )
        if filling is None:
            raise DeviceLostError(
                f"tensor of shape {show(array.shape)} and dtype {array.dtype} was lost with the "
                "device; only tensors made from host values, and views of them, come back. Compute "
                "it again; variables come back from a file of wk.save, by wk.load(path, into=...)."
            )
        storage = filling.storage_on(device)
        if storage is None:
            what = f"{show(array.shape)} {array.dtype}"
            storage = device.put(to_device_values(filling.values, array.dtype), "upload", what)
            filling.fills(storage, device)
        array.storage = storage
        array.device = device
        if isinstance(filling, HostValues):
            filling.mark_uploaded()

    def contiguous(self, array: GpuArray) -> GpuArray:
        """Return the array row-major from its storage's beginning; a copy is remembered."""
        if array.layout is None:
            return array
        packed = array.packed
        if packed is not None and (packed.device is self._device or packed.storage is None):
            return packed
        if array.size == 0:
            return GpuArray(array.shape, array.dtype, 0, None, None)
        if array.storage is None and array.host is not None:
            values = HostValues(np.array(array.host.values, order="C"))
            array.packed = GpuArray(array.shape, array.dtype, array.size, None, None, host=values)
            return array.packed
        array.packed = self.copy(array)
        array.packed.immutable = array.immutable
        if array.source is not None:
            array.packed.source = PackedValues(
                ViewedValues(array.source, array.shape, array.strides, array.offset)
            )
        return array.packed

    def copy(self, array: GpuArray) -> GpuArray:
        return self._copier.copy(array)

    def fill(self, array: GpuArray, words: Words) -> None:
        """Record that all elements of a new array become one number."""
        if array.storage is not None:
            self._copier.fill(array, words)

    def download(self, array: GpuArray, spec: Spec) -> Array:
        """Return the values as a new array, waiting for the work that computes them."""
        if array.size == 0:
            if self._device is not None and self._device.recorder.refusal is None:
                self._device.read(self._device.spare, 0, 0)  # raises what kernels have reported
            return np.zeros(spec.shape, numpy_dtype(spec.dtype))
        if array.host is not None:
            return np.array(array.host.values.reshape(spec.shape), order="C")
        if is_finalizing():
            raise python_ends()
        device = self.open()
        if array.op is not None or array.device is not device:
            self.make_resident(array, "it is read")
        if array.layout is not None and array.layout[0] != row_major(array.shape):
            array = self.contiguous(array)
        assert array.storage is not None
        start = array.offset * ITEMSIZE[array.dtype]
        raw = device.read(array.storage, start, array.size * ITEMSIZE[array.dtype])
        return to_host_values(raw, spec)

    def known(self, array: GpuArray) -> Array | None:
        """Return the values where the host has them; they are never written."""
        return None if array.host is None else array.host.values

    def prepare(
        self,
        kernel: Kernel,
        inputs: list[Any],
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
        output_names: tuple[str, ...],
    ) -> KernelLaunch:
        """Return a launch: of programs for a shader, of calls and programs for a function."""

        def prepare() -> ShaderLowering | FunctionCall:
            if not isinstance(kernel.func, ShaderKernel):
                gpu = Gpu(self, kernel.name, kernel.origin, sources_of(kernel))
                lower = partial(lower_function, gpu, repeats=kernel.repeats)
                return FunctionCall(kernel, gpu, attrs, outputs, lower)
            shader: ShaderKernel = kernel.func
            if outputs is None:
                raise ArgumentError(
                    f"{kernel.name}: its output shape is known only after the run; a shader alone "
                    "cannot serve that. Register a function with full control."
                )
            return ShaderLowering(*fitting_call(shader, inputs, attrs, outputs, output_names))

        host = host_kernel(kernel, inputs, attrs, outputs)
        return KernelLaunch(self, kernel.name, prepare, outputs, host)

    def memory(self) -> Usage:
        """Return live buffers and bytes, host values not yet uploaded included."""
        pending = list(host_bytes.values()) if self.counts_host_values else []
        if self._device is None or self._device.refusal is not None:
            return Usage(len(pending), sum(pending))
        use = self._device.memory()
        return Usage(
            num_buffers=use.num_buffers + len(pending),
            num_bytes=use.num_bytes + sum(pending),
            pool_bytes=use.pool_bytes,
            captured_bytes=use.captured_bytes,
        )

    @contextmanager
    def compiling(self, threads: int, notify: Callable[[int, int], None]) -> Iterator[Background]:
        """Compile pipelines in threads for a block; ``notify(done, asked)`` is called with each."""
        device = self.open()
        background = Background(threads, notify)
        device.compile_in(background)
        try:
            yield background
        finally:
            device.compile_in(None)

    def tuning(self) -> AbstractContextManager[None]:
        return self.tuner.tuning()

    def choices(self) -> dict[str, Any]:
        return self.tuner.choices()

    def load_choices(self, choices: Mapping[str, Any]) -> None:
        self.tuner.load_choices(choices)

    def record(self, scratch: Any = None) -> GpuRecording:
        return GpuRecording(self, scratch)

    def layout_key(self, array: GpuArray) -> Layout | None:
        """Return what a recording needs to know of an array's layout: see `layout_of`."""
        return None if array.layout is None else layout_of(array)[0]

    def submit(self) -> None:
        self.open().flush()

    def evaluate(self, arrays: list[Any]) -> None:
        """Make what is pending of ``arrays`` and hand over what is recorded."""
        if is_finalizing():
            raise python_ends()
        device = None
        for one in arrays:
            if one.op is not None:
                self.evaluator.make(one, "it is evaluated")
                device = self._device
        (device or self.open()).flush()

    def wait(self) -> None:
        self.open().wait()

    def profile(self, on: bool) -> None:
        """Begin or end noting dispatches, with their times where the device can tell."""
        device = self.open()
        device.profile(on)
        if on:
            device.reset_peak()

    @property
    def peak_bytes(self) -> int:
        """The most bytes that live buffers had since `profile` began."""
        return self.open().memory().peak_bytes

    def take_timings(self) -> list[Noted]:
        """Return kernels, cause, milliseconds and program of each dispatch since `profile` began.

        The last is the program, and which of its dispatches it was.
        """
        noted = self.open().take_timings()
        return [(one.kernels, one.cause, one.milliseconds, one.origin) for one in noted]

    def trim(self) -> int:
        return 0 if self._device is None else self._device.trim()

    def close(self) -> None:
        if self._device is not None:
            self._device.close()
            self._device = None
