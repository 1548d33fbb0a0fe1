"""The vendor matrix: the certificates of several machines as a Markdown table, or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wgsl_kernels.bench.parity.certificates import Certificate, Machine, ParityRecord

PAGE = """# Vendor matrix

How far each kernel is from float64 on each machine. A certificate has the worst error over the
samples of one dtype and direction, forward or gradient. Of those of a kernel a cell shows the one
that used the largest part of its tolerance: the error in units in the last place, and that part.
Of a gradient a unit is that of float32. 0: no result is off.

{verdict} `wgsl-kernels parity --out FILE` makes
certificates, `wgsl-kernels parity --merge *.json --out vendor-matrix.md` this page of them.

## Machines

{machines}

## Kernels

{kernels}
"""


def matrix_page(records: Sequence[ParityRecord]) -> str:
    """Return the vendor matrix as a page of the docs."""
    failed = sum(not row.passed for one in records for row in one.certificates)
    number = sum(len(one.certificates) for one in records)
    verdict = f"{number:,} certificates of {len(records)} machines; {failed} failed."
    return PAGE.format(verdict=verdict, machines=_machines(records), kernels=matrix_table(records))


def matrix_table(records: Sequence[ParityRecord]) -> str:
    """Return the vendor matrix as a Markdown table: a row per kernel, a column per machine."""
    found = [_by_kernel(one) for one in records]
    head = ["kernel", *(f"{n}. {_short(one.machine)}" for n, one in enumerate(records, 1))]
    rows = [
        [kernel, *(_cell(one.get(kernel, [])) for one in found)]
        for kernel in sorted({kernel for one in found for kernel in one})
    ]
    return _table(head, rows)


def _machines(records: Sequence[ParityRecord]) -> str:
    head = ["", "adapter", "through", "driver", "system", "limits", "wgpu", "date", "certificates"]
    rows = [
        [
            f"{n}.",
            one.machine.adapter,
            one.machine.backend,
            one.machine.driver,
            one.machine.system,
            one.machine.limits,
            one.machine.wgpu,
            one.date,
            str(len(one.certificates)),
        ]
        for n, one in enumerate(records, 1)
    ]
    return _table(head, rows)


def _short(machine: Machine) -> str:
    limits = "" if machine.limits == "adapter" else f", {machine.limits} limits"
    return f"{machine.adapter.partition(' (')[0]}, {machine.backend}{limits}"


def _by_kernel(record: ParityRecord) -> dict[str, list[Certificate]]:
    found: dict[str, list[Certificate]] = {}
    for one in record.certificates:
        found.setdefault(one.kernel, []).append(one)
    return found


def _cell(rows: Sequence[Certificate]) -> str:
    if not rows:
        return "–"
    if not all(one.passed for one in rows):
        return "**FAILED**"
    worst = max(rows, key=lambda one: one.used)
    return f"{worst.ulp:.3g} ULP, {100 * worst.used:.2g} %" if worst.used else "0"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(one)} |" for one in lines)
