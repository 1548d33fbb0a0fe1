"""Running a function with full control on arrays that stand for others: that gives its program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, device_bytes
from wgsl_kernels.backends.webgpu.arrays.words import words_of
from wgsl_kernels.backends.webgpu.control.gpu import Gpu
from wgsl_kernels.backends.webgpu.lowering.copying import copy_call, has_own_kernel, lower_copy
from wgsl_kernels.backends.webgpu.lowering.custom import lower_custom
from wgsl_kernels.backends.webgpu.lowering.filling import fill
from wgsl_kernels.backends.webgpu.lowering.map import lower_map
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.program import Place, Program
from wgsl_kernels.backends.webgpu.runtime.function import UndecidedError
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.backends.webgpu.tuning.choice import Choice
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.wgsl.syntax.places import Text


class NotSymbolicError(Exception):
    """A function asked for something that only a run on arrays has."""


class _Placeholder:
    """What stands for a storage: a place in the program."""

    __slots__ = ("nbytes", "place")

    def __init__(self, place: Place, nbytes: int) -> None:
        self.place = place
        self.nbytes = nbytes


@dataclass(eq=False)
class _Record:
    """The program so far."""

    inputs: list[Any]
    dispatches: list[Dispatch] = field(default_factory=list["Dispatch"])
    buffers: list[Spec] = field(default_factory=list[Spec])
    packed: set[int] = field(default_factory=set[int])
    asked: dict[str, Any] = field(default_factory=dict[str, Any])
    repeats: bool = False


def lower_function(
    gpu: Gpu,
    func: Callable[[Any, Sequence[Any]], Sequence[Any]],
    arrays: Sequence[Any],
    outputs: tuple[Spec, ...],
) -> Program | None:
    """Return the program of a function for arrays of these layouts; None where it has none.

    It has one if it promises to repeat, and asks for nothing but shapes, layouts, the adapter and
    what the tuner knows; what it asked of these is in the program's configuration.

    Args:
        gpu: The device.
        func: The function, given a device and the arrays.
        arrays: Its inputs, on the device; None where one is absent.
        outputs: What it makes.
    """
    device = gpu.device
    inputs: list[Any] = []
    for n, one in enumerate(arrays):
        if one is None:
            inputs.append(None)
            continue
        stand: Any = _Placeholder(Place("input", n), one.storage.nbytes)
        made = GpuArray(one.shape, one.dtype, one.size, stand, device, one.layout)
        made.immutable = True
        inputs.append(made)
    record = _Record(inputs)
    try:
        results = func(SymbolicGpu(gpu, record), inputs)
    except NotSymbolicError:
        return None
    numbers = [_number(one) for one in results]
    if not record.repeats or None in numbers or len(set(numbers)) != len(outputs):
        return None
    read = {b.place for d in record.dispatches for b in d.reads}
    both = any(
        Place("input", n) in read and _reads_view(record.dispatches, n) for n in record.packed
    )
    if both:
        return None
    configuration = tuple(record.asked.items())
    found = tuple([n for n in numbers if n is not None])
    buffers = list(record.buffers)
    for n, spec in zip(found, outputs, strict=True):
        buffers[n] = spec
    return Program(
        tuple(record.dispatches), tuple(buffers), found, configuration, frozenset(record.packed)
    )


def _number(result: GpuArray) -> int | None:
    """Return which buffer a result is, None where it is none or a part of one."""
    stand: Any = result.storage
    if (
        not isinstance(stand, _Placeholder)
        or stand.place.kind != "buffer"
        or result.layout is not None
    ):
        return None
    if device_bytes(result.size, result.dtype) != stand.nbytes:
        return None
    return stand.place.number


def _reads_view(dispatches: Sequence[Dispatch], number: int) -> bool:
    place = Place("input", number)
    return any(b.place == place and b.layout is not None for d in dispatches for b in d.bindings)


class SymbolicGpu(Gpu):
    """The device, to a function that is run for its program."""

    def __init__(self, gpu: Gpu, record: _Record) -> None:
        self.__dict__.update(gpu.__dict__)  # it stands for the same device
        self._record = record

    @property
    def is_software(self) -> bool:
        """Whether the adapter is the CPU."""
        found = self._record.asked["is_software"] = super().is_software
        return found

    @property
    def policy(self) -> Policy:
        """The rules that follow from what kind of adapter it is."""
        found = self._record.asked["policy"] = super().policy
        return found

    def empty(self, shape: Shape, dtype: DType) -> GpuArray:
        """Return a new buffer of the program."""
        shape, size, nbytes, _ = self.extent(shape, dtype)
        if not nbytes:
            return GpuArray(shape, dtype, 0, None, None)
        buffers = self._record.buffers
        stand: Any = _Placeholder(Place("buffer", len(buffers)), nbytes)
        buffers.append(Spec(shape, dtype))
        return GpuArray(shape, dtype, size, stand, self.device)

    def full(self, shape: Shape, dtype: DType, value: complex) -> GpuArray:
        """Return a new buffer that a dispatch fills."""
        array = self.empty(shape, dtype)
        words = words_of(value, dtype, f"{self._kernel}: value")
        if array.storage is not None:
            self._record.dispatches.append(fill(self.device, _argument(array), words))
        return array

    def upload(self, values: Array, dtype: DType) -> NoReturn:
        """Give up: a program has no values."""
        raise NotSymbolicError("upload")

    def read(self, array: GpuArray) -> NoReturn:
        """Give up: nothing has run."""
        raise NotSymbolicError("read")

    def contiguous(self, array: GpuArray) -> GpuArray:
        """Return ``array`` contiguous; an input is so from the start, anything else is copied."""
        if array.layout is None:
            return array
        for n, one in enumerate(self._record.inputs):
            if one is array:
                self._record.packed.add(n)
                nbytes = device_bytes(array.size, array.dtype)
                stand: Any = _Placeholder(Place("input", n), nbytes)
                found = GpuArray(array.shape, array.dtype, array.size, stand, self.device)
                found.immutable = True
                return found
        made = self.empty(array.shape, array.dtype)
        if array.size:
            self._copy(_argument(array).within(self.device.largest_binding), made)
        return made

    def map(
        self, shader: str, arrays: Mapping[str, GpuArray], shape: Shape, dtype: DType
    ) -> NoReturn:
        """Give up: a map is deferred by itself."""
        raise NotSymbolicError("map")

    def resident(self, array: GpuArray) -> GpuArray:
        """Return ``array``, which will be on the device."""
        return self._known(array)

    def pack(self, x: GpuArray, dtype: DType) -> NoReturn:
        """Give up: it is deferred by itself."""
        raise NotSymbolicError("pack")

    def decide(self, choice: Choice, run: Callable[[str], object], work: float) -> str:
        """Return the variant that is known, and note it.

        Raises:
            UndecidedError: It may have to be measured.
        """
        if not self._backend.tuner.has_decided(choice):
            raise UndecidedError(self._kernel)
        found = super().decide(choice, run, work)
        self._record.asked["variant"] = found
        return found

    def dispatch(
        self,
        shader: str,
        arrays: Mapping[str, GpuArray],
        *,
        slots: str | Text | None = None,
        configuration: Mapping[str, bool | int] | None = None,
        params: Mapping[str, Any] | None = None,
        groups: Sequence[int] | None = None,
        constants: Mapping[str, float] | None = None,
        windows: Mapping[str, tuple[int, int]] | None = None,
        key: Hashable = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Note one dispatch of a shader with its own ``main``."""
        if windows is not None:
            raise NotSymbolicError("it binds windows")
        record = self._record
        source = self._source(shader, slots, configuration)
        given = {name: self._known(one) for name, one in arrays.items()}
        program = self._lowered(source, given, params or {}, groups, constants, notes)
        if program.packed:
            names = list(given)
            for n in program.packed:
                given[names[n]] = self.contiguous(given[names[n]])
            program = self._lowered(source, given, params or {}, groups, constants, notes)
        last = program.dispatches[-1]
        for one in last.writes:
            if one.place.kind == "input":
                raise NotSymbolicError("it writes an input")
            if one.place.kind == "status":
                raise NotSymbolicError("it reports")
        record.buffers += program.buffers
        record.dispatches += [one for one in program.dispatches if 0 not in one.grid]

    def repeats(self) -> None:
        """Note the promise."""
        self._record.repeats = True

    def traced(self, trace: Any) -> NoReturn:
        """Give up: what is watched is a run on arrays."""
        raise NotSymbolicError("traced")

    def _formed(self, *_: Any) -> NoReturn:
        raise NotSymbolicError("a form of its own")

    def _known(self, array: GpuArray) -> GpuArray:
        if array.size and not isinstance(array.storage, _Placeholder):
            raise NotSymbolicError("an array from elsewhere")
        return array

    def _lowered(
        self,
        source: Source,
        arrays: Mapping[str, GpuArray],
        params: Mapping[str, Any],
        groups: Sequence[int] | None,
        constants: Mapping[str, float] | None,
        notes: Sequence[str],
    ) -> Program:
        largest = self.device.largest_binding
        return lower_custom(
            self._kernel,
            source,
            {name: _argument(one).within(largest) for name, one in arrays.items()},
            self.device,
            params=self.plain_fields(params),
            groups=groups,
            constants=constants,
            is_ours=self._origin.is_ours,
            first_buffer=len(self._record.buffers),
            notes=notes,
        )

    def _copy(self, x: Argument, made: GpuArray) -> None:
        """Note a copy of a view into a new buffer."""
        if max(x.bound_bytes, x.contiguous().bound_bytes) > self.device.largest_binding:
            raise NotSymbolicError("it copies in parts")
        if has_own_kernel(x):
            program = lower_copy(x, self.device)
        else:
            program = lower_map(copy_call(Spec(x.shape, x.dtype)), [x], self.device)
        stand: Any = made.storage
        for one in program.dispatches:
            bindings = [
                replace(b, place=stand.place) if b.place.kind == "buffer" else b
                for b in one.bindings
            ]
            self._record.dispatches.append(replace(one, bindings=tuple(bindings)))


def _argument(array: GpuArray) -> Argument:
    stand: Any = array.storage
    if stand is None:
        return Argument(array.shape, array.dtype)
    return Argument(array.shape, array.dtype, array.layout, stand.place)
