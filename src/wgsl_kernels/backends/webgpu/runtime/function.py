"""Running kernels with full control; those of one last dispatch may wait for what follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from wgsl_kernels.backends.webgpu.arrays.array import CHECKED_BYTES, GpuArray, Tail
from wgsl_kernels.backends.webgpu.devices.caches import DeviceCache
from wgsl_kernels.backends.webgpu.fusion.graph import pending
from wgsl_kernels.backends.webgpu.fusion.splice import Maps, splice
from wgsl_kernels.backends.webgpu.programs.arguments import same_buffers
from wgsl_kernels.backends.webgpu.runtime.results import check_arrays, check_results
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.backends.webgpu.runtime.trace import Trace, with_result
from wgsl_kernels.engine.drivers.host_memory import too_large
from wgsl_kernels.engine.environment.errors import OutOfMemoryError
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.programs.program import Program
    from wgsl_kernels.backends.webgpu.runtime.session import Session
    from wgsl_kernels.engine.registry.registry import Kernel

TRIES = 3
"""Runs in which a kernel may show that it makes its result in one last dispatch."""


class UndecidedError(Exception):
    """The tuner is to be asked by a run on arrays, since it may measure."""


class Traced(Protocol):
    """The device, to a function with full control."""

    def traced(self, trace: Trace) -> Any:
        """Return the same device for one run that is watched."""


class FunctionLaunch:
    """Runs a function with full control, or notes that it is to be run.

    One that promises to repeat becomes a program once it was seen to read nothing. A function is
    deferred once it was seen to make its one result in one last dispatch of a shader that writes
    through ``store_y``: then maps of the result may ride in that dispatch. Where everything is
    fused on first use, one that promises so is deferred from the start.
    """

    is_fusible = True
    cost = 1
    accepts_prologue: tuple[int, ...] = ()
    reads = 1

    def __init__(
        self,
        session: Session,
        kernel: Kernel,
        gpu: Traced,
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
        lower: Callable[[Callable[..., Any], Sequence[Any], tuple[Spec, ...]], Program | None],
    ) -> None:
        """Take also what runs a function symbolically, and gives its program if it has one."""
        takes = kernel.takes
        self.session = session
        self.kernel = kernel.name
        self.gpu = gpu
        self.func: Callable[..., Any] = kernel.func
        self.keywords = {
            name: value for name, value in attrs.items() if takes is None or name in takes
        }
        self.outputs = outputs
        self.large: tuple[Spec, ...] = ()
        only = outputs[0] if outputs is not None and len(outputs) == 1 else None
        self.accepts_epilogue = False
        self._lower = lower
        self._promised = kernel.accepts_epilogue and only is not None and only.size > 0
        self._tries = TRIES if only is not None else 0
        self._seen_on: Device | None = None
        self._repeats = False
        self._programs: DeviceCache[Any, Loaded | bool] = DeviceCache(bytes_of_loaded)
        self._fused: DeviceCache[Any, Loaded | bool] = DeviceCache(bytes_of_loaded)

    def __call__(self, arrays: list[Any]) -> Sequence[Any]:
        """Return a pending array where the function may wait, else what it gives."""
        session = self.session
        device, fusion = session.open(), session.fusion()
        is_deferred = self.accepts_epilogue and device is self._seen_on
        if not is_deferred and fusion != "never" and self._promised and _are_flat(arrays):
            self.accepts_epilogue, self._seen_on, is_deferred = True, device, True
        if not is_deferred or fusion == "never":
            return self.run_now(arrays)
        assert self.outputs is not None
        spec = self.outputs[0]
        if spec.nbytes >= CHECKED_BYTES:
            session.check_size(spec)
        made = pending(self, arrays, spec, device, Tail())
        session.evaluator.note(made)
        return (made,)

    def run_now(self, arrays: list[Any]) -> Sequence[Any]:
        """Call the function and return its arrays, with their specs where they were not known."""
        device = self.session.open()
        loaded = self.loaded_for(device, arrays)
        if loaded is not None:
            return self._arrays(loaded, arrays)
        if self.outputs is None or (not self._tries and self._repeats):
            return self._run(arrays, self.gpu)
        spec = self.outputs[0] if self.outputs else Spec((0,), "float32")
        trace = Trace(spec)
        found = self._run(arrays, self.gpu.traced(trace))
        is_last = len(found) == 1 and trace.makes(found[0])
        trace.flush()
        self._repeats = trace.repeats and trace.is_plain
        if not self._tries:
            return found
        self._tries -= 1
        if trace.is_plain and is_last and _are_flat(arrays):
            self.accepts_epilogue = True
            self._seen_on = device
            self._tries = 0
        return found

    def fused(
        self, device: Device, arrays: Sequence[Any], maps: Maps, leaves: list[Any]
    ) -> tuple[Loaded | None, bool]:
        """Return the function's program fused with ``maps``, and that it stays so.

        None: it has none for such arrays, or no dispatch takes them; see `fuse_by_call`.
        """
        loaded = self.loaded_for(device, arrays)
        if loaded is None:
            return None, False
        return self._fused_with(device, loaded, loaded.program, maps), True

    def run_loaded(self, loaded: Loaded, inputs: Sequence[Any]) -> list[Storage]:
        """Run a program of the function."""
        return loaded.run(_given(self.session, loaded, inputs))

    def repeat(self, device: Device, arrays: Sequence[Any]) -> Storage | None:
        """Record the program of a function that is known for such arrays; None: call it."""
        loaded = self.loaded_for(device, arrays)
        if loaded is None:
            return None
        for one in arrays:
            if one is not None:
                one.immutable = True
        if loaded.makes_one and not loaded.packed:
            return loaded.make(arrays)
        return loaded.run(_given(self.session, loaded, arrays))[0]

    def loaded_for(self, device: Device, arrays: Sequence[Any]) -> Loaded | None:
        """Return the program for arrays of these layouts; None where the function is to be called.

        It is run symbolically for layouts that are new.
        """
        if not self._repeats:
            return None
        if device is not self._programs.device:
            self._programs.begin(device)
        key = self.layouts_key(device, arrays)
        if key is None:
            return None
        found = self._programs[key]
        if found is not None:
            return found if isinstance(found, Loaded) else None
        assert self.outputs is not None
        try:
            program = self._lower(self._called, arrays, self.outputs)
        except UndecidedError:
            return None
        loaded = None if program is None else Loaded(device, program)
        self._programs.keep(key, loaded or False)
        return loaded

    def layouts_key(self, device: Device, arrays: Sequence[Any]) -> Any:
        """Return what is equal where a function that repeats does the same; None if not known."""
        if not self._repeats:
            return None
        state = self.session.tuner.state()
        if state is None:
            return None
        key: list[Any] = [state]
        for one in arrays:
            if one is None:
                key.append("absent")
            elif (
                isinstance(one, list)
                or one.storage is None
                or one.device is not device
                or (one.size == 1 and one.host is not None)
            ):
                return None
            else:
                key.append(one.layout)
        key.append(same_buffers(arrays))
        return tuple(key)

    def _arrays(self, loaded: Loaded, arrays: Sequence[Any]) -> list[GpuArray]:
        assert self.outputs is not None
        for one in arrays:
            if one is not None:
                one.immutable = True
        if loaded.makes_one and not loaded.packed and self.outputs[0].size:
            only = self.outputs[0]
            return [GpuArray(only.shape, only.dtype, only.size, loaded.make(arrays), loaded.device)]
        made = loaded.run(_given(self.session, loaded, arrays))
        return [
            GpuArray(spec.shape, spec.dtype, spec.size, one if spec.size else None, loaded.device)
            for spec, one in zip(self.outputs, made, strict=True)
        ]

    def fuse_by_call(
        self, device: Device, arrays: Sequence[Any], maps: Maps, leaves: list[Any]
    ) -> list[Storage] | GpuArray:
        """Call the function, and fuse the maps into its last dispatch if that makes its result.

        The function's own result is returned instead, if it does otherwise.
        """
        assert self.outputs is not None
        trace = Trace(self.outputs[0])
        found: GpuArray = self._run(list(arrays), self.gpu.traced(trace))[0]
        self._repeats = trace.repeats and trace.is_plain
        last = trace.last
        if last is None or not trace.makes(found):
            trace.flush()
            return found
        own = Maps(len(last.arrays), (), {}, maps.epilogue, maps.keeps)
        program = with_result(last.loaded.program, last.result, self.outputs[0])
        fused = self._fused_with(device, last.loaded, program, own)
        if fused is None:
            trace.flush()
            return found
        return fused.run([*last.arrays, *leaves])

    def _fused_with(
        self, device: Device, loaded: Loaded, program: Program, maps: Maps
    ) -> Loaded | None:
        if device is not self._fused.device:
            self._fused.begin(device)
        key = (loaded, maps.key)
        found = self._fused[key]
        if found is None:
            fused = splice(device, program, maps)
            found = self._fused.keep(key, False if fused is None else Loaded(device, fused))
        return found if isinstance(found, Loaded) else None

    def retire(self) -> None:
        """Have groups forget the kernel: its registration has changed."""
        self.session.evaluator.retire(self)

    def _called(self, gpu: Any, arrays: Sequence[Any]) -> Sequence[Any]:
        return self._run(list(arrays), gpu)

    def _run(self, arrays: list[Any], gpu: Any) -> Sequence[Any]:
        for one in arrays:
            if isinstance(one, GpuArray):
                one.immutable = True
            elif one is not None:
                for each in one:
                    each.immutable = True
        try:
            found = self.func(gpu, *arrays, **self.keywords)
        except OutOfMemoryError:
            raise
        except MemoryError:  # of values that the function makes on the host
            raise too_large(*self.outputs or ()) from None
        several = list(found) if isinstance(found, (tuple, list)) else [found]
        check_arrays(self.kernel, several)
        if self.outputs is None:
            return [(one, Spec(one.shape, one.dtype)) for one in several]
        check_results(self.kernel, several, self.outputs)
        return several


def _given(session: Session, loaded: Loaded, arrays: Sequence[Any]) -> Sequence[Any]:
    """Return the inputs of a program, with copies of the views that it reads contiguous."""
    if not loaded.packed:
        return arrays
    given = [*arrays]
    for n in loaded.packed:
        given[n] = session.contiguous(given[n])
    return given


def _are_flat(arrays: list[Any]) -> bool:
    return all(not isinstance(one, list) and (one is None or one.size) for one in arrays)
