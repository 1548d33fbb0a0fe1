"""What one invocation does while all of a dispatch run: a list of events, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from wgsl_kernels.simulator.memory import Run

if TYPE_CHECKING:
    from wgsl_kernels.simulator.accesses import AccessLog
    from wgsl_kernels.simulator.memory import VariableMemory
    from wgsl_kernels.simulator.subgroups import Subgroups

MOST_EVENTS = 1 << 20
"""Events that are kept of an invocation, the first ones."""

Kind: TypeAlias = Literal["enter", "leave", "begin", "round", "value", "result"]


class StepEvent(NamedTuple):
    """One thing that the invocation did.

    Attributes:
        kind: ``enter`` or ``leave`` a function, ``begin`` a statement or a ``round`` of a loop, get
            a ``value``, or the ``result`` of the statement.
        number: The part of the text; -1 where it leaves a function.
        value: What it got: a number, or a tuple of what it is made of; of a function its arguments.
    """

    kind: Kind
    number: int
    value: Any = None


class MemoryEvent(NamedTuple):
    """One number that the invocation read from memory, or wrote there.

    Attributes:
        site: The place in the text, by the number that accesses have.
        memory: The variable.
        at: Where, in elements of ``nbytes`` bytes as invocations see them.
        real: Where in the memory of all.
        nbytes: Bytes of the number.
        value: The number.
        is_written: Whether it wrote it.
        is_inside: Whether there is such an element.
        writer: The invocation that wrote it last before, -1 where none of the dispatch did.
        writer_site: The place where that is written, -1 likewise.
    """

    site: int
    memory: VariableMemory
    at: int
    real: int
    nbytes: int
    value: Any
    is_written: bool
    is_inside: bool
    writer: int
    writer_site: int


class InvocationRecording:
    """The events of one invocation.

    Attributes:
        invocation: Its number, counted over all workgroups.
        events: What it did.
        is_cut: Whether it did more than is kept.
    """

    def __init__(self, invocation: int) -> None:
        self.invocation = invocation
        self.events: list[StepEvent | MemoryEvent] = []
        self.is_cut = False
        self._first = 0

    def part(self, count: int, subgroups: Subgroups, log: AccessLog | None) -> Run:
        """Return what the invocations of a part share: who notes, where the invocation is there.

        Parts come in the order of their workgroups.
        """
        assert log is not None
        lane, self._first = self.invocation - self._first, self._first + count
        if not 0 <= lane < count:
            lane = -1
        return RecordedRun(count, subgroups, log, self, lane)

    def add(self, event: StepEvent | MemoryEvent) -> None:
        """Keep an event, if there is room."""
        if len(self.events) < MOST_EVENTS:
            self.events.append(event)
        else:
            self.is_cut = True


class RecordedRun(Run):
    """A run of which one invocation is noted; ``lane`` is its number in it, -1 where it is none."""

    log: AccessLog

    def __init__(
        self,
        count: int,
        subgroups: Subgroups,
        log: AccessLog,
        recording: InvocationRecording,
        lane: int,
    ) -> None:
        super().__init__(count, subgroups, log)
        self.recording = recording
        self.lane = lane

    def note(self, kind: Kind, number: int, mask: Any, value: Any = None) -> Any:
        """Note what a traced function does, and return the value that it gets."""
        if self._is_on(mask):
            self.recording.add(StepEvent(kind, number, self._own(value)))
        return value

    # Memory.

    def load(self, memory: VariableMemory, at: Any, scalar: str, mask: Any, site: int) -> Any:
        found = super().load(memory, at, scalar, mask, site)
        if self._is_on(mask):
            self.recording.add(self._seen(memory, at, scalar, found, site, is_written=False))
        return found

    def store(
        self, memory: VariableMemory, at: Any, scalar: str, value: Any, mask: Any, site: int
    ) -> None:
        if self._is_on(mask):
            self.recording.add(self._seen(memory, at, scalar, value, site, is_written=True))
        super().store(memory, at, scalar, value, mask, site)

    def atomic(
        self,
        name: str,
        memory: VariableMemory,
        at: Any,
        scalar: str,
        mask: Any,
        site: int,
        *given: Any,
    ) -> Any:
        if not self._is_on(mask):
            return super().atomic(name, memory, at, scalar, mask, site, *given)
        before = self._seen(memory, at, scalar, None, site, is_written=False)
        found = super().atomic(name, memory, at, scalar, mask, site, *given)
        if name != "atomicStore":
            value = found[0] if isinstance(found, list) else found
            self.recording.add(before._replace(value=self._own(value)))
        if name != "atomicLoad" and before.is_inside:
            value = memory.views[scalar][before.real]
            self.recording.add(before._replace(value=value, is_written=True))
        return found

    def _seen(
        self,
        memory: VariableMemory,
        at: Any,
        scalar: str,
        value: Any,
        site: int,
        *,
        is_written: bool,
    ) -> MemoryEvent:
        nbytes = 2 if scalar == "f16" else 4
        place, real = int(self._own(at)), int(self._own(memory.place(np.asarray(at), nbytes)))
        is_inside = 0 <= place < memory.count * 4 // nbytes
        writer, writer_site = self.log.writer(memory, real, nbytes) if is_inside else (-1, -1)
        return MemoryEvent(
            site, memory, place, real, nbytes, self._own(value), is_written, is_inside,
            writer, writer_site,
        )  # fmt: skip

    def _is_on(self, mask: Any) -> bool:
        if self.lane < 0 or mask is False:
            return False
        return mask is True or bool(mask[self.lane])

    def _own(self, value: Any) -> Any:
        """Return the invocation's own part of a value."""
        if isinstance(value, list):
            return tuple(map(self._own, value))
        return value[self.lane] if np.ndim(value) else value
