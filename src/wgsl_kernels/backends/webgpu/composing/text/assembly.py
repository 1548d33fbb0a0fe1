"""What goes into a composed text: of the author's files, of what they ask for, of a skeleton.

Only what is used is written: of imported files the declarations that are reached, of the
composer's own functions those that somebody names.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.text.composed import PARAMS
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    InstanceFunction,
    functions_of,
    names_of,
    offers_of,
)
from wgsl_kernels.backends.webgpu.composing.text.params import Offer
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.errors.placed import placed_finding
from wgsl_kernels.wgsl.linking.joining import Excerpt, Joined, cleared, join
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.names.resolve import Names, resolve
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.source_map import COMPOSED, Edit
from wgsl_kernels.wgsl.syntax.tree import Broken, ConstAssert, Declaration, Directive

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
    from wgsl_kernels.backends.webgpu.composing.text.instances import InstanceNames
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.linking.joining import Part
    from wgsl_kernels.wgsl.syntax.places import Span
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap


@dataclass(frozen=True, slots=True)
class Generated:
    """Declarations that are written, of which is known what reading them would tell.

    Attributes:
        needs: What they take from outside, of WGSL's names and of what the composer has.
    """

    joined: Joined
    needs: frozenset[str]
    fields: tuple[str, ...]


Helper = Callable[[], str | Generated] | InstanceFunction
Written = Names | Generated | InstanceFunction
_NONE: Mapping[str, Callable[[], None]] = MappingProxyType({})
_MOST_UNKNOWN = 20
"""Unknown names that are told at once."""


@dataclass
class Assembly:
    """What goes into one composed text.

    Attributes:
        loop: What is around an op, or None where the author wrote the entry point.
        skeleton: Its text.
        helpers: What can be written on demand by name: what writes it, or an instance's function.
        offers: Fields that generated text may name as ``wk_params.<name>``.
        written: The generated declarations, in the order in which they were asked for.
        fields: The composer's fields that are needed, in that order.
        reached: What the text keeps of each file.
        used: The names that anything in the text takes from outside of itself.
        asked: Those that skeleton and generated functions take.
        wanted: Helpers that edits name.
    """

    source: Source
    loop: Instance | None
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
    skeleton: Names | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Offer the parameters that the loop wants of the host."""
        if self.loop is not None:
            self.skeleton = names_of(self.loop)
            self.offers |= offers_of(self.loop)

    def edit(self, text: Text, span: Span, replacement: str) -> None:
        """Have the composed text say ``replacement`` instead of the characters of ``span``."""
        self.edits.setdefault(text.file, []).append(Edit(span, replacement))

    def declares(self, name: str) -> bool:
        """Say whether the skeleton has a name, or something that can be written on demand."""
        own = () if self.skeleton is None else self.skeleton.module.declarations
        return name in self.helpers or any(one.name == name for one in own)

    def drop(self, names: Collection[str]) -> None:
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

        ``known`` are the names that are declared elsewhere: of tensors, of the parameters.

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
        return (one for file in self.source.files for one in self.reached[file.text.file])

    def compose(self, head: str, tail: str) -> SourceMap:
        """Return the text: ``head``, the author's files, ``tail``, generated text, skeleton."""
        parts: list[Part] = [head]
        for file in self.source.files:
            own = [d for d in file.module.directives if not _is_enable(d, {"f16", "subgroups"})]
            parts.append(Excerpt(file, (), directives=own))
        new = self._cleared(head + tail)
        for file in self.source.files:
            changes, is_own = self.edits.get(file.text.file, []), file is self.source.own
            if is_own:
                removed = [one.span for one in (*file.module.directives, *self.dropped)]
                changes = [*changes, *(Edit(span, "") for span in removed)]
            kept = self.reached[file.text.file]
            parts.append(Excerpt(file, kept, new, changes, is_whole=is_own))
        parts.append(tail)
        uniform = {} if self.uniform == PARAMS else {PARAMS: self.uniform}
        parts += [part_of(one, uniform) for one in self.written.values()]
        if self.skeleton is not None:
            new = {**self._clashing(self.skeleton), **uniform}
            changes = self.edits.get(self.skeleton.text.file, [])
            parts.append(Excerpt(self.skeleton, self.skeleton.module.declarations, new, changes))
        return join(parts)

    def _cleared(self, generated: str) -> dict[str, str]:
        """Return other names for the author's declarations that would take another's place.

        In its own file a declaration wins over WGSL's functions and over the composer's. What else
        is in the text, a skeleton, generated functions, the maps that are fused, means the others.
        """
        own = [
            one
            for one in self.declarations()
            if one.name in self.written or one.name.startswith("wk_") or is_predeclared(one.name)
        ]
        if not own:
            return {}
        rest = resolve(Text(COMPOSED, generated))
        meant = {*self.written, *(one.name for one in rest.module.declarations)}
        meant |= {name for name in {*self.asked, *rest.needs} if is_predeclared(name)}
        return cleared(self.source.files, own, meant, self.asked)

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
        self.written[name] = names = resolve(Text(COMPOSED, made))
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


def part_of(written: Written, new: Mapping[str, str]) -> Part:
    """Return what a text quotes of something that was written for it, under new names."""
    if isinstance(written, InstanceFunction):
        return written.excerpt(new)
    if isinstance(written, Generated):
        whole = written.joined
        return replace(whole.excerpt, new=new) if new else whole
    return Excerpt(written, written.module.declarations, new, is_whole=True)


def _is_enable(directive: Directive, names: set[str]) -> bool:
    return directive.keyword == "enable" and names.issuperset(directive.words)


def _is_within(offset: int, declarations: Sequence[Declaration]) -> bool:
    """Say whether one of a file's declarations, which are in its order, covers a place."""
    at = bisect.bisect_right(declarations, offset, key=lambda one: one.begin) - 1
    return at >= 0 and offset < declarations[at].end
