"""Recording a run for replays: what belongs to the run, what comes in, what goes out."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.arrays.array import GpuArray, layout_of, stretch, to_device_values
from wgsl_kernels.backends.webgpu.capturing.notes import Notes
from wgsl_kernels.backends.webgpu.capturing.replay import GpuReplay, Output, Slot
from wgsl_kernels.backends.webgpu.capturing.scratch import (
    Reservation,
    ScratchPlan,
    ScratchValue,
    Workspace,
)
from wgsl_kernels.engine.environment.liveness import is_shared
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.capturing.notes import Place, RecordedDispatch
    from wgsl_kernels.backends.webgpu.devices.pool import Block, Storage
    from wgsl_kernels.backends.webgpu.runtime.evaluator import Session


AHEAD = 64
"""Dispatches that could be next, among which one is chosen."""

Use = tuple["frozenset[Hashable]", "frozenset[Hashable]"]
"""What a dispatch names, and what of it is written."""


def sparing_order(uses: Sequence[Use], sizes: Mapping[Hashable, int]) -> list[int]:
    """Return an order of dispatches that computes the same and keeps less at a time.

    What reads a buffer stays between the writes before and behind it, so every dispatch finds the
    bytes that it found. Among those that may be next, the one is taken after which the least is
    kept: a gradient's last use comes before the next layer's, wherever Python asked for it.

    Args:
        uses: For each dispatch what it names.
        sizes: The bytes of what takes memory from the first dispatch that names it to the last.
    """
    after, blockers = _constraints(uses)
    left: dict[Hashable, int] = {}
    for names, _ in uses:
        for name in names & sizes.keys():
            left[name] = left.get(name, 0) + 1
    total = dict(left)
    ready = [number for number, count in enumerate(blockers) if not count]
    order: list[int] = []

    def growth(number: int) -> int:
        """Return the bytes that are kept more after a dispatch."""
        names = uses[number][0] & left.keys()
        begun = sum(sizes[name] for name in names if left[name] == total[name])
        return begun - sum(sizes[name] for name in names if left[name] == 1)

    while ready:
        first = [heappop(ready) for _ in range(min(AHEAD, len(ready)))]
        chosen = min(first, key=growth)  # of equals the earliest
        for number in first:
            if number != chosen:
                heappush(ready, number)
        order.append(chosen)
        for name in uses[chosen][0] & left.keys():
            left[name] -= 1
        for number in after[chosen]:
            blockers[number] -= 1
            if not blockers[number]:
                heappush(ready, number)
    return order


def _constraints(uses: Sequence[Use]) -> tuple[list[set[int]], list[int]]:
    """Return for each dispatch those that must come later, and how many must come before it."""
    after: list[set[int]] = [set() for _ in uses]
    writer: dict[Hashable, int] = {}
    readers: dict[Hashable, list[int]] = {}
    blockers: list[int] = []
    for number, (names, written) in enumerate(uses):
        before = {writer[name] for name in names if name in writer}
        for name in written:
            before.update(readers.pop(name, ()))
            writer[name] = number
        for name in names - written:
            readers.setdefault(name, []).append(number)
        for one in before:
            after[one].add(number)
        blockers.append(len(before))
    return after, blockers


class GpuRecording:
    """One recording; see `wgsl_kernels.engine.drivers.driver.Recording`."""

    def __init__(self, backend: Session, scratch: Any = None) -> None:
        self._backend = backend
        self._device = backend.open()
        fits = isinstance(scratch, Workspace) and scratch.device is self._device
        with self._device.lock:
            self.scratch: Workspace = scratch if fits else Workspace(self._device)
        self._notes = Notes(self._device)

    @property
    def why(self) -> str:
        return self._notes.why

    def own(self, array: GpuArray, spec: Spec, shared: bool) -> GpuArray:
        """Return an array of this one's layout, in a buffer that nothing else has."""
        with self._notes.paused():
            return self._own(array, spec, shared)

    def _own(self, array: GpuArray, spec: Spec, shared: bool) -> GpuArray:
        size = spec.size
        if size == 0:
            return GpuArray(spec.shape, spec.dtype, 0, None, None)
        if array.host is not None and array.layout is None:
            values = to_device_values(array.host.values.reshape(spec.shape), spec.dtype)
            storage = self._device.put(values, "upload", f"{spec}")
            return GpuArray(spec.shape, spec.dtype, size, storage, self._device)
        self._backend.make_resident(array)
        layout, _ = layout_of(array)
        if layout is not None:
            part = self._backend.copy(stretch(array)).storage
            return GpuArray(spec.shape, spec.dtype, size, part, self._device, layout)
        is_alone = not is_shared(array.storage, 1) and not shared
        return array if is_alone else self._backend.copy(array)

    def begin(self) -> None:
        """Begin to take notes; what is pending is made first, lest it be made with the run's."""
        self._backend.evaluator.make_deferred()
        self._notes.begin()

    def refuse(self, why: str) -> None:
        self._notes.refuse(why)

    def end(self) -> None:
        """Take no more notes; what still holds values belongs to its holders."""
        self._notes.end()

    def replay(self, inputs: list[GpuArray], outputs: list[GpuArray]) -> GpuReplay | None:
        notes = self._notes
        sources: dict[Place, int] = {}
        for index, array in enumerate(inputs):
            if array.storage is not None:
                sources[self._place(array.storage)] = index
        if not self._writes_only_its_own(sources):
            return None
        named = {place for step in notes.steps for place in step.places}
        ends = {self._place(one.storage) for one in outputs if one.storage is not None}
        used = [place for place in sources if place in named or place in ends]
        used.sort(key=sources.__getitem__)
        slots = {place: slot for slot, place in enumerate(used)}
        made: list[Slot] = []
        found: list[Output] = []
        for array in outputs:
            storage = array.storage
            place = None if storage is None else self._place(storage)
            if storage is not None and isinstance(place, ScratchValue) and place not in slots:
                slots[place] = len(slots)
                made.append(Slot(storage.nbytes, Spec(array.shape, array.dtype)))
            slot = -1 if place is None else slots.get(place, -1)
            constant = array if slot < 0 else None
            found.append(Output(slot, array.shape, array.dtype, array.size, array.layout, constant))
        with self._device.lock:
            return GpuReplay(
                self._backend,
                self._device,
                self._steps(slots, len(used)),
                made,
                tuple(
                    one.storage is not None and self._place(one.storage) in slots for one in inputs
                ),
                [inputs[sources[place]].layout for place in used],
                found,
                [one for block, one in notes.kept.items() if block not in slots],
                self.scratch,
                tuple(notes.statuses),
            )

    def _place(self, storage: Storage) -> Place:
        """Return the value that an array of the run holds, or the buffer that it came in."""
        return self._notes.held.get(storage.block, storage.block)

    def _steps(
        self, slots: dict[Place, int], inputs: int
    ) -> list[tuple[RecordedDispatch, list[Block | int]]]:
        """Return the dispatches, each with its buffers and slots, the first of which are inputs."""
        steps = self._notes.steps
        plan = self._plan(steps, slots, inputs)
        other = self._sparing(slots)
        if other != steps:
            less = self._plan(other, slots, inputs)
            if less.more_bytes < plan.more_bytes:
                steps, plan = other, less
        inside = self.scratch.places_in(plan)

        def found(place: Place) -> Block | int:
            if place in slots:
                return slots[place]
            return inside[place] if isinstance(place, ScratchValue) else place

        return [(step, [found(one) for one in step.places]) for step in steps]

    def _plan(
        self, steps: list[RecordedDispatch], slots: dict[Place, int], inputs: int
    ) -> ScratchPlan:
        """Return where to hold what is needed inside of the dispatches in this order."""
        spans: dict[ScratchValue, range] = {}
        for at, step in enumerate(steps):
            for place in step.places:
                if isinstance(place, ScratchValue):
                    first = spans[place].start if place in spans else at
                    spans[place] = range(first, at + 1)
        results: list[Reservation] = []
        for place, slot in slots.items():
            if isinstance(place, ScratchValue) and place in spans:
                span = spans.pop(place)
                if slot >= inputs:
                    capacity = self._device.pool.capacity_for(place.nbytes)
                    results.append(Reservation(capacity, slot, [range(span.start, len(steps))]))
        return self.scratch.plan(spans, results)

    def _sparing(self, slots: dict[Place, int]) -> list[RecordedDispatch]:
        """Return the dispatches in an order that keeps less inside of the run."""
        steps = self._notes.steps
        uses: list[Use] = []
        sizes: dict[Hashable, int] = {}
        for step in steps:
            kinds = [binding.kind for binding in step.ready.pipeline.layout.storages]
            written = [one for one, kind in zip(step.places, kinds, strict=True) if kind != "read"]
            uses.append((frozenset(step.places), frozenset(written)))
            for one in step.places:
                if isinstance(one, ScratchValue) and one not in slots:
                    sizes[one] = one.nbytes
        return [steps[number] for number in sparing_order(uses, sizes)]

    def _writes_only_its_own(self, sources: dict[Place, int]) -> bool:
        """Refuse a run that writes into what it was given, which a replay could not restore."""
        spared = {one.storage.block for one in self._notes.statuses}
        outside = (self._notes.kept.keys() | sources.keys()) - spared
        for step in self._notes.steps:
            pipeline = step.ready.pipeline
            for binding, place in zip(pipeline.layout.storages, step.places, strict=True):
                if binding.kind == "read_write" and place in outside:
                    self.refuse(f"{pipeline.label} writes into one of its inputs")
                    return False
        return True
