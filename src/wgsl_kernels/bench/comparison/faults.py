"""Exceptions of the checks themselves, which are no findings about a kernel."""

from __future__ import annotations

import sys
import traceback
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.wgsl.errors.errors import WgslKernelsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

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
    run: Callable[[], _Given], otherwise: _Other, raising: type[Exception] = Exception
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


def _module(frame: FrameType) -> str:
    """Return the name of the module that a frame runs; what the simulator writes is its own."""
    if frame.f_code.co_filename.endswith(" on NumPy>"):
        return "wgsl_kernels.simulator"
    return str(frame.f_globals.get("__name__", ""))
