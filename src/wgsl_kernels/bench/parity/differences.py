"""Where two records differ, and records of the same machine joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.bench.parity.certificates import ParityRecord, to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.bench.parity.certificates import Certificate, Key, Machine


@dataclass(frozen=True)
class Difference:
    """Two certificates of one kernel, dtype and direction that differ, or one without the other.

    Attributes:
        key: Kernel, dtype and direction.
        there: The machine of the first certificate.
        here: That of the second; an equal one where a run gave other bits than the one before.
        was: The first certificate.
        found: The second.
    """

    key: Key
    there: Machine
    here: Machine
    was: Certificate | None
    found: Certificate | None

    @property
    def fails(self) -> bool:
        """Whether it is an error: other bits of the same machine, or another verdict."""
        if self.there == self.here:
            return True
        if self.was is None or self.found is None:
            return False
        return self.was.passed != self.found.passed

    @property
    def ulp(self) -> float:
        """By how many units in the last place the worst errors differ; 0 where one is missing."""
        if self.was is None or self.found is None or self.was.ulp == self.found.ulp:
            return 0.0
        return abs(self.found.ulp - self.was.ulp)

    def __str__(self) -> str:
        kernel, dtype, direction = self.key
        was, found = self.was or "no certificate", self.found or "no certificate"
        if self.was and self.found and str(was) == str(found):
            was, found = repr(self.was), repr(self.found)
        head = f"{kernel}, {dtype} {direction}"
        if self.there == self.here:
            return f"{head}, on {self.here}: {was}, and now {found}"
        return f"{head}: {was} on {self.there}, {found} on {self.here}"


def differences(was: ParityRecord, found: ParityRecord) -> list[Difference]:
    """Return where two records differ, by kernel in alphabetical order.

    A certificate that only one of two machines has, as of float16, is no difference.
    """
    one, other = was.by_key(), found.by_key()
    keys = one.keys() | other.keys() if was.machine == found.machine else one.keys() & other.keys()
    return [
        Difference(key, was.machine, found.machine, one.get(key), other.get(key))
        for key in sorted(keys)
        if one.get(key) != other.get(key)
    ]


@dataclass(frozen=True)
class ParityReport:
    """The records of several machines, and where the same machine gave two results.

    Attributes:
        records: A record per machine.
        contradictions: Certificates of the same machine that differ.
    """

    records: tuple[ParityRecord, ...]
    contradictions: tuple[Difference, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every certificate passed, and none contradicts another one."""
        return all(one.passed for one in self.records) and not self.contradictions

    def to_json(self) -> str:
        """Return the records as JSON, as ``wgsl-kernels parity --verify`` and ``--merge`` read."""
        return to_json(self.records)


def joined(records: Iterable[ParityRecord]) -> ParityReport:
    """Join the records of the same machine.

    Of two certificates that differ the first one stays, and the later date.
    """
    found: dict[Machine, ParityRecord] = {}
    contradictions: list[Difference] = []
    for record in records:
        before = found.setdefault(record.machine, record)
        both = {**record.by_key(), **before.by_key()}
        contradictions += [
            one for one in differences(before, record) if one.was is not None and one.found
        ]
        rows = tuple(both[key] for key in sorted(both))
        found[record.machine] = ParityRecord(record.machine, max(before.date, record.date), rows)
    return ParityReport(tuple(found.values()), tuple(contradictions))
