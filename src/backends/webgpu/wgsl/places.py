"""Where something stands in an author's file, and how an error shows it."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Place:
    """A line and column of a file, both counted from 1, the column in characters."""

    file: str
    line: int
    column: int

    @property
    def label(self) -> str:
        """Return the place as editors read it: ``file:line:column``."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Span:
    """The characters ``begin`` to ``end`` (exclusive) of one file's text."""

    begin: int
    end: int


@dataclass(frozen=True)
class Text:
    """A file's name and what it holds; line ends are single newlines."""

    file: str
    text: str
    line_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Note where each line begins."""
        lengths = (len(line) + 1 for line in self.text.split("\n")[:-1])
        object.__setattr__(self, "line_starts", tuple(accumulate(lengths, initial=0)))

    def place(self, offset: int) -> Place:
        """Return the place of the character at ``offset``."""
        line = bisect.bisect_right(self.line_starts, offset)
        return Place(self.file, line, offset - self.line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """Return the line ``number``, counted from 1, without its end."""
        return self.text[self.line_starts[number - 1] :].partition("\n")[0]

    def point(self, message: str, offset: int) -> str:
        """Return ``message`` led by the place and followed by the line with a caret."""
        place = self.place(offset)
        return f"{place.label}: {message}\n{caret(self.line(place.line), place.column)}"


def caret(line: str, column: int) -> str:
    """Return ``line``, indented, and below it a caret under ``column`` (counted from 1)."""
    before = "".join("\t" if letter == "\t" else " " for letter in line[: column - 1])
    return f"    {line}\n    {before}^"
