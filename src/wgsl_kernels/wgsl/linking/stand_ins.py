"""Whether a module fits the one that it stands in for: its slots and their parameter lists."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.linking.source import SEPARATOR
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.printer import spell

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.linking.project import ModulePath, Project, Target
    from wgsl_kernels.wgsl.linking.reach import Reached
    from wgsl_kernels.wgsl.linking.unit import Unit

_SHORT = re.compile(r"(vec[234]|mat[234]x[234])([fiuh])$")
_SCALARS = {"f": "f32", "i": "i32", "u": "u32", "h": "f16"}
_MOST_ALIASES = 64


def check_stand_ins(project: Project, reached: Reached) -> None:
    """Refuse what a module declares and no slot of the module that it stands in for can be.

    Raises:
        ShaderError: A declaration is of another kind than the slot's default, a function takes
            or returns something else, or nothing uses it and its name is close to a slot's.
    """
    used = {target for links in reached.links.values() for target in links.values()}
    for path, other in project.stand_ins.items():
        unit = project.unit(other)
        assert unit is not None, other
        slots = dict(project.slots(path))
        for name, default in slots.items():
            if name in unit.declared and name not in unit.private:
                _Fit(project, path, default, other, unit).check(name)
        _refuse_misspelt(project, other, slots, used)


def _refuse_misspelt(
    project: Project, path: ModulePath, slots: dict[str, Target], used: set[Target]
) -> None:
    unit = project.unit(path)
    assert unit is not None
    unfilled = [name for name in slots if name not in unit.declared]
    for name, at in unit.declared.items():
        node = unit.module.declarations[at]
        if not isinstance(node, tree.Function) or name in slots:
            continue
        near = difflib.get_close_matches(name, unfilled, n=1, cutoff=0.7)
        if near and not node.has_stage and not any(one[:2] == (path, at) for one in used):
            message = f"nothing uses {name!r}. Did you mean {near[0]!r}?"
            raise ShaderError(_both(project, unit, node, message, slots[near[0]]))


class _Fit:
    """One declaration and the default that it takes the place of."""

    def __init__(
        self, project: Project, path: ModulePath, default: Target, other: ModulePath, unit: Unit
    ) -> None:
        self.project = project
        self.slot_path = path
        self.default = default
        self.path = other
        self.unit = unit

    def check(self, name: str) -> None:
        node = self.unit.module.declarations[self.unit.declared[name]]
        wanted = _node(self.project, self.default)
        if _kind(node) != _kind(wanted):
            self.refuse(node, f"{name!r} is {_kind(node)}; want {_kind(wanted)}.")
        if not isinstance(node, tree.Function) or not isinstance(wanted, tree.Function):
            return
        given, expected = len(node.parameters), len(wanted.parameters)
        if given != expected:
            self.refuse(node, f"{name!r} takes {given} parameters; want {expected}.")
        for own, other in zip(node.parameters, wanted.parameters, strict=True):
            self.compare(own, own.type, other.type, f"{name!r} takes")
        if node.returns is not None and wanted.returns is not None:
            self.compare(node.returns, node.returns, wanted.returns, f"{name!r} returns")
        elif node.returns is not None:
            self.refuse(node.returns, f"{name!r} returns {spell(node.returns)}; want nothing.")
        elif wanted.returns is not None:
            self.refuse(node, f"{name!r} returns nothing; want {spell(wanted.returns)}.")

    def compare(self, node: tree.Node, own: tree.Name, wanted: tree.Name, what: str) -> None:
        """Refuse a type that is another than the default's; what is not known may be the same."""
        found, expected = (
            self.spelled(self.path, own),
            self.spelled(self.default.module, wanted),
        )
        if found is not None and expected is not None and found != expected:
            self.refuse(node, f"{what} {spell(own)} here; want {spell(wanted)}.")

    def spelled(self, path: ModulePath, node: tree.Expression, depth: int = 0) -> str | None:
        """Return a type with its aliases followed, None where one of them is not known."""
        if not isinstance(node, tree.Name) or depth > _MOST_ALIASES:
            return spell(node) if isinstance(node, tree.Literal) else None
        parts = [self.spelled(path, one, depth + 1) for one in node.templates]
        if None in parts:
            return None
        meant = self.meant(path, node)
        if meant is None:
            return self.spelled_outside(path, node.name, [one for one in parts if one], depth)
        declared = _node(self.project, meant)
        if isinstance(declared, tree.Alias):
            return self.spelled(meant.module, declared.type, depth + 1)
        if isinstance(declared, tree.Struct):
            return f"{meant.module}{SEPARATOR}{declared.ident.name}"
        return None

    def spelled_outside(
        self, path: ModulePath, name: str, parts: list[str], depth: int
    ) -> str | None:
        """Return the type that a name of WGSL's or the prelude's stands for."""
        if name in self.project.prelude.names_in(path):
            known = parse_expression(self.project.prelude.aliases.get(name, ""))
            return None if known is None else self.spelled(path, known, depth + 1)
        if (short := _SHORT.match(name)) is not None:
            return f"{short[1]}<{_SCALARS[short[2]]}>"
        return f"{name}<{','.join(parts)}>" if parts else name

    def meant(self, path: ModulePath, node: tree.Name) -> Target | None:
        unit = self.project.unit(path)
        assert unit is not None
        if node.name in unit.declared:
            return self.project.own(path, node.name)
        return self.project.resolve(path, node.name, node.begin)

    def refuse(self, node: tree.Node, message: str) -> None:
        raise ShaderError(_both(self.project, self.unit, node, message, self.default))


def _both(project: Project, unit: Unit, node: tree.Node, message: str, default: Target) -> str:
    """Return ``message`` at the place of ``node``, and below it the place of the default."""
    begin = node.ident.begin if isinstance(node, tree.Function) else node.begin
    there = project.unit(default.module)
    assert there is not None
    declared = there.module.declarations[default.at]
    assert not isinstance(declared, (tree.ConstAssert, tree.Broken))
    place = there.text.point("the default is here.", declared.ident.begin)
    return f"{unit.text.point(message, begin)}\n{place}"


def _node(project: Project, target: Target) -> tree.Declaration:
    unit = project.unit(target.module)
    assert unit is not None
    return unit.module.declarations[target.at]


def _kind(node: tree.Declaration) -> str:
    """Return what a declaration is, in the words of an error."""
    if isinstance(node, tree.Function):
        return "a function"
    if isinstance(node, (tree.Struct, tree.Alias)):
        return "a type"
    return "a variable" if isinstance(node, tree.Var) else "a constant"
