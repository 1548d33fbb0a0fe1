"""Where each character of a composed text came from."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.wgsl.places import Place, Span, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPOSED = "<composed text>"
"""The file name that errors give to text which no author wrote."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of composed text beginning at ``begin``.

    ``source`` is the author's file, None for generated text. Where ``exact`` is false the run
    stands in place of what the author wrote at ``offset``, and all of it maps there.
    """

    begin: int
    source: Text | None = None
    offset: int = 0
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters of an author's file that the composed text has otherwise."""

    span: Span
    replacement: str


@dataclass(frozen=True)
class SourceMap:
    """The composed text and, for each of its places, the author's."""

    composed: Text
    segments: tuple[Segment, ...]

    def origin(self, line: int, column: int) -> tuple[Text, Place]:
        """Return the text that shows the composed place, and the place in it.

        That is the author's file and place, or the composed text and the same place where the
        composer wrote it. Places past the end count as the end.
        """
        if not self.segments:
            return self.composed, self.composed.place(0)
        offset = self._offset(line, column)
        at = bisect.bisect_right(self.segments, offset, key=lambda s: s.begin) - 1
        segment = self.segments[at]
        if segment.source is None:
            return self.composed, self.composed.place(offset)
        inside = offset - segment.begin if segment.exact else 0
        return segment.source, segment.source.place(segment.offset + inside)

    def find(self, line: int, column: int) -> Place:
        """Return the author's place of a place in the text; both count from 1.

        A name that was replaced, and the punctuation of our layout, lead to the nearest thing
        that the author wrote. Places past the end count as the end.
        """
        return self.origin(line, column)[1]

    def _offset(self, line: int, column: int) -> int:
        starts = self.composed.line_starts
        if line > len(starts):
            return max(len(self.composed.text) - 1, 0)
        return min(starts[max(line, 1) - 1] + max(column, 1) - 1, len(self.composed.text) - 1)


class Composition:
    """A text under construction, from authors' pieces and generated ones."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._segments: list[Segment] = []
        self._length = 0

    def generate(self, text: str) -> None:
        """Append text that no author wrote."""
        self._append(text, Segment(self._length))

    def quote(self, source: Text, span: Span, edits: Iterable[Edit] = ()) -> None:
        """Append an author's characters, with those edits that lie inside ``span`` made."""
        at = span.begin
        for edit in sorted(edits, key=lambda e: e.span.begin):
            if not (span.begin <= edit.span.begin and edit.span.end <= span.end):
                continue
            self._append(source.text[at : edit.span.begin], Segment(self._length, source, at))
            anchor = Segment(self._length, source, edit.span.begin, exact=False)
            self._append(edit.replacement, anchor)
            at = edit.span.end
        self._append(source.text[at : span.end], Segment(self._length, source, at))

    def write(self, text: str, source: Text, offset: int, *, exact: bool) -> None:
        """Append text that stands for what an author wrote at ``offset``, or is that itself."""
        self._append(text, Segment(self._length, source, offset, exact))

    def finish(self) -> SourceMap:
        """Return the text and its map."""
        return SourceMap(Text(COMPOSED, "".join(self._parts)), tuple(self._segments))

    def _append(self, text: str, segment: Segment) -> None:
        if text:
            self._parts.append(text)
            self._segments.append(segment)
            self._length += len(text)
