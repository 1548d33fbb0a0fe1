"""Text that stands in a Python file: its places are that file's, where it is found there once."""

from __future__ import annotations

import functools
import linecache
from dataclasses import dataclass, field
from typing import NamedTuple

from wgsl_kernels.wgsl.errors.notebook import shown_file
from wgsl_kernels.wgsl.syntax.places import Place, Text

_python_files: dict[str, str] = {}
"""The Python file that a label such as ``<inline in ops.py:12>`` speaks of."""


class _InlinePosition(NamedTuple):
    """Where a text begins in its Python file.

    Attributes:
        line: The line of its first one, counted from 1.
        first: The characters before its first line.
        others: Those before all other lines, which may be indented there.
    """

    line: int
    first: int
    others: int


def note_python_file(label: str, file: str) -> None:
    """Note the Python file of a label; the latest one counts."""
    _python_files[label] = file


def inline_text(label: str, text: str) -> Text:
    """Return a text under the label that stands for its file."""
    python_file = _python_files.get(label)
    return Text(label, text) if python_file is None else InlineText(label, text, python_file)


@dataclass(frozen=True)
class InlineText(Text):
    """Text in the Python file ``home``; it is looked for there when a place is first asked for.

    Of the characters the first ``count`` are there, all by default; what is behind is ours, and has
    the place of the last one.
    """

    python_file: str
    count: int | None = field(default=None, compare=False)

    def place(self, offset: int) -> Place:
        """Return the place in the Python file, or in the text where that does not have it once."""
        found = self._found
        if found is None:
            return super().place(offset)
        inside = super().place(offset if self.count is None else min(offset, self.count - 1))
        before = found.first if inside.line == 1 else found.others
        return Place(self._shown, found.line + inside.line - 1, inside.column + before)

    def line(self, number: int) -> str:
        """Return the line ``number`` of what `place` speaks of."""
        if self._found is None:
            return super().line(number)
        return linecache.getline(self.python_file, number).rstrip("\n")

    def with_more(self, more: str) -> Text:
        """Return the same text with more behind it that the Python file does not have."""
        count = len(self.text) if self.count is None else self.count
        return InlineText(self.file, self.text + more, self.python_file, count)

    @functools.cached_property
    def _shown(self) -> str:
        """The file as errors name it: relative to the working directory where it is below."""
        return shown_file(self.python_file)

    @functools.cached_property
    def _found(self) -> _InlinePosition | None:
        wanted = self.text[: self.count].split("\n")
        linecache.checkcache(self.python_file)
        written = [one.rstrip("\n") for one in linecache.getlines(self.python_file)]
        found: list[_InlinePosition] = []
        for at in range(len(written) - len(wanted) + 1):
            one = _at(wanted, written[at : at + len(wanted)])
            if one is not None:
                found.append(one._replace(line=at + 1))
        return found[0] if len(found) == 1 else None


def _at(wanted: list[str], written: list[str]) -> _InlinePosition | None:
    """Return how a text stands in lines of a file: indented alike, quotes around it."""
    first, last = wanted[0], wanted[-1]
    if len(wanted) < 2 or not written[0].endswith(first):
        return None
    inner = [(one, line) for one, line in zip(wanted[1:-1], written[1:-1], strict=True) if one]
    if not inner:
        return None
    indent = len(inner[0][1]) - len(inner[0][0])
    blanks = " " * max(indent, 0)
    if indent < 0 or any(line != blanks + one for one, line in inner):
        return None
    if not written[-1].startswith((blanks + last) if last else ""):
        return None
    return _InlinePosition(0, len(written[0]) - len(first), indent)
