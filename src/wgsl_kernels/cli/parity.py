"""What ``wgsl-kernels parity`` does: hold kernels against float64 on each adapter, as a record.

Each adapter is a process of its own, since a process has one device.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter, list_adapters
from wgsl_kernels.bench.comparison.checks import check_forward, check_gradient_parity, has_gradient
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.registry.registry import kernel_names
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from wgsl_kernels.testing.report import Row

ADAPTER = "WGSL_KERNELS_ADAPTER"


def parity_here(only: Sequence[str] = ()) -> dict[str, Any]:
    """Return the record of the adapter in use.

    Args:
        only: The kernels, all that have samples where it is empty.

    Raises:
        ArgumentError: There is no adapter.
        KernelNotFound: One has no samples.
    """
    _check_names(only)
    choice = choose_adapter()
    if choice is None:
        raise ArgumentError("parity: this machine has no WebGPU adapter.")
    kernels: dict[str, dict[str, Any]] = {}
    failures: list[dict[str, Any]] = []
    for name in kernel_names():
        if only and name not in only:
            continue
        for sample in samples_of(name):
            if "float16" in sample.input_dtypes and "shader-f16" not in choice.info.features:
                continue
            checks: list[tuple[str, Callable[..., Row]]] = [("forward", check_forward)]
            if has_gradient(sample):
                checks.append(("gradient", check_gradient_parity))
            for direction, check in checks:
                dtype = sample.input_dtypes[0] if sample.input_dtypes else "none"
                key = f"{dtype} {direction}"
                try:
                    row = check(sample, "webgpu")
                except Exception as error:  # a kernel may raise anything; the record says so
                    note = f"{type(error).__name__}: {error}"
                    failures.append({"kernel": name, "sample": sample.id, "what": note})
                    continue
                worst = kernels.setdefault(name, {})
                worst[key] = max(worst.get(key, 0.0), round(row.worst_ulp, 3))
                if not row.passed:
                    failures.append({"kernel": name, "sample": sample.id, "what": row.note})
    return {
        "adapter": choice.info.name,
        "backend": choice.info.backend,
        "driver": choice.info.driver,
        "versions": {one: version(one) for one in ("wgsl-kernels", "wgpu", "numpy")},
        "python": platform.python_version(),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "worst_ulp": kernels,
        "failures": failures,
    }


def parity_everywhere(only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return a record per adapter of this machine; one that ends its process has a failure.

    Raises:
        ArgumentError: There is no adapter.
        KernelNotFound: A kernel has no samples.
    """
    _check_names(only)
    records: list[dict[str, Any]] = []
    adapters = list_adapters()
    if not adapters:
        raise ArgumentError("parity: this machine has no WebGPU adapter.")
    for adapter in adapters:
        command = [sys.executable, "-m", "wgsl_kernels", "parity", "--json"]
        for one in only:
            command += ["--only", one]
        run = subprocess.run(
            command,
            env={**os.environ, ADAPTER: str(adapter.index)},
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            records += json.loads(run.stdout)
        except ValueError:
            last = (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
            facts = {"adapter": adapter.name, "backend": adapter.backend, "driver": adapter.driver}
            failure = {"kernel": "", "sample": "", "what": f"the process ended: {last}"}
            records.append({**facts, "worst_ulp": {}, "failures": [failure]})
    return records


def write(records: Sequence[dict[str, Any]], out: Path) -> None:
    """Write records as JSON.

    Raises:
        ArgumentError: The file cannot be written.
    """
    try:
        out.write_text(json.dumps(records, indent=1), encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"parity: {out} cannot be written: {error.strerror}.") from None


def _check_names(only: Sequence[str]) -> None:
    for name in only:
        if not samples_of(name):
            raise KernelNotFound(f"parity: {name!r} has no samples; known kernels: see kernels.")


def show(to: Console, records: Sequence[dict[str, Any]]) -> None:
    """Print records as tables: what failed, and the worst error of each kernel."""
    for one in records:
        to.print(f"{one['adapter']} through {one['backend']}, {one['driver']}")
        table = Table(box=SIMPLE_HEAD)
        table.add_column("kernel")
        table.add_column("worst ULP, by dtype and direction", overflow="fold")
        for name, worst in one["worst_ulp"].items():
            table.add_row(name, ", ".join(f"{key} {value:g}" for key, value in worst.items()))
        to.print(table)
        for failure in one["failures"]:
            to.print(f"FAILED {failure['sample'] or failure['kernel']}: {failure['what']}")
        to.print(f"{len(one['worst_ulp'])} kernels, {len(one['failures'])} failures")
