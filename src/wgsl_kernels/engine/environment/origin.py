"""Where in a user's program something was written: owners of names, lines that called an op."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.errors.notebook import folder_of, is_cell, name_of, shown_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_purpose: ContextVar[str] = ContextVar("purpose", default="")
"""What ops are called for, where errors say it: see `called_for`."""
_caller: ContextVar[str] = ContextVar("caller", default="")
"""What calls ops where no line of a program does: see `called_by`."""


@dataclass(frozen=True)
class Origin:
    """A module and a line; ``spec`` tells a module or file that runs again from a second owner."""

    module: str
    file: str
    line: int
    spec: Any = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        is_made_up = self.module.startswith("<")  # of a file that a command runs
        return f"{Path(name_of(self.file)).name if is_made_up else self.module}:{self.line}"

    @property
    def inline(self) -> str:
        """The file name that errors give to text in the Python file.

        Ours have no folder, so that what is kept of them is the same from any working directory.
        """
        file = Path(self.file).name if self.is_ours else shown_file(self.file)
        return f"<inline in {file}:{self.line}>"

    @property
    def folder(self) -> Path:
        """Where its shaders are looked for: beside its file, or beside the notebook."""
        return folder_of(self.file)

    @property
    def is_ours(self) -> bool:
        return _is_ours(self.module)

    def replaces(self, older: Origin) -> bool:
        """Say whether this is ``older`` written again.

        The same line is, whatever its file is imported as, a cell that is run again, a module that
        is reloaded, and a file that ``%run`` or ``runpy`` runs again.
        """
        if self.module != older.module:
            return self.line == older.line and _is_same_file(self.file, older.file)
        if self.spec is not older.spec:
            return self.file == older.file or not isinstance(self.spec, _FileRun)
        return (self.file, self.line) == (older.file, older.line) or is_cell(self.file)


def caller(depth: int = 1) -> Origin:
    """Return the place of the frame ``depth`` levels above the function that asks."""
    return _origin_of(sys._getframe(depth + 1))


def user_line() -> str:
    """Return ``file:line`` of the nearest frame outside this package: who called the op."""
    file, line = user_place()
    return f"{file}:{line}" if line else file


@contextmanager
def called_for(purpose: str) -> Iterator[None]:
    """Have errors of the ops within say, behind the user's line, what they are called for."""
    token = _purpose.set(f", {purpose}")
    try:
        yield
    finally:
        _purpose.reset(token)


@contextmanager
def called_by(what: str) -> Iterator[None]:
    """Have errors of the ops within say this as their caller, where no program of a user runs."""
    token = _caller.set(what)
    try:
        yield
    finally:
        _caller.reset(token)


def call_line() -> str:
    """Return ``file:line`` of who called an op, and what for, if `called_for` says so.

    Of a function around `run` it is that of its caller, too; within `called_by` it is that.
    """
    return f"{_caller.get() or _call_place()}{_purpose.get()}"


def _call_place() -> str:
    frame: FrameType | None = sys._getframe(2)
    inside = ""
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        inside, frame = frame.f_code.co_name, frame.f_back
    if frame is None:
        return user_line()
    nearest, outer = f"{frame.f_code.co_filename}:{frame.f_lineno}", frame.f_back
    is_wrapper = inside in _RUNNING and frame.f_code.co_name != "<module>"
    while outer is not None and _is_ours(outer.f_globals.get("__name__", "")):
        outer = outer.f_back
    if not is_wrapper or outer is None or _is_of_python(outer):
        return nearest
    return f"{outer.f_code.co_filename}:{outer.f_lineno}, through {nearest}"


_RUNNING = ("run", "run_many", "run_kernel")
"""What runs a kernel by its name: a function that calls it is an op itself."""


def _is_of_python(frame: FrameType) -> bool:
    """Say whether a frame is of Python's own modules, as those that run a file or a thread."""
    module = frame.f_globals.get("__name__", "").partition(".")[0]
    return module in sys.stdlib_module_names


def user_code(depth: int) -> tuple[Any, int] | None:
    """Return code and instruction of the nearest frame outside this package, for `line_of`.

    Args:
        depth: How many frames above the caller's are this package's for certain.
    """
    frame: FrameType | None = sys._getframe(depth)
    ours = _ours
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module not in ours and not _is_ours(module):
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


_ours: set[str] = set()
"""Modules of this package that were met; there are only so many."""


def _is_ours(module: str) -> bool:
    if module != "wgsl_kernels" and not module.startswith("wgsl_kernels."):
        return False
    _ours.add(module)
    return True


def line_of(place: tuple[Any, int]) -> str:
    """Return ``file:line`` of a place that `user_code` gave."""
    code, last = place
    lines = (line for start, end, line in code.co_lines() if start <= last < end and line)
    return f"{code.co_filename}:{next(lines, code.co_firstlineno)}"


def user_place() -> tuple[str, int]:
    """Return file and line of the nearest frame outside this package."""
    frame = user_frame()
    return ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def user_frame() -> FrameType | None:
    """Return the nearest frame outside this package; None in a thread that has none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def warn_user(message: str, kind: type[Warning] = RuntimeWarning) -> None:
    """Warn at the nearest line outside this package: once there, as Python's filters have it."""
    frame = user_frame()
    seen = None if frame is None else frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, kind, *user_place(), registry=seen)


def _origin_of(frame: FrameType) -> Origin:
    spaces = frame.f_globals
    return Origin(
        module=spaces.get("__name__", "<unknown>"),
        file=frame.f_code.co_filename,
        line=frame.f_lineno,
        spec=spaces.get("__spec__") or spaces.setdefault(_RUN, _FileRun()),
    )


def _is_same_file(one: str, other: str) -> bool:
    """Say whether two modules were read from one file, not from texts without any."""
    return Path(one).is_file() and Path(one).resolve() == Path(other).resolve()


class _FileRun:
    """One run of a file that no import has run; kept among the names of that run."""


_RUN = "__wgsl_kernels_run__"
