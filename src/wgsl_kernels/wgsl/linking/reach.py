"""Which declarations a linked module needs, in a fixed order, and what each name in them means."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.linking.project import ModulePath, Project, Target
from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.linking.unit import Unit


@dataclass
class Reached:
    """What is linked.

    Attributes:
        units: The modules of which something is linked, the root first.
        order: The declarations: the root's, then those that they need, nearest first.
        links: For each declaration, what its names from outside of it mean, by their places.
        outside: The names that are used and not declared here: WGSL's and the prelude's.
        aliases: What the root calls what it imports under another name.
        offered: What the root imports for the host, and its name there.
    """

    units: dict[ModulePath, Unit] = field(default_factory=dict)
    order: list[Target] = field(default_factory=list)
    links: dict[Target, dict[int, Target]] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    aliases: dict[Target, str] = field(default_factory=dict)
    offered: dict[Target, str] = field(default_factory=dict)

    def node(self, target: Target) -> tree.Declaration:
        return self.units[target.module].module.declarations[target.at]


def reach(project: Project, root: ModulePath) -> Reached:
    """Return what the module ``root`` needs: all of its own declarations, and what these use.

    Raises:
        ShaderError: A name means nothing, or a module that is needed is not WESL.
    """
    return _Reaching(project, root).all()


class _Reaching:
    """A breadth-first walk from the root's declarations along names."""

    def __init__(self, project: Project, root: ModulePath) -> None:
        self.project = project
        self.root = root
        self.found = Reached()
        self.pending: deque[Target] = deque()
        self.seen: set[Target] = set()
        self.meanings: dict[tuple[ModulePath, str], Target | None] = {}

    def all(self) -> Reached:
        found = self.found
        unit = self.project.unit(self.root)
        assert unit is not None
        found.units[self.root] = unit
        for at in range(len(unit.module.declarations)):
            self.need(Target(self.root, at))
        for name, imported in unit.imports.items():
            if imported.is_public:
                target = self.project.exported(self.root, imported)
                found.offered.setdefault(target, name)
                self.need(target)
        while self.pending:
            self.follow(self.pending.popleft())
        return found

    def need(self, target: Target) -> None:
        """Take a declaration in, and with the first of a module that module's assertions."""
        if target in self.seen:
            return
        self.seen.add(target)
        self.pending.append(target)
        self.found.order.append(target)
        if target.module not in self.found.units:
            unit = self.project.unit(target.module)
            assert unit is not None
            self.found.units[target.module] = unit
            for at, node in enumerate(unit.module.declarations):
                if isinstance(node, tree.ConstAssert):
                    self.need(Target(target.module, at))

    def follow(self, target: Target) -> None:
        """Take in what a declaration uses."""
        module = target.module
        unit = self.found.units[module]
        links = self.found.links[target] = {}
        for use in unit.uses[target.at]:
            name = use.ident.name
            if use.symbol is None:
                meant = self.meaning(module, name, use.ident.begin)
            elif use.symbol.is_global:
                meant = self.project.own(module, name)
            else:
                continue
            if meant is None:
                self.found.outside.add(name)
                continue
            links[use.ident.begin] = meant
            self.need(meant)
            if module == self.root and name in unit.imports:
                imported = unit.imports[name]
                if imported.path[-1] != imported.name:
                    self.found.aliases.setdefault(meant, name)

    def meaning(self, module: ModulePath, name: str, begin: int) -> Target | None:
        """Return what a name from outside of its module means, None for one from elsewhere."""
        key = (module, name)
        if key not in self.meanings:
            self.meanings[key] = self.project.resolve(module, name, begin)
        return self.meanings[key]
