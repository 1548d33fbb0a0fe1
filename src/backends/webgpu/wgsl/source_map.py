"""Where each character of a composed text came from."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from wgsl_kernels.backends.webgpu.wgsl.first_values import types_without_value
from wgsl_kernels.backends.webgpu.wgsl.places import Place, Span, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_One = TypeVar("_One")

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
        offset = min(self.composed.offset(line, column), len(self.composed.text) - 1)
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


class Composition:
    """A text under construction, from authors' pieces and generated ones."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._segments: list[Segment] = []
        self._length = 0

    def generate(self, text: str) -> None:
        """Append text that no author wrote."""
        self._append(text, Segment(self._length))

    def quote(self, source: Text, span: Span, edits: Sequence[Edit] = ()) -> None:
        """Append an author's characters, with those edits that lie inside ``span`` made.

        Variables in loops get the values that WGSL gives them; see ``first_values``.

        Args:
            source: The author's file.
            span: What of it to append.
            edits: Changes, in the order of the text; one inside of another is left out.
        """
        at = span.begin
        for edit in _with_first_values(source, span, edits):
            if not (at <= edit.span.begin and edit.span.end <= span.end):
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


def _with_first_values(source: Text, span: Span, edits: Sequence[Edit]) -> Sequence[Edit]:
    """Return the edits inside ``span``, with those that write the first values of variables."""
    found = _inside(edits, span, _begin_of_edit)
    added = [
        Edit(Span(type_.end, type_.end), f" = {_edited(source, type_, found)}()")
        for type_ in _inside(types_without_value(source), span, _begin_of_span)
    ]
    return sorted((*found, *added), key=_begin_of_edit) if added else found


def _edited(source: Text, span: Span, edits: Sequence[Edit]) -> str:
    parts: list[str] = []
    at = span.begin
    for edit in _inside(edits, span, _begin_of_edit):
        parts += (source.text[at : edit.span.begin], edit.replacement)
        at = edit.span.end
    return "".join((*parts, source.text[at : span.end]))


def _inside(ordered: Sequence[_One], span: Span, begin: Callable[[_One], int]) -> Sequence[_One]:
    """Return those of an ordered sequence that begin inside ``span``."""
    first = bisect.bisect_left(ordered, span.begin, key=begin)
    return ordered[first : bisect.bisect_left(ordered, span.end, first, key=begin)]


def _begin_of_edit(edit: Edit) -> int:
    return edit.span.begin


def _begin_of_span(span: Span) -> int:
    return span.begin
