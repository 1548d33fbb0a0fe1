"""Joining: declarations of several files, printed already, in one text under names of its own.

Whoever joins says which declarations and what their names are in the text. Nothing is read again:
of each file it is known what its names mean, and only they, and what is asked for, are changed.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.linking.rename import rename, unhide
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.names.resolve import names_of, resolve
from wgsl_kernels.wgsl.syntax.edited import edited
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, Edit, SourceMap, TextBuilder, WrittenText
from wgsl_kernels.wgsl.syntax.tree import Var

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Declaration, Directive, Ident

_MEMBER = re.compile(r"\s*\.\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What a joined text has of a file.

    Attributes:
        names: The file.
        declarations: Those that the text has, in its order.
        new: What the text calls names of the file's own level, or from outside of it.
        changes: What it says otherwise, besides; names in there are not changed.
        directives: Those that the text has, before the declarations.
        is_whole: Whether it has what stands between the declarations, too.
    """

    names: Names
    declarations: Sequence[Declaration]
    new: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    changes: Sequence[Edit] = ()
    directives: Sequence[Directive] = ()
    is_whole: bool = False

    def declared(self) -> Iterator[tuple[str, Text, int]]:
        """Yield what is declared, by its name in the text, and where the file has it."""
        for one in self.declarations:
            if one.name:
                yield self.new.get(one.name, one.name), self.names.text, one.name_span.begin

    def quote(self, text: TextBuilder) -> None:
        """Append it, each declaration on lines of its own."""
        edits = self._edits()
        spans = [one.span for one in (*self.directives, *self.declarations)]
        if self.is_whole:
            spans = [Span(0, len(self.names.text.text))]
        for span in spans:
            text.quote(self.names.text, span, edits)
            text.generate("\n")

    def _edits(self) -> list[Edit]:
        changed = [one.span for one in self.changes]
        found = [
            one
            for one in rename(self.names, self.new)
            if not any(span.begin <= one.span.begin < span.end for span in changed)
        ]
        return sorted((*self.changes, *found), key=lambda one: one.span.begin)


@dataclass(frozen=True, slots=True)
class Joined:
    """A text that was joined, as a part of another one, with its names as they are.

    Attributes:
        text: It.
        names: What it declares.
    """

    text: WrittenText
    names: frozenset[str]

    @property
    def excerpt(self) -> Excerpt:
        """The same, read again, so that its names can be changed."""
        names = resolve(self.text)
        return Excerpt(names, names.module.declarations, is_whole=True)

    def declared(self) -> Iterator[tuple[str, Text, int]]:
        """Yield what is declared, and the text without a place in it."""
        for name in self.names:
            yield name, self.text, -1

    def quote(self, text: TextBuilder) -> None:
        """Append it."""
        text.write([(self.text.text, 0, True)], self.text)
        text.generate("\n")


Part: TypeAlias = Excerpt | Joined | str
"""What is joined; strings are generated, and declare nothing that could be declared twice."""


def join(parts: Iterable[Part]) -> SourceMap:
    """Return the text of all parts, one behind the other.

    Raises:
        ShaderError: Two of them declare the same name.
    """
    text = TextBuilder()
    found: dict[str, tuple[Text, int]] = {}
    for part in parts:
        if isinstance(part, str):
            text.generate(part)
            continue
        for name, file, begin in part.declared():
            if name in found:
                first, there = found[name]
                label = first.origin(_begin(first, there, name))[1].label
                message = f"{name!r} is given twice; first at {label}."
                raise ShaderError(file.point(message, _begin(file, begin, name)))
            found[name] = file, begin
        part.quote(text)
    return text.finish()


def joined(parts: Sequence[Part], *more: str) -> Joined:
    """Return the text of parts as a part of another; the strings in it declare ``more``."""
    found = join(parts)
    own = [name for part in parts if not isinstance(part, str) for name, _, _ in part.declared()]
    return Joined(WrittenText(COMPOSED, found.composed.text, found), frozenset((*own, *more)))


def renamed(names: Names, new: Mapping[str, str], more: Sequence[Edit] = ()) -> Text:
    """Return a file with other names, and with more edits; its places are those in the file."""
    return edited(names.text, (*rename(names, new), *more), ())


def unhidden(names: Names, meant: Collection[str]) -> Names:
    """Return a file in whose functions each name is that of one declaration; see `unhide`.

    What it declares itself at its own level keeps its name.
    """
    edits = unhide(names, meant)
    return names_of(parse_source(edited(names.text, edits, ())).module) if edits else names


def cleared(
    files: Sequence[Names],
    declarations: Iterable[Declaration],
    meant: Collection[str],
    taken: Collection[str],
) -> dict[str, str]:
    """Return another name for each declaration whose name means something else in a text.

    Args:
        files: What the declarations are of, no name of which is given to them.
        declarations: Those that the text has.
        meant: Names that mean something else: of WGSL's own functions, of other parts of the text.
        taken: Further names that are not given.

    Raises:
        ShaderError: It is a binding, whose name is that of the tensor.
    """
    found = {one.name: one for one in declarations if one.name in meant}
    if not found:
        return {}
    taken = {*taken, *meant, *(name for file in files for name in _names(file))}
    new: dict[str, str] = {}
    for name, one in sorted(found.items()):
        if isinstance(one, Var) and one.space in ("storage", "uniform"):
            message = f"{name!r} is a name of WGSL's that the text needs. Rename it."
            (text,) = [f.text for f in files if any(one is d for d in f.module.declarations)]
            raise ShaderError(text.point(message, one.name_span.begin))
        numbered = (f"{name}{number}" for number in itertools.count())
        new[name] = next(n for n in numbered if n not in taken and not is_predeclared(n))
        taken.add(new[name])
    return new


def members_of(names: Names, variable: str) -> Iterator[tuple[Ident, str, Span]]:
    """Yield where a variable from outside of a file is used with a member, and the member.

    Raises:
        ShaderError: It is used otherwise.
    """
    for use in names.uses:
        if use.ident.name == variable and use.symbol is None:
            member = _MEMBER.match(names.text.text, use.ident.end)
            if member is None:
                message = f"{variable}: want one of its fields."
                raise ShaderError(names.text.point(message, use.ident.begin))
            yield use.ident, member[1], Span(*member.span(1))


def _begin(text: Text, begin: int, name: str) -> int:
    """Return where a text declares a name, as far as that is not known."""
    if begin >= 0:
        return begin
    declared = resolve(text).module.declarations
    return next(one.name_span.begin for one in declared if one.name == name)


def _names(file: Names) -> Iterator[str]:
    yield from (symbol.name for symbol in file.symbols)
    yield from (use.ident.name for use in file.uses)
