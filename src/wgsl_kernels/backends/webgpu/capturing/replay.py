"""Replaying recorded dispatches on other buffers: nothing is composed or packed again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.backends.webgpu.arrays.array import (
    CHECKED_BYTES,
    ITEMSIZE,
    GpuArray,
    layout_of,
    row_major,
    stretch,
)
from wgsl_kernels.backends.webgpu.devices.pipeline import GROUP_BYTES
from wgsl_kernels.backends.webgpu.programs.program import BindingResource, ParamBlock, Program
from wgsl_kernels.engine.drivers.driver import OtherLayoutError
from wgsl_kernels.engine.environment.recent import Recent
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import Layout
    from wgsl_kernels.backends.webgpu.capturing.notes import RecordedDispatch
    from wgsl_kernels.backends.webgpu.capturing.scratch import Workspace
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pipeline import BindGroup, Ranges
    from wgsl_kernels.backends.webgpu.devices.pool import Block, MemoryUse, Storage
    from wgsl_kernels.backends.webgpu.devices.ready import Origin, Ready
    from wgsl_kernels.backends.webgpu.devices.recorder import Dispatch as DeviceDispatch
    from wgsl_kernels.backends.webgpu.devices.status import LastingStatus
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Session
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape


STEP_BYTES = 9000
"""What one dispatch of a recording takes on the host, with its part of the program."""


def _bytes_of_variant(dispatches: list[DeviceDispatch]) -> int:
    return 300 + 150 * len(dispatches)


class Output(NamedTuple):
    """One output array: a constant, or a view of the buffer in a slot."""

    slot: int
    shape: Shape
    dtype: DType
    size: int
    layout: Layout | None
    constant: GpuArray | None = None


class Slot(NamedTuple):
    """A new buffer that each run needs, and what it is for."""

    nbytes: int
    spec: Spec


class ReplayedDispatch:
    """One dispatch: what stays, and which of its buffers differ from run to run.

    Attributes:
        blocks: Its buffers; those at positions in ``open`` are replaced.
        open: (position, slot) of each buffer that differs.
    """

    __slots__ = ("blocks", "offset", "open", "ready")

    def __init__(self, ready: Ready, places: Sequence[Block | int], at: Any) -> None:
        self.ready = ready
        self.offset = at
        self.blocks: list[Any] = list(places)
        self.open = tuple(
            (index, place) for index, place in enumerate(places) if isinstance(place, int)
        )

    def ranges(self, starts: Sequence[int]) -> Ranges:
        """Return what is bound of the buffers, where slots begin at these bytes."""
        ranges = self.ready.fitting.ranges
        if not any(starts):
            return ranges
        found = list(ranges)
        for place, slot in self.open:
            if slot < len(starts):
                first, nbytes = ranges[place]
                first += starts[slot]
                found[place] = first, min(nbytes, self.blocks[place].capacity - first)
        return tuple(found)


class GpuReplay:
    """The dispatches of one recorded run.

    Slots number the buffers that differ from run to run: first those of the inputs that are used,
    then new ones for the outputs, in which dispatches may work before the result is there. Of a
    view the part is bound that has the recorded one's layout. For each set of buffers, and of
    starts of such parts, the list of dispatches is remembered, and so are bind groups, which
    dispatches share: encoding half as many objects takes half the time. Parameters that do not
    travel with their dispatch lie in a buffer of the replay's own, written once.
    """

    def __init__(
        self,
        backend: Session,
        device: Device,
        steps: list[tuple[RecordedDispatch, list[Block | int]]],
        made: list[Slot],
        used: tuple[bool, ...],
        layouts: list[Layout | None],
        outputs: list[Output],
        kept: list[Storage],
        scratch: Workspace,
        statuses: Sequence[LastingStatus],
    ) -> None:
        self.used = used
        self.dispatches = len(steps)
        self.program = concatenated(steps, len(layouts), [one.spec for one in made])
        """What it replays; None where a dispatch was of no program."""
        whole = self.program
        self._origins: list[Origin] = [None] * len(steps)
        if whole is not None:
            self._origins = [(whole, one) for one in whole.dispatches]
        self._backend = backend
        self._device = device
        self._made = [one.nbytes for one in made]
        self._large = [one.spec for one in made if one.nbytes >= CHECKED_BYTES]
        self._layouts = layouts
        self._has_views = any(one is not None for one in layouts)
        self._alignment = device.limits["min-storage-buffer-offset-alignment"]
        self._outputs = outputs
        self._kept = kept
        self._scratch = scratch
        self._statuses = statuses
        self._work = sum(x * y * z for x, y, z in (step.ready.groups for step, _ in steps))
        recorder = device.recorder
        all_ready = [one.ready for one, _ in steps]
        needs = [(one.params, one.fitting.window, one.pipeline) for one in all_ready]
        offsets, self._params = recorder.fixed_params(needs)
        self._rows = [
            ReplayedDispatch(step.ready, places, at)
            for (step, places), at in zip(steps, offsets, strict=True)
        ]
        self._groups: Recent[Any, BindGroup] = Recent(GROUP_BYTES)
        self._fixed = [
            None if row.open else self._dispatch(row, tuple(row.blocks), row.ranges(()))
            for row in self._rows
        ]
        self._variants: Recent[tuple[Block | int, ...], list[DeviceDispatch]] = Recent(
            _bytes_of_variant
        )
        own = 0 if self._params is None else self._params.size
        self.nbytes = own + STEP_BYTES * len(steps)
        device.retained.add(self)

    @property
    def is_valid(self) -> bool:
        """Whether the device is still the backend's."""
        return self._backend.open() is self._device

    def __call__(self, arrays: list[GpuArray]) -> list[GpuArray]:
        """Record all dispatches on these inputs and new outputs; return the output arrays."""
        device = self._device
        backend = self._backend
        for spec in self._large:
            backend.check_size(spec)
        with device.lock:
            storages: list[Storage] = []
            starts: list[int] = []
            for array, layout in zip(arrays, self._layouts, strict=True):
                if array.storage is None or array.device is not device:
                    backend.make_resident(array)
                storage = array.storage
                if array.layout is not layout:
                    storage, start = self._part(array, layout)
                    starts.append(start)
                elif self._has_views:
                    starts.append(0)
                assert storage is not None
                storages.append(storage)
            allocate = device.pool.allocate
            for nbytes in self._made:
                storages.append(allocate(nbytes, "capture"))
            blocks = tuple([one.block for one in storages])
            key: tuple[Block | int, ...] = (*blocks, *starts) if starts else blocks
            records = self._variants[key]
            if records is None:
                records = self._variants.keep(key, self._variant(blocks, starts))
            for status in self._statuses:
                device.reports.watch(status)
            device.replay(records, blocks, self._work, self._origins)
        made: list[GpuArray] = []
        for slot, shape, dtype, size, layout, constant in self._outputs:
            if constant is None:
                if slot < len(starts) and starts[slot]:
                    strides, offset = (row_major(shape), 0) if layout is None else layout
                    layout = (strides, offset + starts[slot] // ITEMSIZE[dtype])
                constant = GpuArray(shape, dtype, size, storages[slot], device, layout)
            made.append(constant)
        return made

    def _part(self, array: GpuArray, layout: Layout | None) -> tuple[Storage | None, int]:
        """Return the buffer of an array that is to lie so, and at which byte to bind it.

        What does not begin where a binding may is copied.
        """
        own, start = layout_of(array)
        if own != layout:
            raise OtherLayoutError
        first = start * ITEMSIZE[array.dtype]
        if first % self._alignment == 0:
            return array.storage, first
        return self._backend.copy(stretch(array)).storage, 0

    def __del__(self) -> None:
        """Have nobody write into the constants before replays that were not submitted yet."""
        epoch = self._device.recorder.epoch
        for one in self._kept:
            one.block.epoch = epoch

    def forget(self, block: Block) -> None:
        """Drop what names a buffer that leaves the pool."""
        self._variants.drop(lambda blocks, _: block in blocks)
        self._groups.drop(lambda _, group: block in group.blocks)

    def forget_device(self) -> None:
        """Drop the dispatches with their pipelines, bind groups and buffers: no call comes back."""
        self._rows, self._fixed, self._kept, self._params = [], [], [], None
        self._groups.clear()
        self._variants.clear()

    def counted(self, use: MemoryUse) -> MemoryUse:
        """Return a count of memory with what this keeps in its own place there."""
        own = 0 if self._params is None else self._params.size
        return replace(use, captured_bytes=use.captured_bytes + own)

    def _variant(self, blocks: tuple[Block, ...], starts: Sequence[int]) -> list[DeviceDispatch]:
        records: list[DeviceDispatch] = []
        for row, fixed in zip(self._rows, self._fixed, strict=True):
            if fixed is not None:
                records.append(fixed)
                continue
            for place, slot in row.open:
                row.blocks[place] = blocks[slot]
            records.append(self._dispatch(row, tuple(row.blocks), row.ranges(starts)))
        return records

    def _dispatch(
        self, row: ReplayedDispatch, blocks: tuple[Block, ...], ranges: Ranges
    ) -> DeviceDispatch:
        step = row.ready
        window = step.fitting.window
        key = (step.pipeline.layout, window, ranges, blocks)
        group = self._groups[key]
        if group is None:
            uniform = self._params, window
            group = self._device.make_group(step.pipeline, blocks, ranges, uniform)
            self._groups.keep(key, group)
        return (step.pipeline, group, row.offset, step.groups, step.label)


def concatenated(
    steps: Sequence[tuple[RecordedDispatch, Sequence[Block | int]]],
    inputs: int,
    made: Sequence[Spec],
) -> Program | None:
    """Return the dispatches of a run as one program; None where one of them is of no program.

    Its inputs are those of the run that are read, then what the run read besides; its buffers are
    the results, then what it worked in.

    Args:
        steps: Each dispatch, and its buffers: a slot, or one that stays the same in every replay.
        inputs: How many slots are inputs; the others are results.
        made: The results.
    """
    buffers = list(made)
    places: dict[Block, BindingResource] = {}
    others = inputs
    dispatches = []
    programs: dict[int, Program] = {}
    for step, where in steps:
        if step.ready.origin is None:
            return None
        program, dispatch = step.ready.origin
        programs[id(program)] = program
        bindings = []
        for binding, one in zip(dispatch.bindings, where, strict=True):
            place = binding.place
            if place.kind in ("input", "buffer"):
                if isinstance(one, int):
                    is_input = one < inputs
                    place = (
                        BindingResource("input", one)
                        if is_input
                        else BindingResource("buffer", one - inputs)
                    )
                else:
                    if one not in places and binding.access == "read":
                        places[one] = BindingResource("input", others)
                        others += 1
                    elif one not in places:
                        places[one] = BindingResource("buffer", len(buffers))
                        buffers.append(Spec((one.capacity // 4,), "int32"))
                    place = places[one]
            bindings.append(replace(binding, place=place))
        params = ParamBlock(step.ready.params, (), dispatch.params.report, dispatch.params.facts)
        dispatches.append(replace(dispatch, bindings=tuple(bindings), params=params))
    chosen = tuple([setting for one in programs.values() for setting in one.configuration])
    return Program(tuple(dispatches), tuple(buffers), tuple(range(len(made))), chosen)
