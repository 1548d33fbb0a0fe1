"""Running programs: what a device needs of one is looked up once, then only buffers change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from wgsl_kernels.backends.webgpu.arrays.array import device_bytes
from wgsl_kernels.backends.webgpu.composing.text.composed import ENDED
from wgsl_kernels.backends.webgpu.devices.pipeline import CompileFailure
from wgsl_kernels.backends.webgpu.devices.status import STATUS_BYTES
from wgsl_kernels.backends.webgpu.fusion.splice import takes_epilogue
from wgsl_kernels.backends.webgpu.tuning.tuner import WORTH, is_asked
from wgsl_kernels.engine.environment.errors import KernelFault, ShaderError
from wgsl_kernels.engine.environment.origin import call_line
from wgsl_kernels.engine.values.indices import out_of_range
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Ready
    from wgsl_kernels.backends.webgpu.fusion.splice import Maps
    from wgsl_kernels.backends.webgpu.programs.program import (
        Binding,
        BindingResource,
        Dispatch,
        Program,
        StatusReport,
    )
    from wgsl_kernels.backends.webgpu.runtime.function import FunctionProgram, Unfused
    from wgsl_kernels.backends.webgpu.tuning.choice import Choice

SPECIAL = ("zeros", "status")
"""Places that are neither inputs nor buffers of a program."""
EMPTY_BYTES = 16
"""What an empty result is bound as: what is written there must reach nobody."""


@dataclass(frozen=True, eq=False, slots=True)
class LoadedDispatch:
    """One dispatch on a device.

    Attributes:
        places: Where its bindings are: input ``n``, or buffer ``~n``.
        special: The bindings that are neither, by position.
        changes: Whether parameters or special bindings differ from run to run.
        begins: The buffers that it is the first to use.
        ends: The temporaries that it is the last to use.
        cause: Why it ends where it does, where a limit says so.
    """

    dispatch: Dispatch
    ready: Ready
    places: tuple[int, ...]
    special: tuple[tuple[int, BindingResource], ...]
    changes: bool
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    cause: str = ""


class Loaded:
    """A program on a device; its pipelines are made when it first runs.

    Attributes:
        packed: The inputs that are read contiguous.
        makes_one: Whether it is one dispatch with one result, which `make` runs.
    """

    __slots__ = (
        "_labels", "_nbytes", "_only", "_outputs", "_places", "_ready", "_steps", "_values",
        "bound", "device", "makes_one", "packed", "program", "written",
    )  # fmt: skip

    def __init__(self, device: Device, program: Program) -> None:
        """Compile nothing yet: maps may be fused into the program, and then it never runs."""
        self.device = device
        self.program = program
        self.packed = tuple(sorted(program.packed))
        self._nbytes = [device_bytes(one.size, one.dtype) or EMPTY_BYTES for one in program.buffers]
        self._labels = [f"{show(one.shape)} {one.dtype}" for one in program.buffers]
        self._outputs = program.outputs
        self.bound = tuple(
            sorted(
                {
                    binding.place.number
                    for one in program.dispatches
                    for binding in one.bindings
                    if binding.place.kind == "input"
                }
            )
        )
        self.written = tuple(
            [
                binding.place.number
                for one in program.dispatches
                for binding in one.writes
                if binding.place.kind == "input"
            ]
        )
        self.makes_one = (
            len(program.dispatches) == 1
            and program.outputs == (0,)
            and len(program.buffers) == 1
            and program.dispatches[0].params.report is None
            and not any(one.place.kind in SPECIAL for one in program.dispatches[0].bindings)
        )

    def compile(self) -> None:
        """Make the pipelines."""
        self._steps = _steps(self.device, self.program)
        self._only = self._steps[0] if self.makes_one else None
        if self._only is not None:
            self._ready = self._only.ready
            self._places = self._only.places
            self._values = self._only.dispatch.params.values

    def __getattr__(self, name: str) -> Any:
        """Compile where something is asked for that comes of it: what runs again asks no more."""
        if name not in ("_steps", "_ready", "_places", "_values"):
            raise AttributeError(name)
        self.compile()
        return getattr(self, name)

    def make(self, inputs: Sequence[Any]) -> Storage:
        """Run a program of one dispatch with one result; return that.

        The inputs that are bound are on the device, with the layouts that the program is for.
        """
        device = self.device
        ready = self._ready
        with device.lock:
            made = device.pool.allocate(self._nbytes[0], ready.pipeline.label, self._labels[0])
            storages: list[Any] = []
            for n in self._places:  # a comprehension would take twice as long
                storages.append(inputs[n].storage if n >= 0 else made)
            if self._values:
                ready = self._filled(inputs)
            device.run(ready, storages)
        return made

    def run(self, inputs: Sequence[Any]) -> list[Storage]:
        """Run the program; return its results. Inputs are as for `make`."""
        device = self.device
        buffers: list[Any] = [None] * (len(self._nbytes) + 1)  # one more for what is special
        allocate = device.pool.allocate
        with device.lock:
            for step in self._steps:
                ready = step.ready
                for n in step.begins:
                    buffers[n] = allocate(self._nbytes[n], ready.pipeline.label, self._labels[n])
                storages: list[Any] = []
                for n in step.places:
                    storages.append(inputs[n].storage if n >= 0 else buffers[~n])
                if step.changes:
                    ready = _completed(device, step, inputs, storages)
                if step.cause:
                    _run_because(device, step.cause, ready, storages)
                elif ready.work:
                    device.run(ready, storages)
                for n in step.ends:
                    buffers[n] = None
            for n in self._outputs:
                if buffers[n] is None:
                    buffers[n] = allocate(self._nbytes[n], "", self._labels[n])
        found: list[Storage] = []
        for n in self._outputs:
            found.append(buffers[n])
        return found

    def _filled(self, inputs: Sequence[GpuArray]) -> Ready:
        assert self._only is not None
        return self._ready._replace(params=_packed(self._only.dispatch, inputs, {}))


def bytes_of_loaded(loaded: Loaded | bool) -> int:
    """Return about how many bytes a program takes, without its texts; False: there is none."""
    return 500 if isinstance(loaded, bool) else 1000 + 5000 * len(loaded.program.dispatches)


def _run_because(device: Device, cause: str, ready: Ready, storages: list[Any]) -> None:
    before, device.cause = device.cause, cause
    try:
        device.run(ready, storages)
    finally:
        device.cause = before


def _completed(
    device: Device, step: LoadedDispatch, inputs: Sequence[GpuArray], storages: list[Any]
) -> Ready:
    """Return a dispatch with what changes from run to run; put in the buffers that are special."""
    params = step.dispatch.params
    for position, place in step.special:
        storages[position] = device.status_storage if place.kind == "status" else device.spare
    if params.is_fixed:
        return step.ready
    slot: dict[str, int] = {}
    if params.report is not None:
        slot["wk_status_slot"] = device.report_slot(_describe(params.report))
        for position, place in step.special:  # another buffer, where that one was full
            if place.kind == "status":
                storages[position] = device.status_storage
    return step.ready._replace(params=_packed(step.dispatch, inputs, slot))


def _packed(dispatch: Dispatch, inputs: Sequence[GpuArray], more: Mapping[str, int]) -> bytes:
    facts = {**dispatch.params.facts, **more}
    for fact, number in dispatch.params.values:
        facts[fact] = inputs[number].scalar
    return dispatch.module.composed.pack(facts)


def _describe(report: StatusReport) -> Callable[[int, int], Exception]:
    line = call_line()

    def describe(code: int, value: int) -> Exception:
        if report.ended is not None and code == ENDED:
            message = f"{report.ended.message}\nCalled at {line}."
            return KernelFault(message, findings=(report.ended,))
        shapes = dict(report.shapes)
        return out_of_range(report.kernel, report.names[code - 1], value, shapes, line)

    return describe


def _steps(device: Device, program: Program) -> list[LoadedDispatch]:
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, one in enumerate(program.dispatches):
        for binding in one.bindings:
            if binding.place.kind == "buffer":
                first.setdefault(binding.place.number, at)
                last[binding.place.number] = at
    found: list[LoadedDispatch] = []
    for at, one in enumerate(program.dispatches):
        places = [_number(binding) for binding in one.bindings]
        special = [
            (n, binding.place)
            for n, binding in enumerate(one.bindings)
            if binding.place.kind in SPECIAL
        ]
        begins = tuple([n for n, when in first.items() if when == at])
        ends = tuple([n for n, when in last.items() if when == at and n not in program.outputs])
        ready = ready_of(device, program, one)
        changes = bool(special) or not one.params.is_fixed
        cause = f"a dispatch has at most {one.cut}" if one.cut else ""
        where = tuple(places), tuple(special)
        found.append(LoadedDispatch(one, ready, *where, changes, begins, ends, cause))
    return found


def _number(binding: Binding) -> int:
    """Return where a binding is; one that is special gets a buffer of its own later."""
    if binding.place.kind == "input":
        return binding.place.number
    return ~binding.place.number if binding.place.kind == "buffer" else ~0


def ready_of(device: Device, program: Program, dispatch: Dispatch) -> Ready:
    """Return a dispatch with its pipeline and all that can be checked beforehand.

    Raises:
        ShaderError: The text does not compile; the message shows the author's line.
        ArgumentError: The device cannot run such a grid.
    """
    module = dispatch.module
    composed = module.composed
    slots = [one for one in composed.bindings if one.role != "params"]
    if composed.refusal is not None:
        raise composed.refusal
    immediates = composed.immediate_size if composed.immediate_size <= device.immediates else 0
    try:
        pipeline = device.pipeline(
            composed.with_immediates() if immediates else composed.text,
            [(one.number, one.access) for one in (slots if immediates else composed.bindings)],
            composed.kernel,
            composed.workgroup_bytes,
            workgroup_size=composed.workgroup_size,
            constants=dict(module.constants) or None,
            entry=composed.entry,
            immediates=immediates,
            is_ours=composed.is_all_ours,
        )
    except CompileFailure as failure:
        raise composed.explain(failure.message) from None
    except ShaderError as error:  # more than the device allows
        raise composed.at_start(error) from None
    ranges = tuple([binding_range(device, one) for one in dispatch.bindings])
    params = dispatch.params.data
    ready = device.ready(pipeline, ranges, params, dispatch.grid, dispatch.label)
    return ready._replace(origin=(program, dispatch))


def binding_range(device: Device, binding: Binding) -> tuple[int, int]:
    """Return the first byte and the bytes of a buffer that a binding is."""
    if binding.place.kind == "status":
        return 0, STATUS_BYTES
    if binding.place.kind == "zeros":
        return 0, min(binding.nbytes, device.spare.capacity)
    return binding.first, binding.nbytes


# What a launch keeps for the layouts of its inputs: a program, and the variants of it.


class LoadedKernel:
    """A kernel's program on a device, and those of the variants that may run in its place.

    Attributes:
        choice: The variants, the program's own among them; None where there is but one.
        function: Of a function's program what there is beside one new contiguous result.
        unfused: Where maps are in it, the program without these and they: others can follow.
    """

    __slots__ = ("choice", "function", "has_choice", "loaded", "others", "unfused")

    def __init__(
        self,
        loaded: Loaded,
        choice: Choice | None = None,
        function: FunctionProgram | None = None,
        unfused: Unfused | None = None,
    ) -> None:
        self.loaded = loaded
        self.choice = choice
        self.has_choice = choice is not None
        self.function = function
        self.unfused = unfused
        self.others: dict[str, Loaded] = {}

    def base(self, maps: Maps) -> tuple[Program, Maps]:
        """Return the program that maps are to be fused into, and all that are to be."""
        if self.unfused is None or maps.epilogue is None:
            return self.loaded.program, maps
        program, own = self.unfused
        both = own.then(maps.epilogue, keeps=maps.keeps)
        return program, replace(maps, epilogue=both, keeps=False)

    @property
    def takes_epilogue(self) -> bool:
        """Whether maps of its one result can be fused into it."""
        return takes_epilogue(self.loaded.program if self.unfused is None else self.unfused.program)

    @property
    def is_open(self) -> bool:
        """Whether the tuner is to be asked: there is a choice, and it is worth measuring."""
        return self.choice is not None and (self.choice.work >= WORTH or is_asked())


def bytes_of_entry(entry: LoadedKernel | Literal[False]) -> int:
    """Return about how many bytes an entry takes; False: there is no program."""
    if entry is False:
        return 500
    constants = () if entry.function is None else entry.function.constants
    return 1000 + bytes_of_loaded(entry.loaded) + sum([values.nbytes for values, _ in constants])
