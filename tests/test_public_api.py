"""The public names, each with its signature and what its docstring begins with.

They are recorded in `recorded/public_api.txt`; `python -m tests.test_public_api` records them anew.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = Path(__file__).parent / "recorded" / "public_api.txt"
INSIDE = {"backends", "cli", "engine", "ops", "testing.samples"}
"""Packages that can be imported and are none of the interface, `wk.engine()` and its like aside."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def public_api() -> list[str]:
    """Return a line for each public name, sorted."""
    return sorted(set(_names("wk", wk, set())))


def _names(name: str, thing: Any, seen: set[int]) -> Iterator[str]:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield _line(name, thing)
    if name.removeprefix("wk.") in INSIDE:
        return
    if isinstance(thing, types.ModuleType):
        for one in sorted(set(dir(thing)) | set(getattr(thing, "__all__", ()))):
            if not one.startswith("_"):
                yield from _member(f"{name}.{one}", getattr(thing, one), seen)
    elif isinstance(thing, type):
        for one in sorted(dir(thing)):
            if not one.startswith("_") and not _is_inherited(thing, one):
                yield _line(f"{name}.{one}", inspect.getattr_static(thing, one))


def _member(name: str, thing: Any, seen: set[int]) -> Iterator[str]:
    """Yield a name of a module: what is ours with its members, other values as they are."""
    module = thing.__name__ if isinstance(thing, types.ModuleType) else ""
    if isinstance(thing, types.ModuleType) and not module.startswith("wgsl_kernels"):
        return
    if isinstance(thing, (types.ModuleType, type)) and id(thing) not in seen:
        yield from _names(name, thing, seen)
    else:
        yield _line(name, thing)


def _is_inherited(kind: type, name: str) -> bool:
    """Say whether a class has a name from one that is not ours."""
    owner = next((one for one in kind.__mro__ if name in vars(one)), object)
    return not owner.__module__.startswith("wgsl_kernels")


def _line(name: str, thing: Any) -> str:
    if isinstance(thing, (staticmethod, classmethod)):
        thing = thing.__func__
    if isinstance(thing, property):
        return f"{name}: property  {_first_line(thing)}".rstrip()
    if isinstance(thing, types.ModuleType):
        return f"{name}: module  {_first_line(thing)}".rstrip()
    if isinstance(thing, enum.Enum) or not callable(thing):
        return f"{name}: {type(thing).__name__}"
    kind = "class " if isinstance(thing, type) else ""
    return f"{name}: {kind}{_signature(thing)}  {_first_line(thing)}".rstrip()


def _signature(thing: Any) -> str:
    try:
        return _ADDRESS.sub("", str(inspect.signature(thing)))
    except (TypeError, ValueError):  # what is written in C has none
        return "(…)"


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def test_the_public_names_are_those_recorded() -> None:
    assert public_api() == RECORDED.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    RECORDED.write_text("".join(f"{one}\n" for one in public_api()), encoding="utf-8")
