"""Running a function with full control on arrays that stand for others: that gives its program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, device_bytes, extent
from wgsl_kernels.backends.webgpu.arrays.host_values import words_of
from wgsl_kernels.backends.webgpu.composing.text.structure import AFTER
from wgsl_kernels.backends.webgpu.control import argument_checks
from wgsl_kernels.backends.webgpu.control.choosing import configuration_of
from wgsl_kernels.backends.webgpu.control.gpu import Gpu, plain_fields
from wgsl_kernels.backends.webgpu.fusion.graph import FusionGroup
from wgsl_kernels.backends.webgpu.fusion.parts import Fused, whole
from wgsl_kernels.backends.webgpu.fusion.splice import Maps, splice
from wgsl_kernels.backends.webgpu.lowering.copying import lower_copy
from wgsl_kernels.backends.webgpu.lowering.free import lower_custom
from wgsl_kernels.backends.webgpu.programs.arguments import Argument
from wgsl_kernels.backends.webgpu.programs.dispatching import fill
from wgsl_kernels.backends.webgpu.programs.program import BindingResource, Program
from wgsl_kernels.backends.webgpu.runtime.function import (
    Check,
    Constant,
    FunctionProgram,
    FunctionResult,
    UndecidedError,
    Unfused,
)
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.structure import Kind
    from wgsl_kernels.backends.webgpu.programs.program import Dispatch
    from wgsl_kernels.backends.webgpu.runtime.launch import KernelLaunch
    from wgsl_kernels.backends.webgpu.tuning.choice import Choice
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.wgsl.syntax.places import Text


class NotSymbolicError(BaseException):  # which no function takes for an error of its own
    """A function asked for something that only a run on arrays has."""


class _Placeholder(NamedTuple):
    """What stands for a storage: a place in the program.

    Attributes:
        is_value: Whether it is one number on the host, which travels as a parameter.
        is_packed: Whether it is the contiguous copy of an input that is a view. That has its
            input's place, and layouts count in the copy.
    """

    place: BindingResource
    nbytes: int
    run: _Record
    is_value: bool = False
    is_packed: bool = False


@dataclass(eq=False)
class _Record:
    """The program so far.

    Attributes:
        copied: The inputs of which the program makes a copy where one without gaps is wanted.
        packed: Those of which a contiguous copy is used.
        viewed: Those that are used in the buffer that they are views of.
    """

    inputs: list[GpuArray | None]
    repeats: bool
    copied: Collection[int]
    checks: list[Check] = field(default_factory=list["Check"])
    constants: list[Constant] = field(default_factory=list["Constant"])
    dispatches: list[Dispatch] = field(default_factory=list["Dispatch"])
    buffers: list[Spec] = field(default_factory=list[Spec])
    packed: set[int] = field(default_factory=set[int])
    viewed: set[int] = field(default_factory=set[int])

    def use(self, arrays: Iterable[GpuArray]) -> None:
        """Note what of the inputs a dispatch or a result has."""
        for one in arrays:
            stand: Any = one.storage
            if stand is not None and stand.place.kind == "input":
                (self.packed if stand.is_packed else self.viewed).add(stand.place.number)


def lower_function(
    gpu: Gpu,
    func: Callable[[Any, Sequence[Any]], Sequence[Any]],
    arrays: Sequence[Any],
    outputs: tuple[Spec, ...],
    *,
    repeats: bool,
    copied: Collection[int] = (),
) -> FunctionProgram | None:
    """Return the program of a function for arrays of these layouts; None where it has none.

    It has one if it promises to repeat, and asks for nothing but shapes, layouts, the adapter and
    what the tuner knows; what it asked of these is in the program's configuration.

    An absent input is None, one that is several a list. ``repeats`` says whether its registration
    promises for it; the inputs in ``copied`` are copied by the program, others are found as it is
    lowered.

    Raises:
        UndecidedError: The tuner is to measure first, on arrays.
    """
    record = _Record([], repeats, copied)
    given = [
        [_input(record, each) for each in one] if isinstance(one, list) else _input(record, one)
        for one in arrays
    ]
    symbolic = SymbolicGpu(gpu, record)
    try:
        made, epilogue = symbolic.with_epilogue(func(symbolic, given))
        results = [_result(symbolic.known(one)) for one in made]
        record.use(made)
    except NotSymbolicError:
        return None
    if not record.repeats:
        return None
    both = record.packed & record.viewed
    if both:  # one place cannot stand for a view and for its copy
        copied = {*copied, *both}
        return lower_function(gpu, func, arrays, outputs, repeats=repeats, copied=copied)
    places = [one.place for one in results if one.place is not None]
    numbers = dict.fromkeys([one.number for one in places if one.kind == "buffer"])
    buffers = list(record.buffers)
    for (place, layout), spec in zip(results, outputs, strict=True):
        if place is not None and place.kind == "buffer" and layout is None and epilogue is None:
            buffers[place.number] = spec
    program = Program(
        tuple(record.dispatches),
        tuple(buffers),
        tuple(numbers),
        configuration_of(symbolic.chosen),
        frozenset(record.packed),
    )
    more = tuple(record.constants), tuple(record.checks)
    if epilogue is None:
        return FunctionProgram(program, tuple(results), *more)
    fused = splice(gpu.device, program, Maps(len(record.inputs), epilogue=epilogue, keeps=False))
    assert fused is not None
    place = BindingResource("buffer", fused.outputs[0])
    unfused = Unfused(program, epilogue)
    return FunctionProgram(fused, (FunctionResult(place, None),), *more, unfused)


def _input(record: _Record, array: Any) -> GpuArray | None:
    """Return what stands for an input of a function."""
    if array is None:
        record.inputs.append(None)
        return None
    place = BindingResource("input", len(record.inputs))
    stand: Any = None
    if array.size:
        nbytes = array.storage.nbytes if array.storage is not None else _nbytes(array)
        stand = _Placeholder(place, nbytes, record, array.is_scalar_on_host)
    found = GpuArray(array.shape, array.dtype, array.size, stand, None, array.layout)
    found.immutable = True
    record.inputs.append(found)
    return found


def _nbytes(array: GpuArray) -> int:
    return device_bytes(array.size, array.dtype)


def _result(array: GpuArray) -> FunctionResult:
    if array.size == 0:
        return FunctionResult(None, None)
    stand: Any = array.storage
    layout = array.layout
    if layout is None and stand.place.kind == "buffer" and _nbytes(array) != stand.nbytes:
        layout = (array.strides, 0)
    return FunctionResult(stand.place, layout)


class SymbolicGpu(Gpu):
    """The device, to a function that is run for its program."""

    def __init__(self, gpu: Gpu, record: _Record) -> None:
        self.__dict__.update(gpu.__dict__)  # it stands for the same device
        self._record = record
        self.chosen = {}

    def empty(self, shape: Shape, dtype: DType) -> GpuArray:
        shape, _, nbytes, _ = extent(self._kernel, shape, dtype)
        if not nbytes:
            return GpuArray(shape, dtype, 0, None, None)
        buffers = self._record.buffers
        buffers.append(Spec(shape, dtype))
        return self._at(BindingResource("buffer", len(buffers) - 1), buffers[-1])

    def full(self, shape: Shape, dtype: DType, value: complex) -> GpuArray:
        array = self.empty(shape, dtype)
        words = words_of(value, dtype, f"{self._kernel}: value")
        if array.storage is not None:
            self._record.dispatches.append(fill(self.device, _argument(array), words))
        return array

    def upload(self, values: Array, dtype: DType) -> GpuArray:
        record = self._record
        constant = self.constant(values, dtype)
        spec = constant[1]
        if not spec.size:
            return GpuArray(spec.shape, dtype, 0, None, None)
        record.constants.append(constant)
        place = BindingResource("input", len(record.inputs))
        record.inputs.append(self._at(place, spec))
        return self._at(place, spec)

    def read(self, array: GpuArray) -> NoReturn:
        raise NotSymbolicError("read")

    def check_known(self, array: GpuArray, check: Callable[[Array], None]) -> None:
        """Note a look at the values of an input, which is taken at each run."""
        stand: Any = self.known(array).storage
        if array.size and stand.place.kind == "input":
            given = self._record.inputs[stand.place.number]
            if given is not None and given.size == array.size:
                self._record.checks.append((stand.place.number, check))

    def contiguous(self, array: GpuArray) -> GpuArray:
        """Return ``array`` contiguous; an input is so from the start, anything else is copied."""
        if self.known(array).layout is None:
            return array
        if not array.size:
            return self.empty(array.shape, array.dtype)
        for n, one in enumerate(self._record.inputs):
            if one is array and n not in self._record.copied:
                spec = Spec(array.shape, array.dtype)
                found = self._at(BindingResource("input", n), spec, is_packed=True)
                found.immutable = True
                return found
        x = Argument.of(array, 0).within(self.device.largest_binding)
        if max(x.bound_bytes, x.contiguous().bound_bytes) > self.device.largest_binding:
            raise NotSymbolicError("it copies in parts")
        return self._noted(lower_copy(x, self.device), [array])

    def resident(self, array: GpuArray) -> GpuArray:
        """Return ``array`` as it will be in a buffer."""
        stand: Any = self.known(array).storage
        if not array.size or not stand.is_value:
            return array
        buffer: Any = stand._replace(is_value=False)
        found = GpuArray(array.shape, array.dtype, array.size, buffer, None, array.layout)
        found.immutable = True
        return found

    def view(self, array: GpuArray, shape: Shape, strides: Sequence[int], offset: int) -> GpuArray:
        made = super().view(self.known(array), shape, strides, offset)
        if array.size != 1 or made.size == 1:
            return made
        return super().view(self.resident(array), shape, strides, offset)

    def decide(self, choice: Choice, run: Callable[[str], object]) -> str:
        """Return the variant that is known, and note its configuration.

        Raises:
            UndecidedError: It may have to be measured.
        """
        if not self._backend.tuner.has_decided(choice):
            raise UndecidedError(self._kernel)
        return super().decide(choice, run)

    def dispatch(
        self,
        shader: str,
        arrays: Mapping[str, GpuArray],
        *,
        slots: str | Text | None = None,
        configuration: Mapping[str, bool | int] | None = None,
        params: Mapping[str, Any] | None = None,
        key: Hashable = None,
        **options: Any,
    ) -> None:
        """Note one dispatch of a shader with its own ``main``."""
        argument_checks.check_arrays(self._kernel, arrays)
        argument_checks.check_options(self._kernel, params, configuration, key, **options)
        record = self._record
        source = self._source(shader, slots, configuration)
        given = {name: self.known(one) for name, one in arrays.items()}

        def lowered() -> Program:
            largest = self.device.largest_binding
            return lower_custom(
                self._kernel,
                source,
                {name: _argument(one).within(largest) for name, one in given.items()},
                self.device,
                params=plain_fields(params or {}),
                is_whole=slots is not None,
                is_ours=self._origin.is_ours,
                first_buffer=len(record.buffers),
                **options,
            )

        program = lowered()
        if program.packed:
            names = list(given)
            for n in program.packed:
                given[names[n]] = self.contiguous(given[names[n]])
            program = lowered()
        last = program.dispatches[-1]
        for one in last.writes:
            if one.place.kind == "input":
                raise NotSymbolicError("it writes an input")
        record.use(given.values())
        record.buffers += program.buffers
        record.dispatches += [one for one in program.dispatches if 0 not in one.grid]

    def _epilogue(
        self, shader: str, arrays: Mapping[str, GpuArray], y: Spec, attrs: dict[str, Any]
    ) -> GpuArray:
        """Return a pending map, which the function's last dispatch is to have in it."""
        given = {n: one if one.op is not None else self.resident(one) for n, one in arrays.items()}
        launch = self._epilogue_launch(shader, given, y, attrs)
        inputs = list(given.values())
        shader_of = launch.shader
        assert shader_of is not None
        kind = shader_of.kind_of(inputs)
        if not y.size or kind is None:
            return self._launched(launch, [self._alone(one) for one in inputs])
        found = GpuArray(y.shape, y.dtype, y.size, None, None)
        found.op = PendingMap(kind, shader_of.fixed(inputs), launch)
        found.inputs = inputs
        return found

    def with_epilogue(self, results: Sequence[GpuArray]) -> tuple[Sequence[GpuArray], Fused | None]:
        """Return what a function's dispatches make, and the maps that follow in the last of them.

        Maps that cannot are dispatched by themselves.
        """
        if len(results) != 1 or results[0].op is None:
            return results, None
        largest = self.device.largest_binding
        found = epilogue_of(results, self._record.dispatches, largest)
        if found is None:
            return [self._alone(results[0])], None
        self._record.use(FusionGroup(results).leaves)
        return [found[0]], found[1]

    def _alone(self, array: GpuArray) -> GpuArray:
        """Return an array of the program, dispatching what makes it where that is pending."""
        if array.op is None:
            return array
        return self._launched(array.op.launch, [self._alone(one) for one in array.inputs])

    def repeats(self) -> None:
        self._record.repeats = True

    def _launched(self, launch: KernelLaunch, arrays: Sequence[GpuArray]) -> GpuArray:
        """Note what a kernel that is no shader with its own ``main`` dispatches."""
        given = [self.resident(one) for one in arrays]
        (spec,) = launch.outputs
        if not spec.size:
            return self.empty(spec.shape, spec.dtype)
        shader, name = launch.shader, None
        assert shader is not None
        program, choice = shader.lower(given, self.device)
        if choice is not None:
            name = self.decide(choice, _not_run)
            program, _ = shader.lower(given, self.device, name)
        if program.packed:
            given = [self.contiguous(one) for one in given]
            program, _ = shader.lower(given, self.device, name)
        return self._noted(program, given)

    def _noted(self, program: Program, inputs: Sequence[GpuArray]) -> GpuArray:
        """Note the dispatches of a program with one result; its inputs are those of ours."""
        record = self._record
        record.use(inputs)
        first = len(record.buffers)
        places: list[BindingResource] = [_argument(one).place for one in inputs]

        def moved(place: BindingResource) -> BindingResource:
            if place.kind == "input":
                return places[place.number]
            return (
                BindingResource("buffer", first + place.number) if place.kind == "buffer" else place
            )

        record.buffers += program.buffers
        record.dispatches += [one.moved(moved) for one in program.dispatches]
        (number,) = program.outputs
        return self._at(BindingResource("buffer", first + number), program.buffers[number])

    def _at(self, place: BindingResource, spec: Spec, *, is_packed: bool = False) -> GpuArray:
        """Return the contiguous array that is at a place of the program."""
        nbytes = device_bytes(spec.size, spec.dtype)
        stand: Any = _Placeholder(place, nbytes, self._record, is_packed=is_packed)
        return GpuArray(spec.shape, spec.dtype, spec.size, stand, None)

    def known(self, array: GpuArray) -> GpuArray:
        """Return an array of this run.

        Raises:
            ArgumentError: It is none, or one of another symbolic run.
            NotSymbolicError: It is one of a run on arrays.
        """
        if not isinstance(array, GpuArray):
            raise argument_checks.no_array(self._kernel, array)
        stand: Any = array.storage
        if array.size and not isinstance(stand, _Placeholder):
            raise NotSymbolicError("an array from elsewhere")
        if array.size and stand.run is not self._record:
            raise ArgumentError(
                f"{self._kernel}: an array was kept from another symbolic run (see Gpu.repeats); "
                "make arrays anew in each run."
            )
        return array


def _not_run(name: str) -> NoReturn:
    """Stand for the run of a variant, which no choice that is decided asks for."""
    raise AssertionError(name)


def _argument(array: GpuArray) -> Argument:
    stand: Any = array.storage
    if stand is None:
        return Argument(array.shape, array.dtype)
    return Argument(array.shape, array.dtype, array.layout, stand.place, stand.is_value)


# Maps that a function wants in the dispatch that writes what they are maps of.


class PendingMap(NamedTuple):
    """What makes a pending array of a symbolic run.

    Attributes:
        launch: What dispatches it by itself.
    """

    kind: Kind
    fixed: Mapping[str, Any]
    launch: KernelLaunch
    is_fusible: bool = False


def epilogue_of(
    results: Sequence[GpuArray], dispatches: Sequence[Dispatch], largest: int
) -> tuple[GpuArray, Fused] | None:
    """Return what a dispatch makes, and the maps of it that a result is; None where they cannot be.

    ``results`` is the pending result alone, so that nothing else holds it; a binding has at most
    ``largest`` bytes.
    """
    group = FusionGroup(results)
    given = results[0]
    while given.op is not None:
        given = given.inputs[0]
    part, stand = whole(group), _stand(given)
    takes = [one.accepts_epilogue for one in dispatches if one.writes_to(stand.place)]
    arrays = (*group.leaves, *group.nodes)
    bound = [Argument(one.shape, one.dtype, one.layout).bound_bytes for one in arrays]
    if part is None or group.foreign or takes != [True] or max(bound) > largest:
        return None
    found = Fused.of(AFTER, group, part, None, given)
    if found.plain is None:
        return None
    return given, found.within([_stand(group.leaves[~ref]).place for ref in part.leaves])


def _stand(array: GpuArray) -> Any:
    """Return what stands for an array's storage, which knows its place in the program."""
    return array.storage
