"""What ``wgsl-kernels bench`` does: time kernels on every backend, and against an earlier run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.bench.checking.fast import sample_timings
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.registry.registry import get_kernel
from wgsl_kernels.testing.program import KernelScript
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

BACKENDS = ("cpu", "webgpu")


def kernels_of(given: str) -> tuple[str, ...]:
    """Return the kernels that ``Kernel``, ``file.py`` or ``file.py:Kernel`` names; a file is run.

    Raises:
        ArgumentError: There is no such file, it does not run to its end, or has no such kernel.
    """
    path, _, name = given.rpartition(":")
    if Path(path).suffix != ".py":
        path, name = given, ""
    if Path(path).suffix != ".py":
        return (given,)
    script = KernelScript.at(Path(path), "bench")
    script.run()
    if script.findings:
        raise ArgumentError(f"bench: {script.findings[0]}")
    if name and name not in script.kernels:
        known = ", ".join(script.kernels) or "none"
        raise ArgumentError(f"bench: {path} has no kernel {name!r}; known: {known}.")
    return (name,) if name else script.kernels


def bench_rows(given: Sequence[str], most: int = 3) -> list[dict[str, Any]]:
    """Return a row per kernel and sample: the time on each backend, and how many times NumPy's.

    Args:
        given: The kernels: see `kernels_of`.
        most: Samples of a kernel, the largest ones.

    Raises:
        ArgumentError: There is no such file, or no such kernel in it.
        KernelNotFound: One has no samples.
    """
    backends = BACKENDS if choose_adapter() is not None else BACKENDS[:1]
    rows: list[dict[str, Any]] = []
    for name in [name for one in given for name in kernels_of(one)]:
        samples = samples_of(name)
        if not samples:
            raise KernelNotFound(f"bench: {name!r} has no samples; `kernels` lists what has.")
        sized = sorted(samples, key=lambda one: -sum(map(_size, one.shapes)))
        for sample in sized[:most]:
            if "string" in sample.input_dtypes:
                continue
            usable = [one for one in backends if get_kernel(name, one) is not None]
            found = {one.backend: one for one in sample_timings(sample, usable)}
            row: dict[str, Any] = {"kernel": name, "sample": sample.id}
            for backend, one in found.items():
                row[f"{backend}_ms"] = round(1e3 * one.seconds, 5)
                row[f"{backend}_gb_per_s"] = round(one.gigabytes_per_second, 4)
            if len(found) == len(BACKENDS):
                row["ratio"] = round(found["cpu"].seconds / found["webgpu"].seconds, 3)
            rows.append(row)
    return rows


def compared(rows: list[dict[str, Any]], earlier: Path) -> list[dict[str, Any]]:
    """Return the rows with how many times as fast each is as in an earlier run's JSON.

    Raises:
        ArgumentError: The file has no such rows.
    """
    try:
        before = {one["sample"]: one for one in json.loads(earlier.read_text())}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArgumentError(f"bench: {earlier} is no earlier run: {error}.") from None
    for row in rows:
        old = before.get(row["sample"], {})
        for backend in BACKENDS:
            key = f"{backend}_ms"
            if key in old and row.get(key):
                row[f"{backend}_times_as_fast"] = round(old[key] / row[key], 3)
    return rows


def show(to: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as a table."""
    headings = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(box=SIMPLE_HEAD)
    for name in headings:
        table.add_column(name.replace("_", " "), justify="left" if name in _TEXT else "right")
    for row in rows:
        table.add_row(*(str(row.get(name, "")) for name in headings))
    to.print(table)


_TEXT = ("kernel", "sample")


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
