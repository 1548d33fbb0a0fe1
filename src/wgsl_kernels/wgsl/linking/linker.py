"""From modules to one module: read, reach, name, write."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wgsl_kernels.wgsl.linking.given import conditions_of, root_of, texts_of
from wgsl_kernels.wgsl.linking.naming import Mangle, Naming
from wgsl_kernels.wgsl.linking.project import Project
from wgsl_kernels.wgsl.linking.reach import reach
from wgsl_kernels.wgsl.linking.source import DIAGNOSTICS
from wgsl_kernels.wgsl.linking.stand_ins import check_stand_ins
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import print_declaration, spell
from wgsl_kernels.wgsl.syntax.source_map import TextBuilder
from wgsl_kernels.wgsl.syntax.walk import children, held
from wgsl_kernels.wgsl.types.infer import Types, infer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wgsl_kernels.wgsl.linking.project import ModulePath
    from wgsl_kernels.wgsl.linking.unit import Unit
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.source_map import SourceMap

_Part = TypeVar("_Part", bound="tree.Directive | tree.Declaration")


@dataclass(frozen=True, slots=True)
class Placed(Generic[_Part]):
    """A part of a linked module: a tree whose places are those of the file ``text``.

    ``constants`` says which values were put into it.
    """

    text: Text
    node: _Part
    constants: str = ""


@dataclass(frozen=True, slots=True)
class LinkedModule:
    """One plain WGSL module; each part knows its file, and each node its place there.

    ``prelude`` holds the names that it uses and that the caller declares.
    """

    directives: tuple[Placed[tree.Directive], ...]
    declarations: tuple[Placed[tree.Declaration], ...]
    prelude: frozenset[str] = frozenset()

    def types(self) -> Types:
        return infer(part.node for part in self.declarations)

    def write(self) -> SourceMap:
        """Return the text, each place of which leads to the author's."""
        composition = TextBuilder()
        for directive in self.directives:
            print_declaration(composition, directive.text, directive.node)
        for part in self.declarations:
            print_declaration(composition, part.text, part.node, constants=part.constants)
        return composition.finish()


def link_modules(
    modules: Mapping[str, str],
    root: str,
    packages: Mapping[str, Mapping[str, str]],
    conditions: Mapping[str, bool],
    constants: Mapping[str, Any],
    mangle: Mangle,
) -> LinkedModule:
    """Return the module ``root`` with all that it needs; see ``wgsl_kernels.link``."""
    texts = texts_of(modules, packages, constants)
    path = root_of(root, texts)
    return link_project(Project(texts, conditions_of(conditions)), path, mangle)


def link_project(project: Project, root: ModulePath, mangle: Mangle = "clash") -> LinkedModule:
    """Return the module at ``root`` with all that it needs.

    The prelude's names stay as they are, and nothing that is linked is called so beside them.

    Raises:
        ShaderError: A module is not WESL, a name or a condition is not known, or a module that
            stands in for another does not fit it.
    """
    reached = reach(project, root)
    check_stand_ins(project, reached)
    naming = Naming(reached, project, root, mangle)
    declarations = tuple(
        Placed(
            reached.units[target.module].text,
            with_names(reached.node(target), naming.places(target)),
        )
        for target in reached.order
    )
    directives = tuple(_directives(reached.units.values()))
    return LinkedModule(directives, declarations, project.prelude.names & reached.outside)


def _directives(units: Iterable[Unit]) -> Iterable[Placed[tree.Directive]]:
    """Return the directives of all modules, each name once; the first to name a rule wins."""
    seen: set[tuple[str, str]] = set()

    def is_first(keyword: str, names: tuple[tree.Expression, ...]) -> bool:
        key = (keyword, ", ".join(spell(name) for name in names))
        if key in seen:
            return False
        seen.add(key)
        return True

    for unit in units:
        for node in unit.module.directives:
            if node.keyword == "diagnostic":
                rule = node.arguments[1:]  # behind its severity
                if is_first(node.keyword, rule) and not DIAGNOSTICS & {spell(one) for one in rule}:
                    yield Placed(unit.text, node)
            elif new := tuple(one for one in node.arguments if is_first(node.keyword, (one,))):
                yield Placed(unit.text, replace(node, arguments=new))


_Node = TypeVar("_Node", bound=tree.Node)


def with_names(node: _Node, names: Mapping[int, str]) -> _Node:
    """Return ``node`` with the names that ``names`` gives, by where they stand."""
    if not names:
        return node
    begins = sorted(names)

    def holds_name(one: tree.Node) -> bool:
        at = bisect.bisect_left(begins, one.begin)
        return at < len(begins) and begins[at] < one.end

    new: dict[int, tree.Node] = {}  # by the identity of the old one
    open_: list[tree.Node] = [node]
    ready: list[tree.Node] = []
    while open_:  # each comes before what is in it, whose depth is no matter of Python's stack
        one = open_.pop()
        if holds_name(one):
            ready.append(one)
            open_ += children(one)
    for one in reversed(ready):
        if isinstance(one, tree.Ident):
            new[id(one)] = replace(one, name=names.get(one.begin, one.name))
        else:
            new[id(one)] = replace(one, **dict(_changed(one, new)))
    return new.get(id(node), node)  # type: ignore[return-value]  # a node of the same kind


def _changed(node: tree.Node, new: Mapping[int, tree.Node]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of ``node`` that hold something new."""
    for name, value in held(node):
        if isinstance(value, tree.Node):
            if id(value) in new:
                yield name, new[id(value)]
        elif any(id(one) in new for one in value):
            yield name, tuple(new.get(id(one), one) for one in value)
