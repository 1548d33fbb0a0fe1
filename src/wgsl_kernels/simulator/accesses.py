"""Who read and wrote which part of memory: races, reads of what is not set, indices outside.

A barrier orders the invocations of one workgroup, where they access the kind of memory that it is
for; nothing orders those of two but the end of the dispatch. Each number of 16 or 32 bits is looked
at by itself, so that parts of vectors and structs are, too.
Source: WebGPU Shading Language, section 14.5, memory model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.simulator.memory import VariableMemory

Kind: TypeAlias = Literal["outside", "write-race", "same-write", "read-race", "unset", "atomics"]


@dataclass(frozen=True, slots=True)
class AccessFault:
    """An access that is wrong.

    Attributes:
        kind: What is wrong with it; ``same-write`` is a race of which all write the same,
            ``atomics`` one of atomic functions, whose results depend on who comes first.
        site: The number of the place in the text.
        memory: The variable.
        at: The element of an array, -1 where it is none.
        length: How many elements there are.
        invocation: Who it is, counted over all workgroups.
        other: Who came before, -1 where nobody did.
        other_site: The place of that, -1 where there is none.
        is_across: Whether they are of two workgroups.
    """

    kind: Kind
    site: int
    memory: str
    at: int
    length: int
    invocation: int
    other: int = -1
    other_site: int = -1
    is_across: bool = False


class _ShadowMemory:
    """Of each number in a memory who wrote it last, and who read it.

    Attributes:
        earliest: Who read it first of all.
        first_reader: Who read it first since the barrier before ``read_phase``.
        reader: Who read it last.
        is_stored: Whether it was written last by an ``atomicStore``.
    """

    def __init__(self, count: int) -> None:
        self.writer = np.full(count, -1, np.int64)
        self.write_phase = np.zeros(count, np.int32)
        self.write_site = np.full(count, -1, np.int32)
        self.earliest = np.full(count, -1, np.int64)
        self.first_reader = np.full(count, -1, np.int64)
        self.reader = np.full(count, -1, np.int64)
        self.read_phase = np.zeros(count, np.int32)
        self.read_site = np.full(count, -1, np.int32)
        self.is_stored = np.zeros(count, np.bool_)


@dataclass
class AccessLog:
    """Watches the accesses of one dispatch.

    Attributes:
        found: What was wrong, of each place and kind the first.
        most_rounds: Rounds after which a loop is taken for one that does not end; None for as many
            as where nothing watches.
    """

    found: dict[tuple[Kind, int], AccessFault] = field(
        default_factory=dict[tuple[Kind, int], "AccessFault"]
    )
    most_rounds: int | None = None
    _workgroup: int = 1
    _first: int = 0
    _phases: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    _shadows: dict[tuple[int, int], _ShadowMemory] = field(
        default_factory=dict[tuple[int, int], _ShadowMemory]
    )
    _kept: list[VariableMemory] = field(default_factory=list["VariableMemory"])

    def begin(self, workgroup: int, first: int) -> None:
        """Note that workgroups of so many invocations begin, the first of which has a number."""
        self._workgroup, self._first = workgroup, first
        self.passed_barrier()

    def passed_barrier(self, of_workgroup: bool | None = None) -> None:
        """Note that all invocations have come to a barrier.

        Args:
            of_workgroup: Whether it is for workgroup memory, or for storage; None for both.
        """
        for one in self._phases if of_workgroup is None else (of_workgroup,):
            self._phases[one] += 1

    def outside(
        self, memory: VariableMemory, at: Any, lanes: Any, length: int, site: int, stride: int
    ) -> None:
        """Note indices outside of an array; ``stride`` is how many numbers an element has."""
        if len(lanes):
            index = int(at[0]) // stride
            self._note("outside", site, memory, index, length, int(lanes[0]))

    def read(
        self, memory: VariableMemory, at: Any, real: Any, lanes: Any, size: int, site: int
    ) -> None:
        """Note that invocations read numbers: ``at`` where each sees them, ``real`` where."""
        shadow, who = self._shadow(memory, size), lanes + self._first
        writer = shadow.writer[real]
        note = partial(self._note_first, site, memory, at, lanes, size)
        if memory.is_workgroup:
            note("unset", writer < 0)
        against = self._unordered(memory, writer, who, shadow.write_phase[real])
        note("read-race", against, writer, shadow.write_site[real])
        fresh = shadow.earliest[real] < 0
        shadow.earliest[real[fresh][::-1]] = who[fresh][::-1]
        fresh = shadow.read_phase[real] != self._phases[memory.is_workgroup]
        shadow.first_reader[real[fresh][::-1]] = who[fresh][::-1]
        shadow.reader[real] = who
        shadow.read_site[real] = site
        shadow.read_phase[real] = self._phases[memory.is_workgroup]

    def wrote(
        self,
        memory: VariableMemory,
        at: Any,
        real: Any,
        lanes: Any,
        size: int,
        site: int,
        same: Any,
    ) -> None:
        """Note that invocations write numbers; ``same`` gives what two of them have alike.

        It is called with which of the writes, and with which others, None for what was there.
        """
        shadow, who = self._shadow(memory, size), lanes + self._first
        order = np.argsort(real, kind="stable")
        twice = np.flatnonzero(real[order][1:] == real[order][:-1])
        if twice.size:
            first, second = order[twice], order[twice + 1]
            one, kind = _worst_write(same(second, first))
            place = self._index(memory, at[second[one]], size)
            before = int(who[first[one]]), site
            self._note(kind, site, memory, place, 0, lanes[second[one]], *before)
        writer = shadow.writer[real]
        against = np.flatnonzero(self._unordered(memory, writer, who, shadow.write_phase[real]))
        if against.size:
            found, kind = _worst_write(same(against, None))
            one = int(against[found])
            place = self._index(memory, at[one], size)
            before = int(writer[one]), int(shadow.write_site[real[one]])
            self._note(kind, site, memory, place, 0, lanes[one], *before)
        phase = shadow.read_phase[real]
        for readers, when in (
            (shadow.reader, phase), (shadow.first_reader, phase), (shadow.earliest, -1)
        ):  # fmt: skip
            reader = readers[real]
            against = self._unordered(memory, reader, who, when)
            sites = shadow.read_site[real]
            if self._note_first(site, memory, at, lanes, size, "read-race", against, reader, sites):
                break
        self.changed(memory, real, lanes, size, site)

    def atomic(
        self, name: str, memory: VariableMemory, at: Any, real: Any, lanes: Any, site: int
    ) -> None:
        """Note an atomic function of invocations.

        In workgroup memory it is told where it reads what another invocation wrote since the last
        barrier: by an ``atomicStore``, or, for an ``atomicLoad``, by any atomic function.
        """
        shadow, writer = self._shadow(memory, 4), self._shadow(memory, 4).writer[real]
        note = partial(self._note_first, site, memory, at, lanes, 4)
        if memory.is_workgroup and name != "atomicStore":
            note("unset", writer < 0)
            against = self._unordered(memory, writer, lanes + self._first, shadow.write_phase[real])
            if name != "atomicLoad":
                against &= shadow.is_stored[real]
            note("atomics", against, writer, shadow.write_site[real])
        if name != "atomicLoad":
            self.changed(memory, real, lanes, 4, site)
            shadow.is_stored[real] = name == "atomicStore"

    def changed(self, memory: VariableMemory, real: Any, lanes: Any, size: int, site: int) -> None:
        """Note that numbers have values now."""
        shadow = self._shadow(memory, size)
        shadow.writer[real] = lanes + self._first
        shadow.write_site[real] = site
        shadow.write_phase[real] = self._phases[memory.is_workgroup]

    def writer(self, memory: VariableMemory, real: int, size: int) -> tuple[int, int]:
        """Return who wrote a number last and at which place of the text, -1 where nobody did."""
        shadow = self._shadow(memory, size)
        return int(shadow.writer[real]), int(shadow.write_site[real])

    def written(self) -> Iterator[tuple[VariableMemory, int, Any]]:
        """Yield each memory, the bytes of a number in it, and who wrote each number last."""
        for memory in self._kept:
            for size in (4, 2):
                shadow = self._shadows.get((id(memory), size))
                if shadow is not None:
                    yield memory, size, shadow.writer

    def read_and_written(self) -> Iterator[str]:
        """Yield the names of memory for all workgroups that was both read and written."""
        for memory in self._kept:
            shadow = self._shadows.get((id(memory), 4))
            if shadow is None or memory.is_workgroup:
                continue
            if (shadow.earliest >= 0).any() and (shadow.writer >= 0).any():
                yield memory.name

    def _unordered(self, memory: VariableMemory, before: Any, who: Any, phase: Any) -> Any:
        """Say which accesses nothing orders behind those before."""
        group, other = who // self._workgroup, before // self._workgroup
        now = self._phases[memory.is_workgroup]
        return (before >= 0) & (before != who) & ((group != other) | (phase == now))

    def _shadow(self, memory: VariableMemory, size: int) -> _ShadowMemory:
        found = self._shadows.get((id(memory), size))
        if found is None:
            self._kept.append(memory)  # so that its id stays its own
            count = len(memory.words) * 4 // size
            found = self._shadows[id(memory), size] = _ShadowMemory(count)
        return found

    def _index(self, memory: VariableMemory, at: Any, size: int) -> int:
        return int(at) * size // memory.stride if memory.stride else -1

    def _note_first(
        self,
        site: int,
        memory: VariableMemory,
        at: Any,
        lanes: Any,
        size: int,
        kind: Kind,
        wrong: Any,
        others: Any = None,
        sites: Any = None,
    ) -> bool:
        """Note the first access that is wrong, and who came before; say whether there is one."""
        if not wrong.any():
            return False
        one = int(np.argmax(wrong))
        before = () if others is None else (int(others[one]), int(sites[one]))
        place = self._index(memory, at[one], size)
        self._note(kind, site, memory, place, 0, lanes[one], *before)
        return True

    def _note(
        self,
        kind: Kind,
        site: int,
        memory: VariableMemory,
        at: int,
        length: int,
        lane: Any,
        other: int = -1,
        other_site: int = -1,
    ) -> None:
        who = int(lane) + self._first
        across = other >= 0 and who // self._workgroup != other // self._workgroup
        access = AccessFault(kind, site, memory.name, at, length, who, other, other_site, across)
        self.found.setdefault((kind, site), access)


def _worst_write(is_same: Any) -> tuple[int, Kind]:
    """Return which of several writes to a place is told, and as what: one that differs, if any."""
    if is_same.all():
        return 0, "same-write"
    return int(np.argmin(is_same)), "write-race"
