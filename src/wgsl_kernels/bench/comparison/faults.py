"""Exceptions of the checks themselves, which are no findings about a kernel."""

from __future__ import annotations

import sys
import traceback
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from wgsl_kernels.wgsl.errors.errors import WgslKernelsError
from wgsl_kernels.wgsl.errors.notebook import is_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from types import CodeType, FrameType

_Given = TypeVar("_Given")
_Other = TypeVar("_Other")

_OWN = ("wgsl_kernels.bench", "wgsl_kernels.simulator")
"""Packages that no author's code is part of."""
_LIBRARIES = {*sys.stdlib_module_names, "numpy"}
"""What raises for whoever called it."""
_seen: ContextVar[list[str] | None] = ContextVar("faults", default=None)


@contextmanager
def collecting() -> Iterator[list[str]]:
    """Collect the words of the faults of a block."""
    seen: list[str] = []
    before = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(before)


def attempted(
    run: Callable[[], _Given],
    otherwise: _Other,
    raising: type[Exception] | tuple[type[Exception], ...] = Exception,
) -> _Given | _Other:
    """Return what ``run`` gives, or ``otherwise`` where it raises.

    A case that a signature or NumPy refuses is none, and what a kernel raises is said where values
    are compared; what the checks themselves raise is collected.
    """
    try:
        return run()
    except raising as error:  # a kernel may raise anything
        note(error)
        return otherwise


def note(error: BaseException) -> bool:
    """Collect an exception where it is one of the checks themselves, and say whether it is."""
    place = _place(error)
    seen = _seen.get()
    words = f"{type(error).__name__}: {error} ({place})"
    if place and seen is not None and words not in seen:
        seen.append(words)
    return bool(place)


def _place(error: BaseException) -> str:
    """Return the line of ours that raised; empty for what others raised, or we on purpose."""
    if isinstance(error, (WgslKernelsError, MemoryError)) or not isinstance(error, Exception):
        return ""
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = _module(frame)
        if module.partition(".")[0] not in _LIBRARIES:
            found = f"{module}:{line}" if module.startswith(_OWN) else ""
    return found


class RaisedAt(NamedTuple):
    """A line of an author's that raised, and the function that was registered, if it is in one."""

    file: str
    line: int
    within: CodeType | None


def raised_at(
    error: BaseException, registered: Collection[CodeType], package: str
) -> RaisedAt | None:
    """Return the author's line that raised an exception; None where we did, or what is no file.

    Of a function that was registered that is the line by which it came to what raised.

    Args:
        error: The exception.
        registered: The code of these functions, with what is inside of them.
        package: The top name of the author's own modules, which may be installed.
    """
    frames = [*traceback.walk_tb(error.__traceback__)]
    first = max((n for n, (frame, _) in enumerate(frames) if frame.f_code in registered), default=0)
    within = frames[first][0].f_code if frames else None
    within = within if within in registered else None
    file, line = "", 0
    for frame, at in frames[first:]:
        top = _module(frame).partition(".")[0]
        if top == "wgsl_kernels":
            if within is not None:
                break
            file = ""  # who called us is no fault of the kernel's
        elif not _is_library(frame, top, package):
            file, line = frame.f_code.co_filename, at
    is_there = bool(file) and (is_cell(file) or Path(file).is_file())
    return RaisedAt(file, line, within) if is_there else None


def passed(error: BaseException, code: CodeType) -> bool:
    """Say whether an exception came through a function."""
    return any(frame.f_code is code for frame, _ in traceback.walk_tb(error.__traceback__))


def raiser(error: BaseException) -> str:
    """Return the name of the module that raised an exception."""
    frames = [*traceback.walk_tb(error.__traceback__)]
    return _module(frames[-1][0]) if frames else ""


def _is_library(frame: FrameType, top: str, package: str) -> bool:
    """Say whether a frame is of Python, or of what was installed and is not the author's."""
    is_installed = not _INSTALLED.isdisjoint(Path(frame.f_code.co_filename).parts)
    return top in _LIBRARIES or (is_installed and top != package)


_INSTALLED = {"site-packages", "dist-packages"}


def _module(frame: FrameType) -> str:
    """Return the name of the module that a frame runs; what the simulator writes is its own."""
    if frame.f_code.co_filename.endswith(" on NumPy>"):
        return "wgsl_kernels.simulator"
    return str(frame.f_globals.get("__name__", ""))
