"""What ``wgsl-kernels parity`` does: have adapters certify kernels, and compare certificates.

Each adapter is a process of its own, since a process has one device.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.progress import track
from rich.table import Table

from wgsl_kernels.backends.webgpu.devices.adapters import ADAPTER_VARIABLE, list_adapters
from wgsl_kernels.bench.parity.certificates import ParityRecord, from_json, lost, read_records
from wgsl_kernels.bench.parity.certify import certified_kernels, certify, machine_of, today
from wgsl_kernels.bench.parity.differences import ParityReport, differences, joined
from wgsl_kernels.bench.parity.matrix import counted, matrix_page
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.environment.files import path_of, write_whole
from wgsl_kernels.testing.program import KernelScript
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo
    from wgsl_kernels.bench.parity.differences import Difference


MOST_LISTED = 5
"""Kernels that a message names."""

SCHEDULER_SECONDS = 10
"""How long a scheduler may take to answer."""


@dataclass(frozen=True)
class Request:
    """Which kernels are to run, and where.

    Attributes:
        only: The kernels, all that have samples where it is empty.
        everywhere: On each adapter of this machine, rather than on the one in use.
        cluster: The address of a Dask scheduler, on whose workers rather than here.
        verify: A file with certificates, whose kernels run again.
        out: Where the result goes, if anywhere.
        scripts: Files of Python that register the kernels that are to run.
    """

    only: tuple[str, ...] = ()
    everywhere: bool = False
    cluster: str = ""
    verify: Path | None = None
    out: Path | None = None
    scripts: tuple[Path, ...] = ()

    def check(self, files: Sequence[Path], *, merge: bool) -> None:
        """Refuse what contradicts itself.

        Raises:
            ArgumentError: There are files without ``merge``, or nothing to merge, or it is asked
                for beside a run, or a cluster beside all adapters, or the result has no folder.
        """
        runs = self.only or self.everywhere or self.cluster or self.verify or self.scripts
        if merge and (runs or not files):
            raise ArgumentError("parity: --merge takes files of certificates, and only --out.")
        if files and not merge:
            raise ArgumentError(f"parity: got {files[0]}; want a .py file, or --merge or --verify.")
        if self.cluster and self.scripts:
            raise ArgumentError(
                f"parity: got {self.scripts[0]} and --cluster; have its workers import it: "
                "client.register_plugin(WorkerSetup(modules=[...])), then name kernels by --only."
            )
        if self.cluster and self.everywhere:
            raise ArgumentError("parity: got --cluster and --all; want one of them.")
        if self.out is not None and not self.out.parent.is_dir():
            raise ArgumentError(f"parity: {self.out} cannot be written: there is no such folder.")


@dataclass(frozen=True)
class Found:
    """What ran, or was merged, and where it differs from what there was.

    Attributes:
        report: A record per machine.
        differing: Certificates that differ, from the file's or within the report.
        verified: The file that was verified; None where there was none.
    """

    report: ParityReport
    differing: Sequence[Difference]
    verified: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing differs that must be equal and, without a file, nothing failed."""
        if any(one.fails for one in self.differing):
            return False
        return self.verified is not None or self.report.passed


def run(request: Request, progress: Console) -> Found:
    """Have kernels certified, and compare with a file where there is one.

    Where the file has no record of a machine, all its records are compared with that machine's.

    Raises:
        ArgumentError: There is no adapter, or no certificate in the file, or Dask is not installed,
            or no scheduler answers.
        KernelNotFound: A kernel has no samples, or the file none that is to run.
    """
    own = _registered(request)
    if request.verify is None:
        report = _certified(request, certified_kernels(own), progress)
        return Found(report, report.contradictions)
    was = read_records(request.verify)
    there = {one.kernel for record in was for one in record.certificates}
    wanted = there & set(certified_kernels(own)) if own else there
    known = tuple(sorted(wanted.intersection(certified_kernels())))
    if not known:
        raise KernelNotFound(_none_to_verify(request.verify, sorted(there), own))
    report = _certified(request, known, progress)
    differing = [
        one
        for record in report.records
        for before in [one for one in was if one.machine == record.machine] or was
        for one in differences(before.of_kernels(wanted), record)
    ]
    return Found(report, (*report.contradictions, *differing), request.verify)


def _registered(request: Request) -> tuple[str, ...]:
    """Return the kernels that are asked for, after running the files that register some.

    Raises:
        ArgumentError: A file is missing, ends in an error, or registers no kernel with samples.
    """
    own: list[str] = []
    for path in request.scripts:
        script = KernelScript.at(path, "parity")
        script.run()
        if script.findings:
            raise ArgumentError(f"parity: {path}: {script.findings[0].message}")
        sampled = [one for one in script.kernels if samples_of(one)]
        if not sampled:
            raise ArgumentError(f"parity: {path} registers no kernel with samples.")
        own += sampled
    return request.only or tuple(own)


def _none_to_verify(file: Path, there: Sequence[str], own: Sequence[str]) -> str:
    """Return the words for a file none of whose certificates is of a kernel that is to be run."""
    listed = ", ".join(there[:MOST_LISTED]) + " and others" * (len(there) > MOST_LISTED)
    if own or not there:
        of = f" of {', '.join(own)}" if own else ""
        return f"parity: {file} has no certificate{of}{'; it has ' * bool(there)}{listed}."
    return (
        f"parity: {file} has certificates of {listed}, and no kernel of these is registered. Give "
        f"the files that register them, too: wgsl-kernels parity FILE.py --verify {file}."
    )


def merged(files: Sequence[Path]) -> Found:
    """Return the records of files, those of the same machine joined.

    Raises:
        ArgumentError: A file cannot be read, or has no certificates.
    """
    report = joined(record for file in files for record in read_records(file))
    return Found(report, report.contradictions)


def write(report: ParityReport, out: Path) -> None:
    """Write records as JSON, or as a page where the file's name ends in ``.md``.

    Raises:
        ArgumentError: The file cannot be written.
    """
    text = matrix_page(report.records) if out.suffix == ".md" else report.to_json()
    try:
        write_whole(path_of("parity", out), [text.encode()])
    except OSError as error:
        raise ArgumentError(f"parity: {out} cannot be written: {error.strerror}.") from None


def _certified(request: Request, names: Sequence[str], progress: Console) -> ParityReport:
    def shown(kernels: Sequence[str]) -> Iterable[str]:
        silent = not progress.is_terminal
        return track(kernels, "kernels", console=progress, transient=True, disable=silent)

    if request.cluster:
        return _on_cluster(request.cluster, names)
    if not request.everywhere:
        return joined([certify(names, shown)])
    adapters = list_adapters()
    if not adapters:
        raise ArgumentError("parity: this machine has no WebGPU adapter.")
    return joined(one for adapter in adapters for one in _in_a_process(adapter, request, names))


def _in_a_process(
    adapter: AdapterInfo, request: Request, names: Sequence[str]
) -> Sequence[ParityRecord]:
    """Return the record of an adapter; where it ended its process, a failure stands in it."""
    command = [sys.executable, "-m", "wgsl_kernels", "parity", "--json", *map(str, request.scripts)]
    for one in names:
        command += ["--only", one]
    on_terminal = sys.stderr.isatty()  # where the process shows its progress itself
    run = subprocess.run(
        command,
        env={**os.environ, ADAPTER_VARIABLE: str(adapter.index)},
        stdout=subprocess.PIPE,
        stderr=None if on_terminal else subprocess.PIPE,
        text=True,
        check=False,
    )
    with suppress(ValueError):
        return from_json(run.stdout)
    last = ((run.stderr or "").strip().splitlines() or [f"exit code {run.returncode}"])[-1]
    certificate = lost("unknown", f"the process ended: {last}")
    return [ParityRecord(machine_of(adapter), today(), (certificate,))]


def _on_cluster(address: str, names: Sequence[str]) -> ParityReport:
    try:
        from distributed import Client

        # By name: that package imports the public one, and folders import one another one way.
        farm = import_module("wgsl_kernels.dask.farm")
    except ImportError:
        raise ArgumentError(
            "parity: --cluster needs Dask: pip install 'wgsl-kernels[dask]'."
        ) from None
    try:
        client = Client(address, timeout=SCHEDULER_SECONDS)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"parity: no Dask scheduler answers at {address!r}: {error}. Want its address, as "
            "tcp://127.0.0.1:8786."
        ) from None
    with client:
        report: ParityReport = farm.parity(client, names)
        return report


def show(to: Console, report: ParityReport) -> None:
    """Print records as tables: the worst error of each kernel, what failed, and what may have."""
    for one in report.records:
        to.print(f"{one.machine}, {one.machine.driver}")
        table = Table(box=SIMPLE_HEAD)
        table.add_column("kernel")
        table.add_column("worst ULP, by dtype and direction", overflow="fold")
        for kernel, rows in groupby(one.certificates, key=lambda row: row.kernel):
            found = [f"{row.dtype} {row.direction} {row.ulp:.3g}" for row in rows]
            table.add_row(kernel, ", ".join(found))
        to.print(table)
        failures = [(row, why) for row in one.certificates for why in row.failures]
        warnings = [(row, why) for row in one.certificates for why in row.warnings]
        for said, rows_of in (("FAILED", failures), ("warning", warnings)):
            for row, why in rows_of:
                to.print(f"{said} {row.kernel}, {row.dtype} {row.direction}: {why}")
        kernels = counted(len({row.kernel for row in one.certificates}), "kernel")
        to.print(f"{kernels}, {counted(len(failures), 'failure')}")


def show_differences(to: Console, found: Found) -> None:
    """Print where certificates differ, and of a file that was verified how it compares."""
    failing = [one for one in found.differing if one.fails]
    if failing:
        first, *others = failing
        to.print(f"DIFFERS first in {first}")
        for one in others:
            to.print(f"DIFFERS {one}")
    elif found.differing:
        most = max(found.differing, key=lambda one: one.ulp)
        to.print(f"equal verdicts on another machine; errors that differ: {len(found.differing)}")
        to.print(f"most in ULP: {most}")
    elif found.verified is not None:
        to.print("equal to the last digit")
