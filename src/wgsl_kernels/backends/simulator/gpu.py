"""A WebGPU device of NumPy words: what the backend calls of a device of wgpu's.

Source: WebGPU, sections 5 to 20, of which this has what compute needs; nothing is deferred.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.backends.webgpu.devices.native import NativeCalls
from wgsl_kernels.simulator.dispatch import compile_entry
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
    from wgsl_kernels.simulator.accesses import AccessLog
    from wgsl_kernels.simulator.dispatch import EntryPoint, Order
    from wgsl_kernels.simulator.domains import Words

LEAST_LANES = 32
"""Invocations of a subgroup where no adapter says it."""


class RefusedTextError(Exception):
    """A text is not run here; the message is like a compiler's."""


class NumpyBuffer:
    """A buffer: its words, which are zero at first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.words: Words = np.zeros(-(-size // 4), np.uint32)

    @property
    def bytes(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return self.words.view(np.uint8)

    def unmap(self) -> None:
        """Nothing was mapped."""


class NumpyQueue:
    """What writes into buffers, at once."""

    def write_buffer(self, buffer: NumpyBuffer, offset: int, data: Any) -> None:
        values = np.frombuffer(data, np.uint8)
        buffer.bytes[offset : offset + len(values)] = values


class SimulatedDispatch(NamedTuple):
    """What a dispatch runs with.

    Attributes:
        entry: The entry point.
        groups: Workgroups along x, y and z.
        bound: The words of each binding.
        lanes: Invocations of a subgroup.
    """

    entry: EntryPoint
    groups: tuple[int, int, int]
    bound: Mapping[tuple[int, int] | str, Words]
    lanes: int


@dataclass(frozen=True, eq=False)
class NumpyPipeline:
    """An entry point, and where it runs."""

    entry: EntryPoint
    device: NumpyDevice


class NumpyDevice:
    """The device.

    Attributes:
        lanes: Invocations of a subgroup.
        order: In which order invocations run.
        most_rounds: Rounds of a loop before it is taken for one that does not end; None for 2^20.
        log: Returns what notes the accesses of a dispatch that is about to run.
    """

    def __init__(self, limits: Mapping[str, int], features: frozenset[str], lanes: int) -> None:
        self.limits = limits
        self.features = features
        self.queue = NumpyQueue()
        self.lanes = lanes
        self.order: Order = "forward"
        self.most_rounds: int | None = None
        self.log: Callable[[SimulatedDispatch], AccessLog | None] = _nobody

    def create_buffer(self, *, label: str, size: int, usage: int) -> NumpyBuffer:
        return NumpyBuffer(size)

    def create_bind_group_layout(self, *, entries: Sequence[Any]) -> Sequence[Any]:
        return entries

    def create_pipeline_layout(self, *, bind_group_layouts: Any, immediate_size: int) -> object:
        return bind_group_layouts

    def create_shader_module(self, *, label: str, code: str) -> str:
        return code

    def create_compute_pipeline(
        self, *, label: str, layout: object, compute: Mapping[str, Any]
    ) -> NumpyPipeline:
        text = Text(COMPOSED, compute["module"])
        try:
            entry = compile_entry(text, compute["entry_point"], compute["constants"])
        except RefusedError as error:
            place = text.place(error.begin)
            raise RefusedTextError(
                f"{error.message}\n  ┌─ wgsl:{place.line}:{place.column}"
            ) from None
        return NumpyPipeline(entry, self)

    def create_bind_group(
        self, *, label: str, layout: Any, entries: Sequence[Mapping[str, Any]]
    ) -> list[tuple[int, NumpyBuffer, int, int, bool]]:
        moving = {one["binding"] for one in layout if one["buffer"].get("has_dynamic_offset")}
        found: list[tuple[int, NumpyBuffer, int, int, bool]] = []
        for one in entries:
            number, bound = one["binding"], one["resource"]
            where = bound["buffer"], bound["offset"], bound["size"]
            found.append((number, *where, number in moving))
        return found

    def destroy(self) -> None:
        """Nothing is held."""


@dataclass
class _SimulatedPass:
    """A compute pass: what its dispatches run."""

    pipeline: NumpyPipeline | None = None
    group: Sequence[tuple[int, NumpyBuffer, int, int, bool]] = ()
    offset: int = 0
    immediates: bytes = b""
    runs: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])

    def dispatch(self, x: int, y: int, z: int) -> None:
        assert self.pipeline is not None
        if not x * y * z:
            return
        bound: dict[tuple[int, int] | str, Words] = {
            "immediate": np.frombuffer(self.immediates, np.uint32)
        }
        for number, buffer, first, size, is_moving in self.group:
            begin = (first + (self.offset if is_moving else 0)) // 4
            bound[0, number] = buffer.words[begin : begin + -(-size // 4)]
        entry, device = self.pipeline.entry, self.pipeline.device
        launch = SimulatedDispatch(entry, (x, y, z), bound, device.lanes)
        run = partial(
            entry.run,
            (x, y, z),
            bound,
            subgroup_size=device.lanes,
            order=device.order,
            most_rounds=device.most_rounds,
        )
        self.runs.append(lambda: run(log=device.log(launch)))


def _nobody(launch: SimulatedDispatch) -> AccessLog | None:
    """Note nothing."""


def _set_group(target: _SimulatedPass, index: int, group: Any, count: int, offsets: Any) -> None:
    target.group = group
    target.offset = offsets if count else 0


def _set_immediates(target: _SimulatedPass, at: int, data: bytes, nbytes: int) -> None:
    target.immediates = bytes(data[:nbytes])


def _submit(
    device: Any, fill: Callable[[Any], None] | None, copies: Any, sent: Callable[[], Any]
) -> int:
    target = _SimulatedPass()
    if fill is not None:
        fill(target)
    sent()  # what fails now has run, as on a device
    for run in target.runs:
        run()
    for source, at, reader, start, nbytes in copies:
        reader.bytes[start : start + nbytes] = source.bytes[at : at + nbytes]
    return 0


def _writer(queue: NumpyQueue, buffer: NumpyBuffer) -> Callable[[Any, int], None]:
    return lambda data, nbytes: queue.write_buffer(buffer, 0, data[:nbytes])


CALLS = NativeCalls(
    direct=False,
    gpu_error=RefusedTextError,
    handle=lambda resource: resource,
    offsets=lambda offset: offset,
    no_offset=0,
    set_pipeline=lambda target, pipeline: setattr(target, "pipeline", pipeline),
    set_group=_set_group,
    set_immediates=_set_immediates,
    dispatch=_SimulatedPass.dispatch,
    submit=_submit,
    send=lambda queue, finished, sent: 0,
    pinned=memoryview,
    writer=_writer,
    poll=lambda device, number: None,
    map_for_reading=lambda device, buffer, nbytes, wait: memoryview(buffer.bytes[:nbytes]),
    map_for_writing=lambda device, buffer, nbytes, wait: memoryview(buffer.bytes[:nbytes]),
    unmap=NumpyBuffer.unmap,
    timestamp_period=lambda queue: 1.0,
)
"""The calls of the hot path."""


@dataclass(frozen=True)
class NumpyAdapter:
    """The adapter: the facts of another, without clocks and what is no WGSL.

    Attributes:
        info: What it tells of itself.
    """

    info: AdapterInfo
    features: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        without = self.info.features - {"timestamp-query", "shader-int64"}
        object.__setattr__(self, "info", replace(self.info, features=without))
        object.__setattr__(self, "features", without)

    def request_device_sync(
        self, *, required_features: Sequence[str], required_limits: Mapping[str, int]
    ) -> NumpyDevice:
        limits = {**self.info.limits, **required_limits}
        return NumpyDevice(limits, frozenset(required_features), self.info.lanes or LEAST_LANES)
