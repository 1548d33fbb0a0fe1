"""Running kernels with full control: as programs where they repeat, else by calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from wgsl_kernels.backends.webgpu.arrays.array import (
    CHECKED_BYTES,
    GpuArray,
    Tail,
    row_major,
    view_of,
)
from wgsl_kernels.backends.webgpu.devices.caches import DeviceCache
from wgsl_kernels.backends.webgpu.fusion.graph import pending
from wgsl_kernels.backends.webgpu.fusion.splice import Maps, splice, takes_epilogue
from wgsl_kernels.backends.webgpu.programs.arguments import same_buffers
from wgsl_kernels.backends.webgpu.runtime.launch import resident_inputs
from wgsl_kernels.backends.webgpu.runtime.results import check_arrays, check_results
from wgsl_kernels.backends.webgpu.runtime.runner import Loaded, bytes_of_loaded
from wgsl_kernels.engine.drivers.host_memory import too_large
from wgsl_kernels.engine.environment.errors import OutOfMemoryError
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import Layout
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.programs.program import BindingResource, Program
    from wgsl_kernels.backends.webgpu.runtime.session import Session
    from wgsl_kernels.engine.registry.registry import Kernel
    from wgsl_kernels.engine.values.host import Array


class UndecidedError(BaseException):  # which no function takes for an error of its own
    """The tuner is to be asked by a run on arrays, since it may measure."""


Check = tuple[int, "Callable[[Array], None]"]
"""The number of an input, and what looks at its values where the host has them."""
Constant = tuple["Array", Spec]


class FunctionResult(NamedTuple):
    """Where one result of a function is: in a buffer of its program or in an input.

    Attributes:
        place: The buffer or the input, None for an empty result.
        layout: Strides and offset there, None where it is contiguous.
    """

    place: BindingResource | None
    layout: Layout | None


class Lowered(NamedTuple):
    """The program of a function for inputs of certain layouts.

    Attributes:
        program: Its dispatches.
        results: Where its results are.
        constants: Values that it computed of shapes and attributes; the program's inputs behind
            the function's own, put on the device for each run.
        checks: What looks at values at each run.
    """

    program: Program
    results: tuple[FunctionResult, ...]
    constants: tuple[Constant, ...]
    checks: tuple[Check, ...]


class _LoadedFunction(NamedTuple):
    """A lowered function on a device; ``is_plain``: there is but a program with one result."""

    loaded: Loaded
    results: tuple[FunctionResult, ...]
    constants: tuple[Constant, ...]
    checks: tuple[Check, ...]
    is_plain: bool


class Promising(Protocol):
    """The device, to a function with full control."""

    has_promised: bool
    """Whether a run has promised that the function repeats."""


class FunctionLaunch:
    """Runs a function with full control, or notes that it is to be run.

    A function that repeats is run symbolically, once for each layouts of its inputs: what it
    dispatches is a program from then on. The library's own repeat unless their registration says
    that they do not; a user's repeats once it has promised so in a run. Any other function is
    called each time. A program may wait where its last dispatch makes its one result in a shader
    that writes through ``store_y``: maps of the result may then ride in that dispatch.
    """

    is_fusible = True
    cost = 1
    accepts_prologue: tuple[int, ...] = ()
    reads = 1

    def __init__(
        self,
        session: Session,
        kernel: Kernel,
        gpu: Promising,
        attrs: dict[str, Any],
        outputs: tuple[Spec, ...] | None,
        lower: Callable[[Callable[..., Any], Sequence[Any], tuple[Spec, ...]], Lowered | None],
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
        self.large = tuple([one for one in outputs or () if one.nbytes >= CHECKED_BYTES])
        self.accepts_epilogue = False
        self._lower = lower
        self._why = f"{kernel.name} takes buffers"
        self._repeats = outputs is not None and kernel.repeats
        self._asked: Device | None = None
        self._programs: DeviceCache[Any, _LoadedFunction | bool] = DeviceCache(_bytes_of_known)
        self._fused: DeviceCache[Any, Loaded | bool] = DeviceCache(bytes_of_loaded)

    def __call__(self, arrays: list[Any]) -> Sequence[Any]:
        """Return a pending array where the function may wait, else what it gives."""
        session = self.session
        if not self._repeats or session.fusion() == "never":
            return self.run_now(arrays)
        for one in self.large:
            session.check_size(one)
        device = session.open()
        if device is not self._asked:
            self._ask(device, arrays)
        if not self.accepts_epilogue:
            return self.run_now(arrays)
        assert self.outputs is not None
        spec = self.outputs[0]
        made = pending(self, arrays, spec, device, Tail())
        session.evaluator.note(made)
        return (made,)

    def run_now(self, arrays: list[Any]) -> Sequence[Any]:
        """Run the function and return its arrays, with their specs where they were not known."""
        if not self._repeats:
            return self._call(arrays)
        device = self.session.open()
        for spec in self.large:  # before anything of the function speaks of such sizes
            self.session.check_size(spec)
        given = _each(arrays)
        known = self._known_for(device, arrays, given)
        if known is None:
            return self._call(arrays)
        return self._arrays(known, given)

    def fused(
        self, device: Device, arrays: Sequence[Any], maps: Maps, leaves: list[Any]
    ) -> tuple[Loaded | None, bool]:
        """Return the function's program fused with ``maps``, and that it stays so.

        None: it has none for such arrays, or no dispatch takes them.
        """
        known = self._known_for(device, arrays, arrays)
        if known is None or not known.is_plain:
            return None, False
        if device is not self._fused.device:
            self._fused.begin(device)
        key = (known.loaded, maps.key)
        found = self._fused[key]
        if found is None:
            spliced = splice(device, known.loaded.program, maps)
            found = self._fused.keep(key, False if spliced is None else Loaded(device, spliced))
        return found if isinstance(found, Loaded) else None, True

    def run_loaded(self, loaded: Loaded, inputs: Sequence[Any]) -> list[Storage]:
        return loaded.run(resident_inputs(self.session, loaded, inputs, self._why))

    def repeat(self, device: Device, arrays: Sequence[Any]) -> Storage | None:
        """Record the program of a function that is known for such arrays; None: call it."""
        for one in arrays:
            if one is not None:
                if one.op is not None:
                    return None
                one.immutable = True
        known = self._known_for(device, arrays, arrays)
        if known is None or not known.is_plain:
            return None
        loaded = known.loaded
        given = resident_inputs(self.session, loaded, arrays, self._why)
        return loaded.make(given) if loaded.makes_one else loaded.run(given)[0]

    def layouts_key(self, device: Device, arrays: Sequence[Any]) -> Any:
        """Return what is equal where a function that repeats does the same.

        None: it does not repeat, or not all arrays are on the device.
        """
        if not self._repeats:
            return None
        for one in arrays:
            if one is not None and (one.storage is None or one.device is not device):
                return None
        return self._key(arrays)

    def retire(self) -> None:
        """Have groups forget the kernel: its registration has changed."""
        self.session.evaluator.retire(self)

    def _ask(self, device: Device, arrays: list[Any]) -> None:
        """Find out whether maps may follow in the function's last dispatch.

        That is so for any layouts if it is for one; nothing is found out while the tuner is to
        measure.
        """
        if self.outputs is None or not self.outputs[0].size or not _are_flat(arrays):
            self._asked = device
            return
        known = self._known_for(device, arrays, arrays)
        if known is None:
            return
        self._asked = device
        if not known.is_plain:
            return
        self.accepts_epilogue = takes_epilogue(known.loaded.program)

    def _key(self, arrays: Sequence[Any]) -> Any:
        """Return what tells programs apart; None while that is being measured."""
        state = self.session.tuner.state()
        if state is None:
            return None
        key: list[Any] = [state]
        for one in arrays:
            if one is None:
                key.append("absent")
            elif one.size == 1 and one.host is not None:
                key.append("value")
            else:
                key.append(one.layout)
        key.append(same_buffers(arrays))
        return tuple(key)

    def _known_for(
        self, device: Device, arrays: Sequence[Any], given: Sequence[Any]
    ) -> _LoadedFunction | None:
        """Return the program for arrays of these layouts; None where the function is to be called.

        It is run symbolically for layouts that are new.
        """
        if device is not self._programs.device:
            self._programs.begin(device)
        key = self._key(given)
        if key is None:
            return None
        found = self._programs[key]
        if found is not None:
            return None if isinstance(found, bool) else found
        assert self.outputs is not None
        try:
            lowered = self._lower(self._run, arrays, self.outputs)
        except UndecidedError:
            return None
        if lowered is None:
            self._programs.keep(key, False)
            return None
        program, results, constants, checks = lowered
        only = results[0]
        is_plain = (
            len(results) == 1
            and not constants
            and not checks
            and only.place is not None
            and only.place.kind == "buffer"
            and only.layout is None
        )
        known = _LoadedFunction(Loaded(device, program), results, constants, checks, is_plain)
        self._programs.keep(key, known)
        return known

    def _arrays(self, known: _LoadedFunction, given: Sequence[Any]) -> list[GpuArray]:
        """Run the program and return its results as arrays."""
        assert self.outputs is not None
        for one in given:
            if one is not None:
                one.immutable = True
        for number, check in known.checks:
            if given[number].host is not None:
                check(given[number].host.values)
        loaded, device = known.loaded, known.loaded.device
        constants = [self.session.upload(*one) for one in known.constants]
        resident = resident_inputs(self.session, loaded, [*given, *constants], self._why)
        if known.is_plain:
            only = self.outputs[0]
            made = loaded.make(resident) if loaded.makes_one else loaded.run(resident)[0]
            return [GpuArray(only.shape, only.dtype, only.size, made, device)]
        storages = dict(zip(loaded.program.outputs, loaded.run(resident), strict=True))
        found: list[GpuArray] = []
        for spec, (place, layout) in zip(self.outputs, known.results, strict=True):
            if place is None:
                found.append(GpuArray(spec.shape, spec.dtype, 0, None, None))
            elif place.kind == "input":
                found.append(self._alias(resident[place.number], spec, layout))
            else:
                storage = storages[place.number]
                found.append(GpuArray(spec.shape, spec.dtype, spec.size, storage, device, layout))
        return found

    def _alias(self, array: GpuArray, spec: Spec, layout: Layout | None) -> GpuArray:
        """Return a result that is a view of an input."""
        if array.op is not None:
            self.session.make_resident(array, f"{self.kernel} makes a view of it")
        strides, offset = (row_major(spec.shape), 0) if layout is None else layout
        return view_of(array, spec.shape, strides, offset)

    def _run(self, gpu: Any, arrays: Sequence[Any]) -> list[Any]:
        """Run the function, symbolically or on arrays."""
        try:
            found = self.func(gpu, *arrays, **self.keywords)
        except OutOfMemoryError:
            raise
        except MemoryError:  # of values that the function makes on the host
            raise too_large(*self.outputs or ()) from None
        several = list(found) if isinstance(found, (tuple, list)) else [found]
        check_arrays(self.kernel, several)
        if self.outputs is not None:
            check_results(self.kernel, several, self.outputs)
        return several

    def _call(self, arrays: list[Any]) -> Sequence[Any]:
        for one in _each(arrays):
            if one is not None:
                one.immutable = True
        several = self._run(self.gpu, arrays)
        for one in several:
            one.immutable = True  # a tensor holds it from now on
        if self.outputs is None:
            return [(one, Spec(one.shape, one.dtype)) for one in several]
        self._repeats = self._repeats or self.gpu.has_promised
        return several


def _bytes_of_known(known: _LoadedFunction | bool) -> int:
    if isinstance(known, bool):
        return 500
    return bytes_of_loaded(known.loaded) + sum([values.nbytes for values, _ in known.constants])


def _each(arrays: Sequence[Any]) -> list[Any]:
    """Return the arrays, those of lists one by one."""
    found: list[Any] = []
    for one in arrays:
        if isinstance(one, list):
            found += one
        else:
            found.append(one)
    return found


def _are_flat(arrays: list[Any]) -> bool:
    return all(not isinstance(one, list) and (one is None or one.size) for one in arrays)
