"""The vendor matrix: the certificates of several machines as a Markdown table, or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wgsl_kernels.bench.parity.certificates import Certificate, Machine, ParityRecord

Rows: TypeAlias = "dict[str, list[list[Certificate]]]"
"""By what a row is called: of each machine the certificates that its cell is made of."""

PAGE = """# Vendor matrix

How far each kernel is from float64 on each machine. A certificate has the worst error over the
samples of one dtype and direction, forward or gradient. A cell shows the one that used the largest
part of its tolerance: the error in units in the last place, and that part; of a gradient a unit is
that of float32. Rows without a dtype have all but float16. 0: no result is off; –: not there.

{verdict} `wgsl-kernels parity --out FILE` makes
certificates, `wgsl-kernels parity --merge *.json --out vendor-matrix.md` this page of them.

## Machines

{machines}

## Where machines differ

{differing}

## All kernels

{everything}
"""


def matrix_page(records: Sequence[ParityRecord]) -> str:
    """Return the vendor matrix as a page of the docs."""
    failed = sum(not row.passed for one in records for row in one.certificates)
    number = sum(len(one.certificates) for one in records)
    single = _rows(records, lambda one: f"{one.kernel}, {one.dtype} {one.direction}")
    differing = {name: found for name, found in single.items() if _differ(found)}
    return PAGE.format(
        verdict=f"{counted(number, 'certificate')} of {counted(len(records), 'machine')}; "
        f"{failed} failed.",
        machines=_machines(records),
        differing=_matrix(records, differing) if differing else "Nowhere.",
        everything=matrix_table(records),
    )


def counted(number: int, noun: str) -> str:
    """Return a number with what there are so many of."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def matrix_table(records: Sequence[ParityRecord]) -> str:
    """Return the vendor matrix as a Markdown table: a row per kernel, a column per machine."""
    return _matrix(
        records,
        _rows(records, lambda one: one.kernel + ", float16" * (one.dtype == "float16")),
    )


def _rows(records: Sequence[ParityRecord], named: Callable[[Certificate], str]) -> Rows:
    found: Rows = {}
    for at, record in enumerate(records):
        for one in record.certificates:
            found.setdefault(named(one), [[] for _ in records])[at].append(one)
    return dict(sorted(found.items()))


def _differ(found: Sequence[Sequence[Certificate]]) -> bool:
    there = [one for one in found if one]
    return any(one != there[0] for one in there)


def _matrix(records: Sequence[ParityRecord], rows: Rows) -> str:
    head = ["kernel", *(f"{n}. {_short(one.machine)}" for n, one in enumerate(records, 1))]
    return _table(head, ([name, *map(_cell, found)] for name, found in rows.items()))


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
