"""What is different in a notebook: names of cells, the folder beside it, errors without frames."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType


def is_cell(file: str) -> bool:
    """Say whether code of this file name was typed in rather than read from a file."""
    return file.startswith("<") or "ipykernel" in file


def name_of(file: str) -> str:
    """Return how errors name a file: a cell as ``In[3]``, as IPython itself does."""
    if not is_cell(file):
        return file
    shell = _shell()
    named = None if shell is None else shell.compile.format_code_name(file)
    return file if named is None else str(named[1])


def shown_file(file: str) -> str:
    """Return a file as places name it: relative to the working directory where it is below."""
    if is_cell(file) or not Path(file).is_absolute():
        return name_of(file)
    try:
        near = os.path.relpath(file)
    except (ValueError, OSError):  # on another drive; or there is no working directory any more
        return file
    return file if near.startswith("..") else near


def folder_of(file: str) -> Path:
    """Return the folder in which a program looks for its shaders; of a cell the notebook's."""
    if not is_cell(file):
        return Path(file).parent
    shell = _shell()
    path = None if shell is None else shell.user_ns.get("__vsc_ipynb_file__")
    return Path.cwd() if path is None else Path(path).parent  # else a server starts it there


_NOT_THE_USERS = ("wgsl_kernels", "IPython", "numpy", "contextlib", "functools")
_FRAMES = 8
"""How many frames a short traceback shows at most: the first and the last ones."""


def _wants_frames() -> bool:
    return False


def show_frames_if(wanted: Callable[[], bool]) -> None:
    """Have ``wanted`` say at each error whether notebooks show all of its frames."""
    global _wants_frames
    _wants_frames = wanted


class ShortTraceback:
    """An error that notebooks show with the user's own lines that met it, and no other frames.

    What `show_frames_if` was given may have them shown.
    """

    __traceback__: TracebackType | None

    def _render_traceback_(self) -> Sequence[str]:
        """Return what IPython shows."""
        if _wants_frames():
            shell = _shell()
            assert shell is not None  # who else calls this?
            full: list[str] = shell.InteractiveTB.structured_traceback(
                type(self), self, self.__traceback__
            )
            return full
        notes: Sequence[str] = getattr(self, "__notes__", ())
        said = f"{type(self).__name__}: {self}"
        return [*_user_frames(self.__traceback__), "", said, *notes]


def _user_frames(trace: TracebackType | None) -> list[str]:
    """Return the lines of the user's own that an error came through, outermost first."""
    import linecache

    found: list[str] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in _NOT_THE_USERS:
            line = linecache.getline(code.co_filename, trace.tb_lineno).strip()
            found.append(f"{name_of(code.co_filename)}:{trace.tb_lineno}: {line}")
        trace = trace.tb_next
    if len(found) > _FRAMES:
        found[1 : 2 - _FRAMES] = [f"… {len(found) - _FRAMES + 1} frames more"]
    return found


def _shell() -> Any:
    """Return IPython's shell where this runs in one."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()
