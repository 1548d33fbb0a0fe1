"""A file with other names and without what is not WGSL, whose places are the author's."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.syntax.places import Place, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.wgsl.syntax.places import Span
    from wgsl_kernels.wgsl.syntax.source_map import Edit


@dataclass(frozen=True)
class EditedText(Text):
    """What a compiler is to read in place of the file ``original``; both have the same lines."""

    original: Text = field(repr=False, compare=False)
    begins: tuple[int, ...] = field(repr=False, compare=False)
    shifts: tuple[tuple[int, int, int], ...] = field(repr=False, compare=False)
    known: Any = field(default=None, repr=False, compare=False)
    """The `Names` of its module, where those of the original are the same; else None."""

    def original_offset(self, offset: int) -> int:
        """Return where the original has the character at ``offset``, or what it stands for."""
        at = bisect.bisect_right(self.begins, offset) - 1
        if at < 0:
            return offset
        begin, end, behind = self.shifts[at]
        return begin if offset < end else offset - end + behind

    def place(self, offset: int) -> Place:
        """Return where the author has the character at ``offset``, or what it stands for."""
        return self.original.place(self.original_offset(offset))

    def origin(self, offset: int) -> tuple[Text, Place]:
        """Return the author's file and the place in it."""
        return self.original.origin(self.original_offset(offset))

    def context(self, offset: int) -> str:
        """Return what errors at a place of the original add to their message."""
        return self.original.context(self.original_offset(offset))

    def line(self, number: int) -> str:
        """Return the author's line ``number``."""
        return self.original.line(number)


def edited(
    original: Text, edits: Iterable[Edit], removed: Iterable[Span], names: Any = None
) -> Text:
    """Return ``original`` with edits made, each within a line, and blanks for what is removed.

    ``names`` are those of the original's module, with which the text is not read again if it has
    no edits.
    """
    letters = original.text
    for span in removed:
        lines = letters[span.begin : span.end].split("\n")
        blanks = "\n".join(" " * len(line) for line in lines)
        letters = letters[: span.begin] + blanks + letters[span.end :]
    parts: list[str] = []
    begins: list[int] = []
    shifts: list[tuple[int, int, int]] = []
    at = length = 0
    for edit in sorted(edits, key=lambda one: one.span.begin):
        parts += (letters[at : edit.span.begin], edit.replacement)
        length += edit.span.begin - at
        begins.append(length)
        length += len(edit.replacement)
        shifts.append((edit.span.begin, length, edit.span.end))
        at = edit.span.end
    parts.append(letters[at:])
    return EditedText(
        original.file,
        "".join(parts),
        original,
        tuple(begins),
        tuple(shifts),
        None if begins else names,
    )
