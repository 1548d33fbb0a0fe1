"""Putting a composed text together: the author's files, what they ask for, and a skeleton.

Only what is used is written: of imported files the declarations that are reached, of the
composer's own functions those that somebody names.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.clashes import numbered, renames
from wgsl_kernels.backends.webgpu.composing.text.composed import PARAMS
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    InstanceFunction,
    Offer,
    functions_of,
)
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.errors.placed import placed_finding
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.names.rename import rename, renamed
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax.places import Span, Text
from wgsl_kernels.wgsl.syntax.source_map import (
    COMPOSED,
    Edit,
    SourceMap,
    TextBuilder,
    WrittenText,
)
from wgsl_kernels.wgsl.syntax.tree import Broken, ConstAssert, Declaration, Directive

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.instances import Instance, InstanceNames
    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.wgsl.names.resolve import Names


@dataclass(frozen=True, slots=True)
class Generated:
    """Declarations that are written, of which is known what reading them would tell.

    Attributes:
        text: They.
        declares: Their names.
        needs: What they take from outside, of WGSL's names and of what the composer has.
        fields: The fields of the parameters that they name.
    """

    text: WrittenText
    declares: frozenset[str]
    needs: frozenset[str]
    fields: tuple[str, ...]


Helper = Callable[[], str | Generated] | InstanceFunction
Written = Text | Generated | InstanceFunction
_NONE: Mapping[str, Callable[[], None]] = MappingProxyType({})
_MOST_UNKNOWN = 20
"""Unknown names that are told at once."""


@dataclass
class Assembly:
    """What goes into one composed text.

    Attributes:
        source: The author's files.
        skeleton: The loop around an op, or None where the author wrote the entry point.
        helpers: What can be written on demand by name: what writes it, or an instance's function.
        offers: Fields that generated text may name as ``wk_params.<name>``.
        dropped: Declarations of the author's to leave out.
        edits: Changes to the author's files.
        written: The generated declarations, in the order in which they were asked for.
        fields: The composer's fields that are needed, in that order.
        uniform: The name of the uniform variable.
        reached: What the text keeps of each file.
        used: The names that anything in the text takes from outside of itself.
        asked: Those that skeleton and generated functions take.
        wanted: Helpers that edits name.
    """

    source: Source
    skeleton: Names | None
    helpers: dict[str, Helper] = field(default_factory=dict[str, Helper])
    offers: dict[str, Offer] = field(default_factory=dict[str, Offer])
    dropped: list[Declaration] = field(default_factory=list[Declaration])
    edits: dict[str, list[Edit]] = field(default_factory=dict[str, list[Edit]])
    written: dict[str, Written] = field(default_factory=dict[str, Written])
    fields: dict[str, Offer] = field(default_factory=dict[str, Offer])
    uniform: str = PARAMS
    reached: dict[str, tuple[Declaration, ...]] = field(
        default_factory=dict[str, tuple[Declaration, ...]]
    )
    used: set[str] = field(default_factory=set[str])
    asked: set[str] = field(default_factory=set[str])
    wanted: list[str] = field(default_factory=list[str])

    def edit(self, text: Text, span: Span, replacement: str) -> None:
        """Have the composed text say ``replacement`` instead of the characters of ``span``."""
        self.edits.setdefault(text.file, []).append(Edit(span, replacement))

    def declares(self, name: str) -> bool:
        """Say whether the skeleton has a name, or something that can be written on demand."""
        own = () if self.skeleton is None else self.skeleton.module.declarations
        return name in self.helpers or any(one.name == name for one in own)

    def drop(self, names: Collection[str]) -> None:
        """Leave out declarations of the author's own file."""
        self.dropped += [one for one in self.source.own.module.declarations if one.name in names]

    def take(
        self,
        instance: Instance,
        naming: InstanceNames,
        checks: Mapping[str, Callable[[], None]] = _NONE,
    ) -> None:
        """Offer the declarations of an instance; ``checks`` are made of those that are taken."""
        self.helpers |= functions_of(instance, naming, checks)

    def resolve(self) -> None:
        """Find all that the author's text and the skeleton need, and write it."""
        imported = self._imported_names()
        dropped, own = {id(one) for one in self.dropped}, self.source.own
        kept = tuple([one for one in own.module.declarations if id(one) not in dropped])
        self.reached[self.source.file] = kept
        pending = [name for one in kept for name in sorted(own.needs_of(one))]
        pending += self.source.offered
        asked = [*self.wanted]
        if self.skeleton is not None:
            asked += sorted(self.skeleton.needs)
            self._note_fields(self.skeleton.members.get(PARAMS, ()))
        reached: set[int] = set()
        for file in self.source.imported:
            for declaration in file.module.declarations:
                if isinstance(declaration, (Broken, ConstAssert)) or not file.module.is_declared:
                    reached.add(id(declaration))
                    pending += sorted(file.needs_of(declaration))
        while asked or pending:
            while asked:
                name = asked.pop()
                if name not in self.asked:
                    self.asked.add(name)
                    if name in self.helpers:
                        asked += self._write(name)
                    else:
                        pending.append(name)
            if not pending:
                break
            name = pending.pop()
            if name in self.used:
                continue
            self.used.add(name)
            if name in imported:
                for declaration in imported[name]:
                    reached.add(id(declaration))
                    pending += sorted(self.source.needs_of(declaration))
            elif name in self.helpers and name not in self.source.declared:
                asked += self._write(name)
        self.used |= self.asked
        for file in self.source.imported:
            kept = tuple(d for d in file.module.declarations if id(d) in reached)
            self.reached[file.text.file] = kept
            self._refuse_accessors(kept)

    def refuse_unknown(self, kernel: str, known: Collection[str]) -> None:
        """Refuse names that the author uses and that nobody declares.

        Args:
            kernel: The kernel's name.
            known: Names that are declared elsewhere: of tensors, of the parameters.

        Raises:
            ShaderError: There are some; the message has the place of the first, the findings those
                of the first few.
        """
        here = self.source.declared | self.helpers.keys() | {*known, PARAMS}
        errors: list[ShaderError] = []
        found: set[str] = set()
        for file in self.source.files:
            kept = self.reached[file.text.file]
            needs = frozenset[str]().union(*map(file.needs_of, kept)) - here
            needs = frozenset([name for name in needs if not is_predeclared(name)])
            begins: list[int] = []
            for use in file.unresolved if needs else ():
                name, begin = use.ident.name, use.ident.begin
                is_new = name in needs and name not in found and _is_within(begin, kept)
                if is_new and len(found) < _MOST_UNKNOWN:
                    found.add(name)
                    begins.append(begin)
            problems = file.problems(here, begins) if begins else ()
            errors += [one.error(file.text, f"{kernel}: ") for one in problems]
        if errors:
            places = [placed_finding(one, kernel) for one in errors]
            errors[0].findings = tuple([one for one in places if one is not None])
            raise errors[0]

    def _refuse_accessors(self, declarations: Iterable[Declaration]) -> None:
        """Refuse what a library calls as the composer calls something of this kernel."""
        for declaration in declarations:
            if declaration.name in self.helpers:
                message = f"the composer has a {declaration.name!r} for this kernel. Rename it."
                raise ShaderError(self.source.point(message, declaration))

    def declarations(self) -> Iterable[Declaration]:
        """Return the author's declarations that the text keeps."""
        return (one for file in self.source.files for one in self.reached[file.text.file])

    def compose(self, head: str, tail: str) -> SourceMap:
        """Return the text: ``head``, the author's files, ``tail``, generated text, skeleton."""
        text = TextBuilder()
        text.generate(head)
        for file in self.source.files:
            for directive in file.module.directives:
                if not _is_enable(directive, {"f16", "subgroups"}):
                    text.quote(file.text, directive.span)
                    text.generate("\n")
        rest = head + tail
        new = numbered(self.source, self.declarations(), self.asked, self.written, rest)
        self._refuse_seconds(new)
        main = self.source.own
        removed = [directive.span for directive in main.module.directives]
        removed += [declaration.span for declaration in self.dropped]
        edits = [*self.edits.get(main.text.file, []), *(Edit(span, "") for span in removed)]
        edits = _in_order([*edits, *renames(main, new, (one.span for one in edits))])
        text.quote(main.text, Span(0, len(main.text.text)), edits)
        for file in self.source.imported:
            edits = self.edits.get(file.text.file, [])
            edits = _in_order([*edits, *renames(file, new, (one.span for one in edits))])
            for declaration in self.reached[file.text.file]:
                text.generate("\n")
                text.quote(file.text, declaration.span, edits)
        text.generate("\n" + tail)
        for written in self.written.values():
            if isinstance(written, InstanceFunction):
                edits = written.edits(self.uniform)
                text.quote(written.text, written.declaration.span, edits)
            elif isinstance(written, Generated):
                own = written.text
                if self.uniform == PARAMS:
                    text.write([(own.text, 0, True)], own)
                else:
                    edits = [*rename(resolve(own), {PARAMS: self.uniform})]
                    text.quote(own, Span(0, len(own.text)), edits)
            else:
                text.generate(renamed(written.text, {PARAMS: self.uniform}))
            text.generate("\n")
        if self.skeleton is not None:
            self._quote_skeleton(text, self.skeleton)
        return text.finish()

    def _refuse_seconds(self, new: Mapping[str, str]) -> None:
        """Refuse a text that has a name twice, once the author's have their new names."""
        found: dict[str, tuple[Declaration, Text]] = {}
        own = [(d, new.get(d.name, d.name), self.source.text_of(d)) for d in self.declarations()]
        ours: list[tuple[Declaration, str, Text]] = []
        taken = {name for _, name, _ in own}
        for written_as, written in self.written.items():
            if isinstance(written, InstanceFunction):
                ours.append((written.declaration, written_as, written.text))
                continue
            text = written.text if isinstance(written, Generated) else written
            if isinstance(written, Text) or not written.declares.isdisjoint(taken):
                ours += [(one, one.name, text) for one in resolve(text).module.declarations]
        if self.skeleton is not None:
            clashing, text = self._clashing(self.skeleton), self.skeleton.text
            for one in self.skeleton.module.declarations:
                ours.append((one, clashing.get(one.name, one.name), text))
        for declaration, name, text in (*own, *ours):
            if name in found:
                first, there = found[name]
                label = there.origin(first.name_span.begin)[1].label
                message = f"{name!r} is given twice; first at {label}."
                raise ShaderError(text.point(message, declaration.name_span.begin))
            if name:
                found[name] = declaration, text

    def _imported_names(self) -> dict[str, list[Declaration]]:
        imported: dict[str, list[Declaration]] = {}
        for file in self.source.imported:
            for declaration in file.module.declarations:
                imported.setdefault(declaration.name, []).append(declaration)
        return imported

    def _write(self, name: str) -> list[str]:
        if name in self.written:
            return []
        helper = self.helpers[name]
        if isinstance(helper, InstanceFunction):
            if helper.check is not None:
                helper.check()
            self.written[name] = helper
            self._note_fields(helper.fields.values())
            return sorted(set(helper.names.values()) - {name})
        made = helper()
        if isinstance(made, Generated):
            self.written[name] = made
            self._note_fields(made.fields)
            return sorted(made.needs)
        self.written[name] = text = Text(COMPOSED, made)
        names = resolve(text)
        self._note_fields(names.members.get(PARAMS, ()))
        return sorted(names.needs)

    def _note_fields(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self.offers:
                self.fields.setdefault(name, self.offers[name])

    def _clashing(self, skeleton: Names) -> dict[str, str]:
        """Return other names for those of the skeleton's that the author has, too."""
        clashing = {d.name for d in skeleton.module.declarations} & self.source.declared
        return {name: f"wk_{name}" for name in clashing}

    def _quote_skeleton(self, text: TextBuilder, skeleton: Names) -> None:
        """Append the skeleton, its names changed where the author has the same."""
        new = {**self._clashing(skeleton), PARAMS: self.uniform}
        edits = _in_order([*self.edits.get(skeleton.text.file, []), *rename(skeleton, new)])
        for declaration in skeleton.module.declarations:
            text.quote(skeleton.text, declaration.span, edits)
            text.generate("\n")


def _is_enable(directive: Directive, names: set[str]) -> bool:
    return directive.keyword == "enable" and names.issuperset(directive.words)


def _is_within(offset: int, declarations: Sequence[Declaration]) -> bool:
    """Say whether one of a file's declarations, which are in its order, covers a place."""
    at = bisect.bisect_right(declarations, offset, key=lambda one: one.begin) - 1
    return at >= 0 and offset < declarations[at].end


def _in_order(edits: Iterable[Edit]) -> list[Edit]:
    return sorted(edits, key=lambda one: one.span.begin)
