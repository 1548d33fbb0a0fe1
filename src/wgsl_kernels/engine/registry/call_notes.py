"""A note on a `TypeError` of Python's own: how a call that it refuses is written here.

Python itself refuses an unknown keyword, an argument too many and a call of what is no function,
before any line of ours runs. Where nobody catches that error its traceback gets one more line, in
a plain interpreter and in IPython. Calls that are right cost nothing.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.suggestions import advice, written_for
from wgsl_kernels.engine.registry.public import public_spaces

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_UNKNOWN = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
_SURPLUS = re.compile(r"([\w.]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+)")
_MISSING = re.compile(r"([\w.]+)\(\) missing \d+ required")
_NO_FUNCTION = re.compile(r"'\w+' object is not callable")
_before = sys.excepthook


def note_for(error: BaseException) -> str:
    """Return what to write in place of the call that an error refuses, or nothing."""
    said = str(error) if type(error) is TypeError else ""
    for pattern, words in (
        (_UNKNOWN, _of_keyword),
        (_SURPLUS, _of_positions),
        (_MISSING, _of_positions),
    ):
        found = pattern.match(said)
        if found is not None:
            name, *rest = found.groups()
            return _of_function(name.removesuffix(".__init__").rpartition(".")[2], words, rest)
    return _of_attribute(error.__traceback__) if _NO_FUNCTION.fullmatch(said) else ""


def _of_function(name: str, words: Callable[..., str], rest: list[str]) -> str:
    """Return the note on a public function or class of ours; of others nothing is said."""
    from wgsl_kernels.engine.environment.parameters import parameters_of

    for space, contents in public_spaces():
        function = contents.get(name)
        if callable(function):
            note = words(name, parameters_of(function), *rest)
            return note and f"{space}.{name}:{note}"
    return ""


def _of_keyword(_name: str, parameters: Any, keyword: str) -> str:
    return advice("argument", keyword, parameters.names)


def _of_positions(name: str, parameters: Any, taken: str = "0", given: str = "0") -> str:
    """Return what a call with too few or too many positional arguments is written as."""
    said = written_for("call", name)
    surplus = parameters.keyword_only[: int(given) - int(taken)]
    if said or not surplus:
        return said
    return f" Give {' and '.join(f'{one}=' for one in surplus)} by keyword."


def _of_attribute(trace: TracebackType | None) -> str:
    """Return the note on ``x.size()`` and its like, read from the line that failed."""
    call = _failed_call(trace)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    said = written_for("called", call.func.attr)
    return said and f"{call.func.attr} is an attribute here, not a method.{said}"


def _failed_call(trace: TracebackType | None) -> ast.expr | None:
    """Return the expression that the last frame was at, where its source is known."""
    import linecache
    from itertools import islice

    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return None
    code = trace.tb_frame.f_code
    line, end, begin, stop = next(islice(code.co_positions(), trace.tb_lasti // 2, None))
    if line is None or end is None:
        return None
    lines = [linecache.getline(code.co_filename, at).encode() for at in range(line, end + 1)]
    lines[-1] = lines[-1][:stop]  # columns count bytes of UTF-8
    try:
        return ast.parse(b"".join(lines)[begin:].decode(), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _noted(error: BaseException) -> None:
    note = note_for(error)
    if note and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    try:
        _noted(error)
    finally:
        _before(kind, error, trace)


def _in_ipython(shell: Any, kind: type, error: Any, trace: Any, tb_offset: Any = None) -> None:
    try:
        _noted(error)
    finally:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def install() -> None:
    """Have uncaught errors pass here before they are printed, as they are otherwise.

    IPython prints errors by itself and has one place for a handler: it is taken where it is free.
    """
    sys.excepthook = _hook
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((TypeError,), _in_ipython)
