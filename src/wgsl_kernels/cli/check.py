"""What ``wgsl-kernels check`` does: run a file's kernels through every section, and tell."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter
from wgsl_kernels.bench.checking.texts import lint_file, lint_kernel
from wgsl_kernels.bench.checking.unsampled import check_unsampled, file_findings
from wgsl_kernels.bench.evidence import keep_evidence
from wgsl_kernels.bench.formats import printed
from wgsl_kernels.cli.output import print_findings, print_json
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.environment.errors import ArgumentError, KernelNotFound
from wgsl_kernels.engine.registry.registry import get_kernel, kernel_names
from wgsl_kernels.testing.kernel import check_kernel
from wgsl_kernels.testing.program import KernelScript, exits_raised
from wgsl_kernels.testing.registered import samples_of
from wgsl_kernels.testing.report import Report
from wgsl_kernels.wgsl.errors.finding_codes import SECTIONS
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from wgsl_kernels.wgsl.errors.finding_codes import Section

SHADERS = (".wgsl", ".wesl")
_LISTED = 12
"""Names that an error lists at most."""


@dataclass(frozen=True)
class CheckOptions:
    """What a user asked for.

    Attributes:
        only: The kernels to check, all where it is empty.
        backends: Where.
        sections: Which sections.
        case: Part of a case's name.
        strict: Whether warnings fail, too.
        rows_only: Whether samples are tried as they stand alone, for a quick verdict.
    """

    only: tuple[str, ...] = ()
    backends: tuple[str, ...] = ("cpu", "webgpu")
    sections: tuple[Section, ...] = SECTIONS
    case: str = ""
    strict: bool = False
    rows_only: bool = False


@dataclass
class Verdict:
    """What a check found of all its kernels.

    Attributes:
        reports: A report per kernel.
        others: Findings of no kernel's report.
        seconds: How long it took.
        known: The kernels that there were to check.
    """

    reports: list[Report] = field(default_factory=list[Report])
    others: list[Finding] = field(default_factory=list[Finding])
    seconds: float = 0.0
    known: list[str] = field(default_factory=list[str])

    @property
    def findings(self) -> list[Finding]:
        return [*self.others, *(one for report in self.reports for one in report.findings)]

    def passed(self, *, strict: bool = False) -> bool:
        bad = ("error", "warning") if strict else ("error",)
        return all(one.passed for one in self.reports) and not any(
            one.severity in bad for one in self.findings
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict in plain Python, as JSON has it."""
        return {
            "passed": self.passed(),
            "seconds": round(self.seconds, 4),
            "findings": [one.to_dict() for one in self.findings],
            "kernels": [one.to_dict() for one in self.reports],
        }


def asked_for(
    only: Sequence[str] | None,
    backends: Sequence[str] | None,
    sections: Sequence[str] | None,
    case: str,
    *,
    strict: bool,
    quick: bool = False,
) -> CheckOptions:
    """Return what the options of the command ask for.

    Raises:
        ArgumentError: A section or a backend is unknown.
    """
    for one in sections or ():
        if one not in SECTIONS:
            raise ArgumentError(f"check: section is {one!r}; want one of {', '.join(SECTIONS)}.")
    for one in backends or ():
        find_driver(one)
    chosen: tuple[Section, ...] = tuple(
        [one for one in SECTIONS if not sections or one in sections]
    )
    return CheckOptions(
        tuple(only or ()), tuple(backends or ("cpu", "webgpu")), chosen, case, strict, quick
    )


def remember(verdict: Verdict) -> None:
    """Keep what a check of whole kernels found, for ``wgsl-kernels kernels``."""
    keep_evidence(verdict.reports)


def check_target(target: str | None, asked: CheckOptions, *, everything: bool = False) -> Verdict:
    """Check a file, a kernel by name, ``file.py:Kernel``, or all kernels that have samples.

    Raises:
        KernelNotFound: There is no such kernel or file.
        ArgumentError: There are no samples.
    """
    begin = time.perf_counter()
    if everything or target is None:
        names = [one for one in kernel_names() if samples_of(one)]
        verdict = check_names(names, asked)
    elif Path(target).suffix in SHADERS:
        if not Path(target).is_file():
            raise ArgumentError(f"check: there is no file {target}.")
        verdict = Verdict(others=_of_file(Path(target)))
    elif Path(target).suffix == ".py" or Path(target).is_file():
        verdict = check_program(KernelScript.at(Path(target)), asked)
    elif (found := in_file(target)) is not None:
        path, name = found
        verdict = check_program(KernelScript.at(path), replace(asked, only=(name,)))
        if name not in verdict.known and not verdict.others:
            known = ", ".join(verdict.known) or "none"
            raise KernelNotFound(f"check: {path} has no kernel {name!r}; known: {known}.")
    elif target in kernel_names():
        verdict = check_names([target], asked)
    else:
        known = ", ".join(one for one in kernel_names() if one[:1] == target[:1]) or "see kernels"
        raise KernelNotFound(f"check: {target!r} is no file and no kernel; near: {known}.")
    verdict.seconds = time.perf_counter() - begin
    return verdict


def in_file(target: str) -> tuple[Path, str] | None:
    """Return the file and the kernel that ``file.py:Kernel`` names, None of another target."""
    path, _, name = target.rpartition(":")
    return (Path(path), name) if Path(path).suffix == ".py" else None


def check_targets(
    targets: Sequence[str], asked: CheckOptions, *, everything: bool = False
) -> Verdict:
    """Check several files or kernels, as `check_target` does each; none are all kernels.

    Raises:
        KernelNotFound: None of them is a kernel that ``only`` names; see also `check_target`.
        ArgumentError: There are files or names and ``everything``; see also `check_target`.
    """
    if targets and everything:
        raise ArgumentError("check: --all is every kernel of the package; name none beside it.")
    whole = Verdict()
    for one in targets or (None,):
        with exits_raised():
            verdict = check_target(one, asked, everything=everything)
        whole.reports += verdict.reports
        whole.others += verdict.others
        whole.seconds += verdict.seconds
        whole.known += verdict.known
    missing = [one for one in asked.only if one not in whole.known]
    if missing and not any(one.code == "file-failed" for one in whole.others):
        listed = ", ".join(whole.known[:_LISTED]) or "none"
        raise KernelNotFound(f"check: --only names {missing[0]!r}; there are: {listed}.")
    return whole


def check_program(program: KernelScript, asked: CheckOptions) -> Verdict:
    """Run a file and check the kernels that it registers."""
    program.run()
    try:
        verdict = check_names([one for one in program.kernels if samples_of(one)], asked)
    except SystemExit as error:  # of a function of the file
        verdict = Verdict(others=[program.failed(error)])
    verdict.known = list(program.kernels)
    verdict.others += [*program.findings, *program.unused()]
    if choose_adapter() is None:  # then nothing is composed
        verdict.others += [found for one in program.kernels for found in lint_kernel(one)]
    elif "webgpu" in asked.backends:
        bare = [one for one in program.kernels if not samples_of(one) and _is_asked(one, asked)]
        found = [check_unsampled(one, asked.sections) for one in bare]
        verdict.reports += [one for one in found if one.rows]
    if not program.kernels and not program.findings:
        words = "the file registers no kernel."
        verdict.others.append(Finding("no-kernel", words, "", str(program.path)))
    return verdict


def check_names(names: Sequence[str], asked: CheckOptions) -> Verdict:
    usable = asked.backends if choose_adapter() is not None else ("cpu",)
    return Verdict(
        [
            check_kernel(one, None, usable, asked.sections, asked.case, rows_only=asked.rows_only)
            for one in names
            if _is_asked(one, asked)
        ],
        known=list(names),
    )


def _is_asked(name: str, asked: CheckOptions) -> bool:
    return not asked.only or name in asked.only


def _of_file(path: Path) -> list[Finding]:
    """Return what is wrong with a shader file: compiled where there is an adapter, else read."""
    return lint_file(path) if choose_adapter() is None else file_findings(path)


def show(to: Console, verdict: Verdict, form: str, *, verbose: bool = False) -> None:
    """Print a verdict in a format.

    Raises:
        ArgumentError: There is no such format.
    """
    if form == "json":
        print_json(verdict.to_dict())
    elif form != "text":
        to.print(printed(verdict.findings, form))
    else:
        for report in verdict.reports:
            _show_report(to, report, verbose=verbose)
        print_findings(to, verdict.others)
        _show_total(to, verdict)


def draw(verdict: Verdict, asked: CheckOptions, folder: Path, to: Console) -> None:
    """Write pictures of what the checked kernels give, and say which.

    Raises:
        ArgumentError: The folder cannot be made, or what draws is not installed.
    """
    from wgsl_kernels.cli.images import write_images, write_roofline

    names = [one.kernel for one in verdict.reports if get_kernel(one.kernel, "cpu") is not None]
    on_gpu = "webgpu" in asked.backends and choose_adapter() is not None
    places = write_images(folder, names, "webgpu" if on_gpu else "cpu")
    if on_gpu and "fast" in asked.sections and write_roofline(folder / "roofline.png", names):
        places.append(folder / "roofline.png")
    for one in places:
        to.print(f"wrote {one}")
    if not places:
        to.print("nothing is like an image: want outputs of at least 8 rows and 8 columns.")


def _show_report(to: Console, report: Report, *, verbose: bool) -> None:
    to.print(Text(report.kernel, style="bold"))
    for section in SECTIONS:
        rows = [one for one in report.rows if one.section == section]
        if not rows:
            continue
        failed = [one for one in rows if not one.passed]
        seconds = sum(one.seconds for one in rows)
        word = f"FAILED {len(failed)} of {len(rows)}" if failed else f"ok, {len(rows)}"
        checks = "check" if len(rows) == 1 else "checks"
        style = "red" if failed else "green"
        to.print(Text.assemble(f"  {section:<10}", (word, style), f" {checks}, {seconds:.2f} s"))
        if verbose or section == "fast":
            for one in rows:
                to.print(f"    {one}")
        print_findings(to, report.found_in(section))


def _show_total(to: Console, verdict: Verdict) -> None:
    names = [one.kernel for one in verdict.reports]
    failed = [one.kernel for one in verdict.reports if not one.passed]
    errors = sum(one.severity == "error" for one in verdict.findings)
    warnings = sum(one.severity == "warning" for one in verdict.findings)
    noun = "kernel" if len(names) == 1 else "kernels"
    noted = f"{len(names)} {noun}, {len(failed)} failed, {errors} errors, {warnings} warnings"
    style = "bold green" if verdict.passed() else "bold red"
    to.print(Text(f"{noted}, {verdict.seconds:.2f} s", style=style))
