"""What ``wgsl-kernels kernels`` shows: the ledger of all kernels, from the registry."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from wgsl_kernels.bench.evidence import last_evidence
from wgsl_kernels.engine.drivers.backends import backends
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.observe.coverage import coverage
from wgsl_kernels.engine.registry.registry import kernels_for_backend
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

BACKENDS = ("cpu", "webgpu")
_LINE = 1 << 12
"""Characters that no line of a pipe exceeds."""


def ledger(
    name: str = "", backend: str = "", module: str = "", *, missing: bool = False
) -> list[dict[str, Any]]:
    """Return a row per kernel.

    Args:
        name: Only kernels whose names contain this, whatever the case.
        backend: Only those that this backend has; with ``missing``, lacks.
        module: A module to import first; then only what that registered.
        missing: Only kernels that lack something: a backend, a gradient rule, a sample.

    Raises:
        ArgumentError: There is no such backend, or the module cannot be imported.
        KernelNotFound: No kernel is left of those asked for by name.
    """
    known = sorted(one for one in backends() if kernels_for_backend(one))
    if backend and backend not in known:
        raise ArgumentError(f"kernels: backend is {backend!r}; want one of {', '.join(known)}.")
    before = {one.name for one in coverage() if one.backends}
    if module:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` would
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:  # what a module does is its author's
            what = f"{type(error).__name__}: {error}"
            raise ArgumentError(f"kernels: module {module!r} cannot be imported: {what}.") from None
        finally:
            sys.path.pop(0)
    rows: list[dict[str, Any]] = []
    found = coverage()
    evidence = last_evidence([one.name for one in found])
    for one in found:
        if module and one.name in before:
            continue
        if name.lower() not in one.name.lower():
            continue
        samples = samples_of(one.name)
        lacking = [each for each in BACKENDS if each not in one.backends]
        if not samples:
            lacking.append("samples")
        if backend and (backend in one.backends) == missing:
            continue
        if missing and not backend and not lacking:
            continue
        rows.append(
            {
                "name": one.name,
                "backends": list(one.backends),
                "dtypes": {each: _dtypes(one.dtypes[each]) for each in one.backends},
                "gradient": one.has_gradient,
                "samples": len(samples),
                "missing": lacking,
                "evidence": evidence.get(one.name),
                "origin": str(one.origin) if one.origin else "",
            }
        )
    if module and not any(one.name not in before for one in coverage()):
        raise ArgumentError(f"kernels: module {module!r} registers no kernel.")
    if name and not rows and not (missing and _is_in_a_name(name)):
        raise KernelNotFound(f"kernels: no kernel has {name!r} in its name.")
    return rows


def _is_in_a_name(part: str) -> bool:
    return any(part.lower() in one.name.lower() for one in coverage())


def _dtypes(served: tuple[str, ...] | None) -> list[str] | None:
    return None if served is None else list(served)


def show(to: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print the ledger as a table."""
    table = Table(box=SIMPLE_HEAD)
    longest = max((len(row["name"]) for row in rows), default=0)
    table.add_column("kernel", no_wrap=True, min_width=longest)  # a name is there to be found
    for heading in ("backends", "dtypes", "gradient", "samples", "evidence", "origin"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        noted = row["evidence"]
        dtypes = row["dtypes"].get("webgpu") or next(iter(row["dtypes"].values()), None)
        table.add_row(
            row["name"],
            ", ".join(row["backends"]),
            "any" if dtypes is None else ", ".join(dtypes),
            "yes" if row["gradient"] else "",
            str(row["samples"]),
            "" if noted is None else f"{noted['verdict']} {noted['date']}",
            row["origin"],
        )
    if not to.is_terminal:  # a kernel is a line, for grep to find
        to.width = _LINE
        to.width = to.measure(table).maximum
    to.print(table)
    to.print(f"{len(rows)} kernels")
