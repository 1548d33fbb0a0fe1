"""What linked declarations are called, and what is renamed so that every name keeps its meaning."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.names import RESERVED

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.linking.project import ModulePath, Project, Target
    from wgsl_kernels.wgsl.linking.reach import Reached
    from wgsl_kernels.wgsl.names.resolve import Symbol

Mangle = Literal["clash", "path"]


class Naming:
    """The names of one linked module.

    Attributes:
        names: What each declaration is called.
    """

    def __init__(
        self, reached: Reached, project: Project, root: ModulePath, mangle: Mangle
    ) -> None:
        """Name every declaration: the root's first, then in the order in which they were reached.

        Raises:
            ShaderError: Two names that the host sees clash, or one hides a name of WGSL or the
                prelude.
        """
        self.reached = reached
        self.names: dict[Target, str] = {}
        self._prelude = project.prelude
        self._taken = set(reached.outside)
        self._next: defaultdict[str, int] = defaultdict(int)
        self._local = {
            symbol.name
            for unit in reached.units.values()
            for symbol in unit.names.symbols
            if not symbol.is_global
        }
        named = [one for one in reached.order if _declared_name(reached.node(one)) is not None]
        self._name_visible(named, root, frozenset(project.stand_ins.values()))
        for target in named:
            if target not in self.names:
                wanted = self._wanted(target, root, mangle)
                clashes = wanted in self._taken or (
                    target.module != root and self._prelude.keeps(wanted)
                )
                name = self._fresh(wanted) if clashes else wanted
                self.names[target] = name
                self._taken.add(name)

    def places(self, target: Target) -> dict[int, str]:
        """Return the names in a declaration that are other ones now, by where they stand."""
        unit = self.reached.units[target.module]
        places: dict[int, str] = {}
        own = self.names.get(target)
        node = self.reached.node(target)
        if own is not None and own != _declared_name(node):
            assert not isinstance(node, (tree.ConstAssert, tree.Broken))
            places[node.ident.begin] = own
        links = self.reached.links[target]
        captured: set[str] = set()
        inner = unit.locals_in(target.at)
        for use in unit.uses[target.at]:
            meant = links.get(use.ident.begin)
            if meant is None or (name := self.names[meant]) == use.ident.name:
                continue
            places[use.ident.begin] = name
            if name in inner and name in unit.names.visible_at(use.ident.begin):
                captured.add(name)
        for name in sorted(captured):
            self._rename_local(target, name, inner[name], places)
        return places

    def _name_visible(
        self, named: list[Target], root: ModulePath, stand_ins: frozenset[ModulePath]
    ) -> None:
        """Give the names that the host sees, which stay."""
        for target in named:
            name = self.reached.offered.get(target)
            node = self.reached.node(target)
            if name is None and (
                (target.module == root and _is_visible(node))
                or (target.module in stand_ins and _is_override(node))
            ):
                name = _declared_name(node)
            if name is None:
                continue
            if name in self._taken:
                why = "is taken"
                if name in self.reached.outside:
                    whose = "the prelude's" if self._prelude.keeps(name) else "WGSL's own"
                    why = f"is used as {whose} name"
                message = f"the host sees {name!r}, but it {why} in what is linked. Rename it."
                text = self.reached.units[target.module].text
                raise ShaderError(text.point(message, node.begin))
            self.names[target] = name
            self._taken.add(name)

    def _wanted(self, target: Target, root: ModulePath, mangle: Mangle) -> str:
        name = _declared_name(self.reached.node(target))
        assert name is not None
        if target.module == root:
            return name
        if mangle == "path":
            return underscore_count((target.module.package, *target.module.segments, name))
        return self.reached.aliases.get(target, name)

    def _fresh(self, name: str) -> str:
        """Return ``name`` with the next number that makes it none that is there."""
        while True:
            found = f"{name}{self._next[name]}"
            self._next[name] += 1
            is_taken = found in self._taken or found in self._local or self._prelude.keeps(found)
            if not is_taken and not _is_reserved(found):
                return found

    def _rename_local(
        self, target: Target, name: str, symbols: list[Symbol], places: dict[int, str]
    ) -> None:
        """Rename local names that would hide a linked one."""
        new = self._fresh(name)
        self._local.add(new)
        for symbol in symbols:
            places[symbol.ident.begin] = new
        for use in self.reached.units[target.module].uses[target.at]:
            if use.symbol in symbols:
                places[use.ident.begin] = new


def underscore_count(segments: tuple[str, ...]) -> str:
    """Return the name for a path that tells the path again.

    Segments are joined by underscores; one that holds some is led by ``_`` and their count.
    Source: WESL specification, Name Mangling.
    """
    counts = [segment.count("_") for segment in segments]
    return "_".join(
        f"_{count}{segment}" if count else segment
        for segment, count in zip(segments, counts, strict=True)
    )


def _declared_name(node: tree.Declaration) -> str | None:
    return None if isinstance(node, (tree.ConstAssert, tree.Broken)) else node.ident.name


def _is_visible(node: tree.Declaration) -> bool:
    """Say whether the host asks for a declaration by its name."""
    if isinstance(node, tree.Function):
        return node.has_stage
    return _is_override(node)


def _is_override(node: tree.Declaration) -> bool:
    return isinstance(node, tree.Value) and node.keyword == "override"


def _is_reserved(name: str) -> bool:
    return name in RESERVED or is_predeclared(name) or SEPARATOR in name
