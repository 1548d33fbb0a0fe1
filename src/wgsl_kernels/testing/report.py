"""What a check of a kernel found: a row per check, sample and backend, and the table of them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One check of one sample on one backend.

    Attributes:
        check: ``forward``, ``gradient`` (against numbers), ``gradient parity``, ``second order`` or
            ``leaks``.
        sample: The sample's id.
        backend: The backend's name.
        passed: Whether every element lies in its tolerance.
        worst_abs: The error of the worst element, in the unit of the values.
        worst_ulp: The same in units in the last place of what was expected.
        tolerance: What that element is allowed, in the unit of the values.
        note: What else there is to say: where the worst element is, or an error's message.
    """

    check: str
    sample: str
    backend: str
    passed: bool
    worst_abs: float = 0.0
    worst_ulp: float = 0.0
    tolerance: float = 0.0
    note: str = ""

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "FAILED"
        numbers = f"{self.worst_abs:>9.2g}{self.worst_ulp:>10.3g}{self.tolerance:>10.2g}"
        note = f"  {self.note}" if self.note and not self.passed else ""
        return f"{verdict:<8}{self.check:<17}{self.backend:<9}{numbers}  {self.sample}{note}"


@dataclass
class Report:
    """What `check_kernel` found; prints as a table.

    Attributes:
        kernel: The kernel's name.
        rows: A row per check, sample and backend.
    """

    kernel: str
    rows: list[Row] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether there are rows, and all passed."""
        return bool(self.rows) and all(row.passed for row in self.rows)

    def __str__(self) -> str:
        failed = sum(not row.passed for row in self.rows)
        head = f"{'verdict':<8}{'check':<17}{'backend':<9}{'worst':>9}{'ulp':>10}{'allowed':>10}"
        last = f"{self.kernel}: {len(self.rows)} checks, {failed} failed"
        return "\n".join([f"{head}  sample", *map(str, self.rows), last])
