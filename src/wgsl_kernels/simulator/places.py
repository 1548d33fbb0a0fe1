"""Where the values of names are: variables of an invocation's own, and shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.types.kinds import Type


class RefusedError(Exception):
    """What the simulator does not run, at a place of the text."""

    def __init__(self, message: str, begin: int) -> None:
        super().__init__(message)
        self.message, self.begin = message, begin


@dataclass(frozen=True, slots=True)
class Local:
    """A name of a function's: its Python variable, and whether that holds a cell or a pointer."""

    name: str
    is_cell: bool = False


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """A variable of each invocation's own, or a part of it.

    Attributes:
        name: Its Python variable.
        is_cell: Whether that is a cell or a pointer, whose value is read and written.
        path: Indices that lead to the part.
        type: What is there.
    """

    name: str
    is_cell: bool
    path: tuple[str, ...]
    type: Type

    def part(self, index: str, type_: Type) -> OwnPlace:
        return OwnPlace(self.name, self.is_cell, (*self.path, index), type_)


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """A place in memory that invocations share.

    Attributes:
        name: The Python expression of the memory.
        terms: Indices, and the bytes that each counts.
        offset: Bytes beside them.
        type: What is there.
        site: The number of the place in the text.
    """

    name: str
    terms: tuple[tuple[str, int], ...]
    offset: int
    type: Type
    site: int

    def part(self, offset: int, type_: Type, index: str = "", stride: int = 0) -> MemoryPlace:
        """Return a part of it: so many bytes on, and an index that counts ``stride`` bytes."""
        terms = (*self.terms, (index, stride)) if index else self.terms
        return MemoryPlace(self.name, terms, self.offset + offset, type_, self.site)

    def address(self, size: int) -> str:
        """Return the expression of its address, in elements of ``size`` bytes."""
        parts = [_times(one, n, size) for one, n in self.terms]
        if self.offset or not parts:
            parts.append(str(self.offset // size))
        return " + ".join(parts)


Place = OwnPlace | MemoryPlace


def _times(index: str, stride: int, size: int) -> str:
    """Return how many elements of ``size`` bytes an index is that counts ``stride`` bytes."""
    if stride == size:
        return index
    return f"{index} // {size // stride}" if stride < size else f"{index} * {stride // size}"
