"""A note on a `TypeError` of Python's own: what a keyword of another library is called here.

Python itself refuses a keyword that a function has not, before any line of ours runs. Where nobody
catches that error its traceback gets one more line. Calls that are right cost nothing.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from wgsl_kernels.engine.suggestions import advice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

_UNKNOWN = re.compile(r"(?:\w+\.)*(\w+)\(\) got an unexpected keyword argument '(\w+)'")
_before = sys.excepthook


def note_for(error: BaseException, functions: Mapping[str, object]) -> str:
    """Return what to write in place of the keyword that an error names, or nothing.

    Args:
        error: Any error.
        functions: The public functions by name; of other functions nothing is said.
    """
    found = _UNKNOWN.match(str(error)) if type(error) is TypeError else None
    function = functions.get(found[1]) if found else None
    if found is None or not callable(function):
        return ""
    from wgsl_kernels.engine.parameters import parameters_of

    said = advice("argument", found[2], parameters_of(function).names)
    return said and f"wk.{found[1]}:{said}"


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    try:
        note = note_for(error, vars(sys.modules["wgsl_kernels"]))
        if note and note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    finally:
        _before(kind, error, trace)


def install() -> None:
    """Have uncaught errors pass here before they are printed, as they are otherwise."""
    sys.excepthook = _hook
