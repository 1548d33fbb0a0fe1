"""Where each character of a composed text came from."""

from __future__ import annotations

import bisect
import functools
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from wgsl_kernels.wgsl.errors.errors import ArgumentError
from wgsl_kernels.wgsl.syntax.first_values import types_without_value
from wgsl_kernels.wgsl.syntax.places import Place, Span, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_One = TypeVar("_One")

COMPOSED = "<composed text>"
"""The file name that errors give to text which no author wrote."""


class Segment(NamedTuple):
    """A run of composed text of ``length`` characters.

    ``source`` is the author's file, None for generated text. Where ``exact`` is false the run
    stands in place of what the author wrote at ``offset``, and all of it maps there.
    """

    length: int
    source: Text | None = None
    offset: int = 0
    exact: bool = True


Written: TypeAlias = "tuple[Sequence[tuple[str, int, bool]], Text | None]"
"""Pieces of text with the offset that each stands for and whether it is exact, and their file."""


class Note(NamedTuple):
    """What errors in the segments from ``begin`` to ``end`` tell: a round, or constants."""

    begin: int
    end: int
    label: str
    is_round: bool


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters of an author's file that the composed text has otherwise."""

    span: Span
    replacement: str


@dataclass(frozen=True)
class SourceMap:
    """The composed text and, for each of its places, the author's."""

    composed: Text
    written: tuple[Written, ...] = field(repr=False)
    notes: tuple[Note, ...] = field(default=(), repr=False)

    @functools.cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The runs of the text, in order; only errors ask for them."""
        return tuple(
            Segment(len(text), source, offset, exact)
            for pieces, source in self.written
            for text, offset, exact in pieces
        )

    def origin(self, line: int, column: int) -> tuple[Text, Place]:
        """Return the text that shows the composed place, and the place in it.

        That is the author's file and place, or the composed text and the same place where the
        composer wrote it. Places past the end count as the end.
        """
        if not self.written:
            return self.composed, self.composed.place(0)
        source, offset, _ = self._found(line, column)
        return source.origin(offset)

    def find(self, line: int, column: int) -> Place:
        """Return the author's place of a place in the text; both count from 1.

        A name that was replaced, and the punctuation of our layout, lead to the nearest thing
        that the author wrote.

        Raises:
            ArgumentError: The text has no such line.
        """
        lines = self.composed.text.count("\n") + 1
        if not 1 <= line <= lines:
            raise ArgumentError(f"source_map: line is {line}; the text has lines 1 to {lines}.")
        return self.origin(line, column)[1]

    def context(self, line: int, column: int) -> str:
        """Return what an error at a place adds: the rounds and the constants that matter."""
        if not self.written:
            return ""
        source, offset, at = self._found(line, column)
        around = sorted((n for n in self.notes if n.begin <= at < n.end), key=_outer_first)
        rounds = ", ".join(one.label for one in around if one.is_round)
        constants = ", ".join(one.label for one in around if not one.is_round)
        found = (f"in round {rounds}" if rounds else "", f"with {constants}" if constants else "")
        named = ", ".join(one for one in found if one)
        own = f" {named[0].upper()}{named[1:]}." if named else ""
        return own + source.context(offset)

    def _found(self, line: int, column: int) -> tuple[Text, int, int]:
        """Return the text that a composed place leads to, the offset in it, and the segment."""
        offset = min(self.composed.offset(line, column), len(self.composed.text) - 1)
        at = bisect.bisect_right(self._begins, offset) - 1
        segment = self.segments[at]
        if segment.source is None:
            return self.composed, offset, at
        inside = offset - self._begins[at] if segment.exact else 0
        return segment.source, segment.offset + inside, at

    @functools.cached_property
    def _begins(self) -> list[int]:
        """Where each segment begins; only errors ask for that."""
        return list(accumulate((one.length for one in self.segments[:-1]), initial=0))


def _outer_first(note: Note) -> tuple[int, int]:
    return note.begin, -note.end


@dataclass(frozen=True)
class WrittenText(Text):
    """Text that was written from authors' files, read again as a file."""

    map: SourceMap = field(repr=False, compare=False)

    def origin(self, offset: int) -> tuple[Text, Place]:
        """Return the author's file and the place in it."""
        place = self.place(offset)
        return self.map.origin(place.line, place.column)

    def context(self, offset: int) -> str:
        """Return the rounds and constants around a place."""
        place = self.place(offset)
        return self.map.context(place.line, place.column)


class TextBuilder:
    """A text under construction, from authors' pieces and generated ones."""

    def __init__(self) -> None:
        self._written: list[Written] = []
        self._count = 0
        self._notes: list[Note] = []

    def generate(self, text: str) -> None:
        """Append text that no author wrote."""
        self._append(text, None, 0)

    def quote(self, source: Text, span: Span, edits: Sequence[Edit] = ()) -> None:
        """Append an author's characters, with those edits that lie inside ``span`` made.

        Variables in loops get the values that WGSL gives them; see ``first_values``. What nobody
        wrote, of the file ``COMPOSED``, is generated text here, too.

        Args:
            source: The author's file.
            span: What of it to append.
            edits: Changes, in the order of the text; one inside of another is left out.
        """
        at = span.begin
        origin = None if type(source) is Text and source.file == COMPOSED else source
        for edit in _with_first_values(source, span, edits):
            if not (at <= edit.span.begin and edit.span.end <= span.end):
                continue
            self._append(source.text[at : edit.span.begin], origin, at)
            self._append(edit.replacement, origin, edit.span.begin, exact=False)
            at = edit.span.end
        self._append(source.text[at : span.end], origin, at)

    def write(self, pieces: Sequence[tuple[str, int, bool]], source: Text | None) -> None:
        """Append pieces that stand for what an author wrote at an offset, or are that itself."""
        self._written.append((pieces, source))
        self._count += len(pieces)

    def note(self, begin: int, end: int, label: str, *, is_round: bool = False) -> None:
        """Say what is true of some of the pieces that are written next, counted from 0."""
        self._notes.append(Note(self._count + begin, self._count + end, label, is_round))

    def finish(self) -> SourceMap:
        text = "".join([piece for pieces, _ in self._written for piece, _, _ in pieces])
        return SourceMap(Text(COMPOSED, text), tuple(self._written), tuple(self._notes))

    def _append(self, text: str, source: Text | None, offset: int, *, exact: bool = True) -> None:
        if text:
            self.write([(text, offset, exact)], source)


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
