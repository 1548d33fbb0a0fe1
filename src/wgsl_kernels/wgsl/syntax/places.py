"""Where something stands in an author's file, and how an error shows it."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

_SHOWN = 200
"""Characters of a line that an error shows at most."""


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

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place; past the last line that is the end."""
        if line > len(self.line_starts):
            return len(self.text)
        return self.line_starts[max(line, 1) - 1] + max(column, 1) - 1

    def line(self, number: int) -> str:
        """Return the line ``number``, counted from 1, without its end."""
        begin = self.line_starts[number - 1]
        end = self.text.find("\n", begin)
        return self.text[begin:] if end < 0 else self.text[begin:end]

    def origin(self, offset: int) -> tuple[Text, Place]:
        """Return the file that an author wrote, and the place in it: this one, unless written."""
        return self, self.place(offset)

    def context(self, offset: int) -> str:
        """Return what errors at a place add to their message."""
        return ""

    def with_more(self, more: str) -> Text:
        """Return the same file with text of ours behind what its author wrote."""
        return Text(self.file, self.text + more)

    def point(self, message: str, offset: int) -> str:
        """Return ``message`` led by the place and followed by the line with a caret."""
        text, place = self.origin(offset)
        return pointed(text, place, f"{message}{self.context(offset)}")


def pointed(text: Text, place: Place, message: str, span: int = 1) -> str:
    """Return ``message`` led by a place of a text, with carets under its characters below it."""
    return f"{place.label}: {message}\n{caret(text.line(place.line), place.column, span)}"


def caret(line: str, column: int, span: int = 1) -> str:
    """Return ``line``, indented, and below it carets under ``span`` characters from ``column`` on.

    Of a line that is very long only what is near the caret is shown.
    """
    before, behind = line[: column - 1], line[column - 1 :]
    if len(line) > _SHOWN:
        half = _SHOWN // 2
        before = before if len(before) <= half else f"…{before[-half:]}"
        behind = behind if len(behind) <= half else f"{behind[:half]}…"
    blanks = "".join("\t" if letter == "\t" else " " for letter in before)
    return f"    {before}{behind}\n    {blanks}{'^' * max(1, min(span, len(behind)))}"


def text_beside(module: str, file: str) -> str:
    """Return a file of WGSL in the folder of a Python module, which is given by its file."""
    return Path(module).with_name(file).read_text(encoding="utf-8")
