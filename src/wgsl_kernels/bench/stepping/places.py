"""What the author wrote at a place of a composed text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.backends.webgpu.composing.text.composed import is_kernels_own
from wgsl_kernels.backends.webgpu.modules.files import is_ours

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.programs.program import ShaderModule
    from wgsl_kernels.wgsl.syntax.places import Place, Span, Text

_LIBRARY = ("lib/", "templates/any_kernel")
"""Where functions are that kernels call as they call WGSL's own."""
_MOST_OTHER = 40
"""Characters by which what the author wrote may be longer or shorter than what is compiled."""


class Written(NamedTuple):
    """A part of an author's file.

    Attributes:
        place: Where it begins.
        text: What is written there.
        line: The whole line.
        is_own: Whether it is the kernel's own, not shared by many.
    """

    place: Place
    text: str
    line: str
    is_own: bool


class AuthorsText:
    """The author's files behind a composed text."""

    def __init__(self, module: ShaderModule, *, is_ours: bool) -> None:
        self._map, self._is_ours = module.source_map, is_ours
        self._known: dict[Span, Written] = {}

    def at(self, span: Span) -> Written:
        """Return what is written for a part of the composed text."""
        if span not in self._known:
            self._known[span] = self._found(span)
        return self._known[span]

    def _found(self, span: Span) -> Written:
        composed = self._map.composed
        begin, end = composed.place(span.begin), composed.place(span.end)
        text, place = self._map.origin(begin.line, begin.column)
        behind, until = self._map.origin(end.line, end.column)
        own = composed.text[span.begin : span.end]
        if behind is text and place.line <= until.line:
            written = _between(text, place, until)
            own = written if abs(len(written) - len(own)) < _MOST_OTHER else own
        line = text.line(place.line).strip()
        return Written(place, " ".join(own.split()).rstrip(";{ "), line, self.is_own(place.file))

    def context(self, span: Span) -> str:
        """Return what else is to say of a place: rounds that are written out, constants."""
        place = self._map.composed.place(span.begin)
        return self._map.context(place.line, place.column).strip()

    def is_own(self, file: str) -> bool:
        """Say whether a file is the kernel's own."""
        return is_kernels_own(file, by_us=self._is_ours)

    def is_shared_function(self, span: Span) -> bool:
        """Say whether a function is of the package's library, or made by the composer."""
        composed = self._map.composed
        place = composed.place(span.begin)
        file = self._map.origin(place.line, place.column)[1].file
        return file.startswith(_LIBRARY) and is_ours(file)


def _between(text: Text, begin: Place, end: Place) -> str:
    """Return what is written from one place to another."""
    lines = [text.line(number) for number in range(begin.line, end.line + 1)]
    lines[-1] = lines[-1][: end.column - 1]
    lines[0] = lines[0][begin.column - 1 :]
    return "\n".join(lines)
