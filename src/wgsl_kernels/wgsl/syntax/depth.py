"""Texts and trees that are deep: within the limits, yet deeper than Python's own."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRAMES = 100_000
"""Frames of a chain of the most declarations, each of some nesting."""
_SHORT, _LONG, _LEVELS = 80, 2000, 40
_lock = threading.Lock()
_open: list[int] = []
"""Python's own limit, for each that recurses."""


@contextmanager
def deep_stack() -> Iterator[None]:
    """Have Python recurse as deep as texts within our limits want, which takes no C stack."""
    with _lock:
        _open.append(_open[0] if _open else sys.getrecursionlimit())
        sys.setrecursionlimit(max(_open[0], _FRAMES))
    try:
        yield
    finally:
        with _lock:
            before = _open.pop()
            if not _open:
                sys.setrecursionlimit(before)


def is_deep(text: str) -> bool:
    """Say whether an expression has so many parentheses in others that it wants a name."""
    if len(text) < _SHORT:
        return False
    depth = 0
    for one in text:
        depth += (one in "([") - (one in ")]")
        if depth > _LEVELS:
            return True
    return len(text) > _LONG
