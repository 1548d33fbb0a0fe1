"""What of a function depends on what is differentiated, as a number or as a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import root_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.kinds import FLOATS, Array, StructType, Type, scalar_of, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.derive.rules import DerivativeRule
    from wgsl_kernels.wgsl.types.infer import Types
    from wgsl_kernels.wgsl.types.named import NamedTypes


class NotDerivableError(Exception):
    """A derivative cannot be made; ``begin`` is the place of the reason."""

    def __init__(self, message: str, begin: int) -> None:
        super().__init__(message)
        self.message, self.begin = message, begin


@dataclass
class NameSets:
    """The names of a function that depend on what is differentiated.

    Attributes:
        active: Those that have a tangent.
        steps: Those that depend on it by steps alone, such as integers made of it.
    """

    active: set[str] = field(default_factory=set[str])
    steps: set[str] = field(default_factory=set[str])


class Activity:
    """Finds for one function after the other which names have a tangent."""

    def __init__(
        self,
        types: Types,
        named: NamedTypes,
        functions: Mapping[str, tree.Function],
        rules: Mapping[str, DerivativeRule],
    ) -> None:
        self.types, self.named = types, named
        self._functions, self._rules = functions, rules
        self.names = NameSets()
        self._gives: dict[tuple[str, tuple[bool, ...]], bool] = {}

    def enter(self, node: tree.Function, active: tuple[bool, ...]) -> None:
        """Find the names of a function of which these parameters have a tangent.

        Raises:
            NotDerivableError: A pointer leads to one that has, or the module's variable gets one.
        """
        given = zip(node.parameters, active, strict=True)
        self.names = NameSets({one.name for one, is_active in given if is_active})
        local = {one.name for one in node.parameters}
        local |= {one.name for one in descendants(node) if isinstance(one, (tree.Var, tree.Value))}
        while True:
            before = len(self.names.active), len(self.names.steps)
            for one in descendants(node.body):
                self._note(one, local)
            if before == (len(self.names.active), len(self.names.steps)):
                return

    def _note(self, node: tree.Node, local: set[str]) -> None:
        if isinstance(node, (tree.Var, tree.Value)) and node.value is not None:
            self._mark(node.name, node.value)
        elif isinstance(node, tree.Assign) and node.target is not None:
            name = root_name(node.target)
            self._mark(name, node.value, self.types.value_of(node.target))
            if name in self.names.active and name not in local:
                message = (
                    f"{name}, a variable of the module, has a derivative, which is not followed."
                )
                raise NotDerivableError(message, node.begin)
        elif isinstance(node, tree.Unary) and node.operator == "&":
            self._follow(node)

    def _follow(self, node: tree.Unary) -> None:
        """Refuse a pointer to what has a tangent."""
        name = root_name(node.operand)
        if name in self.names.active:
            message = f"a pointer to {name}, which has a derivative, is not followed; "
            raise NotDerivableError(f"{message}return the value instead.", node.begin)

    def _mark(self, name: str, value: tree.Expression, type_: Type | None = None) -> None:
        stored = type_ or self.types.value_of(value)
        if self.has_tangent(value) and stored is not None and self.is_float(stored):
            self.names.active.add(name)
        elif self.depends(value):
            self.names.steps.add(name)

    def touches(self, node: tree.Node) -> bool:
        """Say whether a part of a loop's head declares or writes what has a tangent."""
        if isinstance(node, (tree.Var, tree.Value)):
            return node.name in self.names.active
        if not isinstance(node, tree.Assign) or node.target is None:
            return False
        return root_name(node.target) in self.names.active

    def depends(self, node: tree.Expression) -> bool:
        """Say whether a value has anything to do with what is differentiated."""
        known = self.names.active | self.names.steps
        return any(isinstance(one, tree.Name) and one.name in known for one in descendants(node))

    def has_tangent(self, node: tree.Expression) -> bool:
        """Say whether a value has a tangent."""
        type_ = self.types.value_of(node)
        if type_ is None or not self.is_float(type_) or isinstance(node, tree.Literal):
            return False
        if isinstance(node, tree.Name):
            return node.name in self.names.active
        if isinstance(node, tree.Paren):
            return self.has_tangent(node.inner)
        if isinstance(node, tree.Unary):
            return self.has_tangent(node.operand)
        if isinstance(node, tree.Binary):
            return self.has_tangent(node.left) or self.has_tangent(node.right)
        if isinstance(node, (tree.Index, tree.Access)):
            return self.has_tangent(node.base)
        return self._call_has(node)

    def _call_has(self, node: tree.Call) -> bool:
        name = node.callee.name
        if name == "bitcast":  # refused where anything depends on it, be it by a step
            return self.depends(node)
        active = tuple([self.has_tangent(one) for one in node.arguments])
        if name == "select":
            return active[0] or active[1]
        if name in self._rules:
            partials = self._rules[name].partials
            return any(a and bool(p) for a, p in zip(active, partials, strict=False))
        if name in self._functions:
            return any(active) and self.gives_tangent(self._functions[name], active)
        return any(active)

    def gives_tangent(self, node: tree.Function, active: tuple[bool, ...]) -> bool:
        """Say whether what a function returns has a tangent."""
        key = (node.name, active)
        if key not in self._gives:
            self._gives[key] = True  # what calls itself is no WGSL
            outer = self.names
            self.enter(node, active)
            returned = [one for one in descendants(node.body) if isinstance(one, tree.Return)]
            found = [one.value is not None and self.has_tangent(one.value) for one in returned]
            self._gives[key], self.names = any(found), outer
        return self._gives[key]

    def is_float(self, type_: Type) -> bool:
        """Say whether numbers with a derivative are in a type."""
        type_ = value_of(type_)
        if isinstance(type_, StructType):
            return any(map(self.is_float, type_.members.values()))
        if isinstance(type_, Array):
            return self.is_float(type_.element)
        scalar = scalar_of(type_)
        return scalar is not None and scalar.name in FLOATS


def root_name(node: tree.Expression) -> str:
    """Return the variable that an expression is a part of, empty where it is of none."""
    root = root_of(node)
    return "" if root is None else root.name
