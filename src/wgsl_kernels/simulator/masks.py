"""Who is active: masks over the invocations of a dispatch, True and False where all agree.

A value is an array with an element for each invocation, or one number for all of them; vectors,
matrices, arrays and structs are lists of their parts. Values never change: what is written is a
new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def holds(mask: Any) -> bool:
    """Say whether any invocation is active."""
    return mask if mask is True or mask is False else bool(mask.any())


def narrowed(mask: Any, condition: Any) -> Any:
    """Return those of ``mask`` for which a condition holds."""
    if mask is False:
        return False
    if np.ndim(condition) == 0:
        return mask if condition else False
    return condition if mask is True else mask & condition


def excluded(mask: Any, condition: Any) -> Any:
    """Return those of ``mask`` for which a condition does not hold."""
    if mask is False:
        return False
    if np.ndim(condition) == 0:
        return False if condition else mask
    return ~condition if mask is True else mask & ~condition


def joined(one: Any, other: Any) -> Any:
    """Return those that are in one of two masks."""
    if one is True or other is True:
        return True
    if one is False:
        return other
    return one if other is False else one | other


def written(mask: Any, new: Any, old: Any, choose: Callable[..., Any] = np.where) -> Any:
    """Return ``new`` where ``mask`` holds and ``old`` elsewhere, which ``choose`` makes of both."""
    if mask is True or old is None or new is old:
        return new
    if mask is False:
        return old
    if isinstance(new, list):
        return [written(mask, a, b, choose) for a, b in zip(new, old, strict=True)]
    return choose(mask, new, old)


def part_of(value: Sequence[Any], index: Any) -> Any:
    """Return an element of a vector or an array; an index beyond it is that of the last."""
    if np.ndim(index) == 0:
        return value[min(max(int(index), 0), len(value) - 1)]
    if isinstance(value[0], list):
        return [part_of([one[k] for one in value], index) for k in range(len(value[0]))]
    at = np.clip(index, 0, len(value) - 1)
    return np.choose(at, value) if len(value) < 32 else _picked(value, at)


def _picked(value: Sequence[Any], at: Any) -> Any:
    table = np.stack([np.broadcast_to(one, at.shape) for one in value])
    return np.take_along_axis(table, at[None].astype(np.intp), 0)[0]


def with_part(
    value: Any, path: Sequence[Any], new: Any, mask: Any, choose: Callable[..., Any] = np.where
) -> Any:
    """Return a value with another part where ``mask`` holds: ``path`` leads to it by indices."""
    if not path:
        return written(mask, new, value, choose)
    index, rest = path[0], path[1:]
    found = list(value)
    if np.ndim(index) == 0:
        at = min(max(int(index), 0), len(found) - 1)
        found[at] = with_part(found[at], rest, new, mask, choose)
        return found
    at = np.clip(index, 0, len(found) - 1)
    for number, one in enumerate(found):
        here = narrowed(mask, at == number)
        if holds(here):
            found[number] = with_part(one, rest, new, here, choose)
    return found


def each(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function to the components of values, a scalar standing for all components."""
    size = next((len(one) for one in values if isinstance(one, list)), None)
    if size is None:
        return function(*values)
    return [
        each(function, *[one[k] if isinstance(one, list) else one for one in values])
        for k in range(size)
    ]


class Cell:
    """A variable that pointers may point to."""

    __slots__ = ("value",)
    with_part: Callable[..., Any] = staticmethod(with_part)

    def __init__(self, value: Any) -> None:
        self.value = value

    def write(self, path: Sequence[Any], new: Any, mask: Any) -> None:
        """Write it, or a part of it, where ``mask`` holds."""
        self.value = self.with_part(self.value, path, new, mask)


class CellPointer:
    """A pointer to a variable of a function, or to a part of it."""

    __slots__ = ("cell", "path")
    part_of = staticmethod(part_of)

    def __init__(self, start: Cell | CellPointer, path: Sequence[Any] = ()) -> None:
        """Take the variable, or a pointer to what the path begins at."""
        self.cell: Cell = start.cell if isinstance(start, CellPointer) else start
        before: Sequence[Any] = start.path if isinstance(start, CellPointer) else ()
        self.path: tuple[Any, ...] = (*before, *path)

    @property
    def value(self) -> Any:
        found = self.cell.value
        for index in self.path:
            found = self.part_of(found, index)
        return found

    def write(self, path: Sequence[Any], new: Any, mask: Any) -> None:
        """Write what it points to, or a part of that, where ``mask`` holds."""
        self.cell.write((*self.path, *path), new, mask)
