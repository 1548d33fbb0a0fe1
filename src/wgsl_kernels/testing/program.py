"""A Python file that registers kernels: run, looked through, and run again after an edit."""

from __future__ import annotations

import importlib
import linecache
import os
import runpy
import sys
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from wgsl_kernels.engine.environment.errors import ArgumentError, ShaderError
from wgsl_kernels.engine.environment.suggestions import nearest
from wgsl_kernels.engine.registry.gradients import gradient_rules
from wgsl_kernels.engine.registry.registry import kernel_names, kernel_table
from wgsl_kernels.engine.registry.signature import signature_table
from wgsl_kernels.engine.registry.snapshot import Snapshot, take_snapshot
from wgsl_kernels.testing.importing import imported_file
from wgsl_kernels.testing.registered import drop_samples, sampled_kernels, samples_of
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.errors.placed import placed_finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from wgsl_kernels.engine.environment.origin import Origin
    from wgsl_kernels.testing.importing import ImportedFile

RUN_NAME = "<check>"
"""What ``__name__`` is in the file."""


@dataclass
class KernelScript:
    """One file with what it registers.

    Attributes:
        path: The file.
        kernels: The kernels that it registered, in order, but for gradients that are derived: they
            are judged by the samples of their ops.
        findings: Why it did not run to its end.
        modules: The modules beside it that it imported.
    """

    path: Path
    kernels: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    modules: tuple[str, ...] = ()
    _before: Snapshot | None = field(default=None, repr=False)
    _others: dict[str, list[Any]] = field(default_factory=dict[str, "list[Any]"], repr=False)

    @classmethod
    def at(cls, path: Path, command: str = "check") -> KernelScript:
        """Return the program of a file, which has not run yet.

        Raises:
            ArgumentError: There is no such file; ``command`` leads the message.
        """
        if not path.is_file():
            raise ArgumentError(f"{command}: there is no file {path}.")
        return cls(path.resolve())

    @property
    def files(self) -> set[Path]:
        """The files that it was made of: itself and the modules beside it."""
        found = {self.path}
        for name in self.modules:
            file = getattr(sys.modules.get(name), "__file__", None)
            if file is not None:
                found.add(Path(file).resolve())
        return found

    def run(self, imported: ImportedFile | None = None) -> None:
        """Run the file, after dropping all that its run before has registered.

        Args:
            imported: How to import it, once for all who do; None to run it by itself.
        """
        self.drop()
        before = take_snapshot()
        loaded = set(sys.modules)
        known = set(sampled_kernels())
        self._before, self.findings = before, ()
        importlib.invalidate_caches()
        linecache.checkcache()
        try:
            with beside(self.path.parent if imported is None else imported.folder):
                if imported is None:
                    execute(self.path, RUN_NAME)
                else:
                    importlib.import_module(imported.name)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.findings = (self.failed(error),)
        folder = str(self.path.parent)
        self.modules = tuple(
            name
            for name in sys.modules.keys() - loaded
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(folder)
        )
        added = [name for name in sampled_kernels() if name not in known]
        new = before.kernels()
        if imported is not None and not new:  # somebody has imported it before
            new = imported.kernels()
        own = [one for one in new if one in added or not _is_made(one)]
        self.kernels = tuple(dict.fromkeys([*own, *added]))
        changed = before.changed()
        self._others = {kind: changed[kind] for kind in ("signature", "gradient")}

    def failed(self, error: BaseException) -> Finding:
        """Return what the file, or a function of it, raised, at the last of its own lines."""
        return _raised(error, self.path)

    def drop(self) -> None:
        """Take out of the registries what the last run has registered."""
        if self._before is None:
            return
        self._before.restore()
        for name in self.kernels:
            drop_samples(name)
        for name in self.modules:
            sys.modules.pop(name, None)
        self._before, self.kernels, self.modules = None, (), ()

    def unused(self) -> list[Finding]:
        """Return a finding for each kernel that nothing tries, and for what no kernel has."""
        words = "has no samples. Write wk.testing.add_samples({0!r}, Sample({0!r}, f, shapes))."
        untried = [
            Finding("no-samples", words.format(name), name, str(self.path))
            for name in self.kernels
            if not samples_of(name) and not self.findings  # a file that failed may have stopped
        ]
        tables: dict[str, Mapping[str, Any]] = {
            "signature": signature_table(),
            "gradient": gradient_rules(),
        }
        vain = [
            _in_vain(kind, name, tables[kind][name].origin, self.kernels)
            for kind, names in self._others.items()
            for name in names
            if name in tables[kind] and name not in kernel_names() and not self.findings
        ]
        return [*untried, *vain]


def _in_vain(kind: str, name: str, origin: Origin, kernels: Sequence[str]) -> Finding:
    """Return the finding for a signature or a gradient of a name that no kernel has."""
    near = nearest(name, kernels)
    words = f"no kernel is called {name!r}, of which this is the {kind}."
    words += f" Did you mean {near!r}?" if near else ""
    return Finding("no-such-kernel", words, name, origin.file, origin.line)


def _is_made(name: str) -> bool:
    """Say whether a kernel was made of another's shader."""
    from wgsl_kernels.backends.derived.maps import MadeShader  # only where kernels are checked

    found = [one.func for (own, _), one in kernel_table().copy().items() if own == name]
    return any(isinstance(one, MadeShader) for one in found)


@contextmanager
def beside(folder: Path) -> Iterator[None]:
    """Have modules of a file's folder be found, and compiled anew: two saves may share a second."""
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    try:
        with exits_raised():
            yield
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = writes


@contextmanager
def exits_raised() -> Iterator[None]:
    """Have ``os._exit`` raise as ``sys.exit`` does, but in processes that are forked."""
    end, process = os._exit, os.getpid()

    def ended(status: int) -> NoReturn:
        if os.getpid() != process:
            end(status)
        raise SystemExit(status)

    os._exit = ended
    try:
        yield
    finally:
        os._exit = end


def execute(path: Path, name: str) -> dict[str, Any]:
    """Run a file under a name, and return its names.

    One of a package runs as its module: it may import others of it by dots.
    """
    whole = path.resolve()
    found = imported_file(whole) if (whole.parent / "__init__.py").is_file() else None
    if found is None:
        return runpy.run_path(str(path), run_name=name)
    with beside(found.folder), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'.*' found in sys.modules", RuntimeWarning)
        return runpy.run_module(found.name, run_name=name)


def _raised(error: BaseException, path: Path) -> Finding:
    """Return what a file raised, at the last of its own lines."""
    if isinstance(error, ShaderError):
        found = error.findings[0] if error.findings else placed_finding(error)
        if found is not None:
            return found
    if isinstance(error, SyntaxError) and error.filename:
        line, column = error.lineno or 1, error.offset or 1
        words = f"SyntaxError: {error.msg}"
        source = (error.text or "").rstrip("\n")
        return Finding("file-failed", words, "", error.filename, line, column, 1, source)
    line, source = _last_line(error.__traceback__, path)
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, SystemExit):
        words += ". The file ends the process; write what ends it under __name__ == '__main__'."
    return Finding("file-failed", words, "", str(path), line, 1, 1, source)


def _last_line(trace: TracebackType | None, path: Path) -> tuple[int, str]:
    frames = [one for one in traceback.extract_tb(trace) if Path(one.filename) == path]
    if not frames:
        return 1, ""
    return frames[-1].lineno or 1, frames[-1].line or ""
