"""Calls that an interrupt must not come into the middle of.

Python raises `KeyboardInterrupt` in the main thread, wherever its next line happens to be: also in
a Python function that C calls back, where nobody can take it, so that it is printed and forgotten,
and with it what the callback was to tell. It raises none in other threads, and none while C code
runs that does not call Python functions. See decisions/0025.
"""

from __future__ import annotations

from operator import call
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def in_one(*calls: Callable[[], Any]) -> Any:
    """Make the calls one after the other; no interrupt comes between functions written in C.

    Returns:
        What the first of them gives.
    """
    first, *_ = list(map(call, calls))
    return first
