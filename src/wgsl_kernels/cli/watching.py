"""What ``wgsl-kernels check --watch`` does: a verdict at every save, in one process.

The sample rows come first, the other sections behind them, unless another save comes between.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from wgsl_kernels.cli.check import (
    CheckOptions,
    Verdict,
    check_names,
    check_program,
    in_file,
    show,
)
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.snapshot import Snapshot, take_snapshot
from wgsl_kernels.testing.program import KernelScript
from wgsl_kernels.testing.registered import samples_of, set_samples
from wgsl_kernels.testing.report import Report
from wgsl_kernels.wgsl.errors.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from wgsl_kernels.testing.sample import Sample
    from wgsl_kernels.wgsl.errors.finding_codes import Section

ENDINGS = (".py", ".wgsl", ".wesl", ".toml")
FIRST: tuple[Section, ...] = ("compiles", "right")
"""What is answered first, of the sample rows alone."""
SETTLED_MS = 30
"""How long after a change one waits for more of the same save."""


@dataclass
class WatchSession:
    """One file under watch.

    Attributes:
        program: The file.
        asked: What is checked.
        good: The last verdict that passed on the sample rows.
        turns: How many verdicts were given.
    """

    program: KernelScript
    asked: CheckOptions
    good: Verdict | None = None
    turns: int = 0
    _registered: Snapshot | None = field(default=None, repr=False)
    _samples: dict[str, tuple[Sample, ...]] = field(
        default_factory=dict[str, "tuple[Sample, ...]"], repr=False
    )

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels of the last good version; before there is one, those of the file."""
        return tuple(self._samples) or self.program.kernels

    def turn(self) -> Verdict:
        """Run the file as it is now and return the verdict on its sample rows.

        Where it is broken, what the last good version registered is put back behind the verdict,
        so that whatever else runs in this process goes on with that.
        """
        begin = time.perf_counter()
        wanted = tuple(one for one in FIRST if one in self.asked.sections)
        quick = replace(self.asked, sections=wanted, rows_only=True)
        verdict = check_program(self.program, quick)
        verdict.others += self._missing(verdict)
        verdict.seconds = time.perf_counter() - begin
        self.turns += 1
        if verdict.passed():
            self.good = verdict
            self._registered = take_snapshot()
            self._samples = {one: samples_of(one) for one in self.program.kernels}
        elif self._registered is not None:
            self._registered.restore()
            for name, samples in self._samples.items():
                set_samples(name, samples)
        return verdict

    def _missing(self, verdict: Verdict) -> list[Finding]:
        """Return what there is to say of kernels that were asked for and that the file lacks."""
        if self.program.findings:
            return []
        known = ", ".join(verdict.known) or "none"
        return [
            Finding(
                "no-kernel",
                f"the file has no kernel {one!r}; known: {known}.",
                "",
                str(self.program.path),
            )
            for one in self.asked.only
            if one not in verdict.known
        ]

    def rest(self) -> Iterator[Verdict | None]:
        """Yield a verdict on all sections, kernel by kernel, and None behind each section of one.

        So whoever asks may stop where there is another save to look at.
        """
        for name in self.program.kernels:
            if samples_of(name) and (not self.asked.only or name in self.asked.only):
                whole = Verdict([Report(name)])
                for section in self.asked.sections:
                    begin = time.perf_counter()
                    found = check_names([name], replace(self.asked, sections=(section,)))
                    whole.reports[0].rows += [row for one in found.reports for row in one.rows]
                    whole.seconds += time.perf_counter() - begin
                    yield None
                yield whole


def watch_file(
    to: Console, target: str | None, asked: CheckOptions, turns: int | None = None
) -> None:
    """Check a file, and again at every save of it or of what is beside it, until Ctrl-C.

    Args:
        to: Where verdicts are printed.
        target: The file, or ``file.py:Kernel``.
        asked: What is checked.
        turns: How many verdicts to give at most, without end by default.

    Raises:
        ArgumentError: It is no Python file.
    """
    session = session_of(target, asked)
    stop = threading.Event()
    changes = changes_beside(session.program.path, stop)
    pending = _shown(to, session)
    for changed in changes:
        if changed:
            pending = _shown(to, session)
        elif pending is not None:
            for verdict in pending:
                if verdict is not None:
                    show(to, verdict, "text")
                break
            else:
                pending = None
                to.print(Text("watching; Ctrl-C ends", style="dim"))
        if turns is not None and session.turns >= turns:
            stop.set()


def session_of(target: str | None, asked: CheckOptions) -> WatchSession:
    """Return a watch over a file, or over one kernel of it as ``file.py:Kernel``.

    Raises:
        ArgumentError: It is no Python file.
    """
    found = None if target is None else in_file(target)
    if found is not None:
        path, name = found
        return WatchSession(KernelScript.at(path), replace(asked, only=(name,)))
    if target is None or Path(target).suffix != ".py":
        raise ArgumentError("check: --watch wants a Python file that registers kernels.")
    return WatchSession(KernelScript.at(Path(target)), asked)


def changes_beside(file: Path, stop: threading.Event) -> Iterator[set[Any]]:
    """Yield what was saved beside a file, and nothing every 50 ms, until ``stop`` is set."""
    from watchfiles import watch

    return watch(
        file.parent,
        watch_filter=lambda _, path: path.endswith(ENDINGS),
        debounce=SETTLED_MS,
        step=10,
        rust_timeout=50,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
    )


def _shown(to: Console, session: WatchSession) -> Iterator[Verdict | None] | None:
    """Print the verdict on the file as it is now; return what is left to say of it."""
    verdict = session.turn()
    to.rule(time.strftime("%H:%M:%S"))
    show(to, verdict, "text")
    if verdict.passed():
        return session.rest()
    if session.good is not None:
        to.print(Text("the last good version stays registered", style="yellow"))
    return None
