"""What a check of a kernel found: a row per check, sample and backend, and the findings."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.errors.finding_codes import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.wgsl.errors.finding_codes import Section
    from wgsl_kernels.wgsl.errors.findings import Finding

_MEASURED = ("forward", "gradient", "gradient parity", "second order")
"""The checks that compare numbers."""


@dataclass(frozen=True)
class Row:
    """One check of one sample on one backend.

    Attributes:
        check: ``compiles``, ``lint``, ``forward``, ``sizes``, ``gradient`` (against numbers), …
        sample: The sample's id; "" where the check is of the kernel as a whole.
        backend: The backend's name.
        passed: Whether there is no error; of values, whether every element is in its tolerance.
        worst_abs: The error of the worst element, in the unit of the values.
        worst_ulp: The same in units in the last place of what was expected.
        tolerance: What that element is allowed, in the unit of the values.
        note: What else there is to say: where the worst element is, how many cases ran.
        section: The section of the check.
        findings: What was found.
        seconds: How long it took.
        evidence: What shows that it failed: ``got``, ``expected``, the input there, the pattern.
    """

    check: str
    sample: str
    backend: str
    passed: bool
    worst_abs: float = 0.0
    worst_ulp: float = 0.0
    tolerance: float = 0.0
    note: str = ""
    section: Section = "right"
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    evidence: tuple[tuple[str, str], ...] = ()

    def with_findings(self, findings: Iterable[Finding]) -> Row:
        """Return the same row with findings; an error among them fails it."""
        found = (*self.findings, *findings)
        passed = self.passed and not any(one.severity == "error" for one in found)
        return replace(self, findings=found, passed=passed)

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "FAILED"
        if self.check in _MEASURED:
            numbers = f"{self.worst_abs:>9.2g}{self.worst_ulp:>10.3g}{self.tolerance:>10.2g}"
        else:
            numbers = " " * 29
        shown = self.note and (not self.passed or self.check not in _MEASURED)
        note = f"  {self.note.splitlines()[0]}" if shown else ""
        return f"{verdict:<8}{self.check:<17}{self.backend:<9}{numbers}  {self.sample}{note}"

    def to_dict(self) -> dict[str, Any]:
        """Return the row in plain Python, as JSON has it."""
        shown = vars(self).items()
        facts = {name: value for name, value in shown if name not in ("findings", "evidence")}
        return {**facts, "findings": [one.to_dict() for one in self.findings]}


@dataclass(repr=False)
class Report:
    """What `check_kernel` found; prints as a table, and the findings below.

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

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, by section, each cause once, with where else it shows."""
        return tuple([one for section in SECTIONS for one in self.found_in(section)])

    def found_in(self, section: Section) -> tuple[Finding, ...]:
        """Return what the checks of a section found first, causes before what comes of them."""
        first: dict[tuple[str, str, str], Section] = {}
        found: dict[tuple[str, str, str], Finding] = {}
        others: dict[tuple[str, str, str], dict[str, None]] = {}
        for row in self.rows:
            for one in row.findings:
                # an access in a shader that is wrong is one cause, whatever index shows it
                is_access = one.section == "safe" and one.column
                key = (one.code, "" if is_access else one.words, one.place)
                if key in found:
                    others.setdefault(key, {})[f"{row.check}, {row.backend}"] = None
                else:
                    found[key], first[key] = one, row.section
        for key, rows in others.items():
            found[key] = found[key].with_evidence(**{"also in": "; ".join(rows)})
        own = [one for key, one in found.items() if first[key] == section]
        return tuple(sorted(own, key=_rank))

    def raise_if_failed(self) -> None:
        """Raise with the findings unless all passed.

        Raises:
            AssertionError: A check failed.
        """
        if not self.passed:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        failed = sum(not row.passed for row in self.rows)
        head = f"{'verdict':<8}{'check':<17}{'backend':<9}{'worst':>9}{'ulp':>10}{'allowed':>10}"
        last = f"{self.kernel}: {len(self.rows)} checks, {failed} failed"
        noted = [f"\n{one}" for one in self.findings]
        return "\n".join([f"{head}  sample", *map(str, self.rows), *noted, last])

    def __repr__(self) -> str:
        """Return the report as it prints: a terminal shows it so."""
        return str(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report in plain Python, as JSON has it."""
        return {
            "kernel": self.kernel,
            "passed": self.passed,
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False)

    def _repr_html_(self) -> str:
        """Return the report as a notebook shows it."""
        rows = "".join(
            f"<tr><td>{'ok' if row.passed else '<b>FAILED</b>'}</td><td>{row.section}</td>"
            f"<td>{row.check}</td><td>{row.backend}</td><td>{html.escape(row.sample)}</td>"
            f"<td>{row.worst_ulp:.3g}</td><td>{html.escape(row.note)}</td></tr>"
            for row in self.rows
        )
        head = "".join(
            f"<th>{one}</th>"
            for one in ("", "section", "check", "backend", "sample", "ULP", "note")
        )
        noted = "".join(one._repr_html_() for one in self.findings)
        return f"<table><tr>{head}</tr>{rows}</table>{noted}"


def _rank(finding: Finding) -> int:
    """Return 0 for what explains wrong values, 2 for the special cases of those that are wrong."""
    if finding.code == "broken-law":
        return 0
    return 2 if finding.code.startswith("wrong-") and finding.code != "wrong-values" else 1
