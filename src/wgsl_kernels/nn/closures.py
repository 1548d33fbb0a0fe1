"""The variables that a function has from outside: closure, defaults, what it binds, globals."""

from __future__ import annotations

import dis
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.trees.trees import variables_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = __name__.partition(".")[0]
_CODE = (FunctionType, MethodType, partial)


class OutsideRead(NamedTuple):
    """What a function refers to that holds variables.

    Attributes:
        name: What it is called there.
        value: It.
        variables: Its trainable variables.
    """

    name: str
    value: Any
    variables: list[Variable]


def outside_reads(function: Any) -> list[OutsideRead]:
    """Return what a function refers to that holds trainable variables, and what those it calls do.

    Globals of functions of this package are left out. Of anything but functions, methods and
    partials there is nothing: what an object holds is a part of it.
    """
    found: list[OutsideRead] = []
    seen: set[int] = set()

    def look(value: Any) -> None:
        if id(value) in seen:
            return
        seen.add(id(value))
        for name, one in _references(value):
            if isinstance(one, _CODE):
                look(one)
            elif variables := _trainable(one):
                found.append(OutsideRead(name, one, variables))

    look(function)
    return found


def _trainable(value: Any) -> list[Variable]:
    is_model = isinstance(value, (Variable, dict, list, tuple)) or callable(value)
    if not is_model or isinstance(value, type):
        return []
    return [one for one in variables_of("sequential", value) if one.trainable]


def _references(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function, a method or a partial refers to, with the names it has there."""
    if isinstance(value, partial):
        yield "func", value.func
        yield from ((f"args[{number}]", one) for number, one in enumerate(value.args))
        yield from value.keywords.items()
    elif isinstance(value, MethodType):
        yield "__self__", value.__self__
        yield "__func__", value.__func__
    elif isinstance(value, FunctionType):
        defaults, code = value.__defaults__ or (), value.__code__
        positional = code.co_varnames[: code.co_argcount]
        yield from zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
        yield from (value.__kwdefaults__ or {}).items()
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield name, cell.cell_contents
            except ValueError:  # it is not assigned yet
                continue
        spaces: dict[str, Any] = value.__globals__
        if str(spaces.get("__name__")).partition(".")[0] != _PACKAGE:
            names = sorted(set(_global_names(code)))
            yield from ((name, spaces[name]) for name in names if name in spaces)


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the global names that code reads, and that of functions within it."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(step.argval)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _global_names(one)
