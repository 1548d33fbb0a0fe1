"""Conditional translation: the tree of a file under given conditions."""

from __future__ import annotations

import bisect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.linking.source import Guard, Import, SourceFile
    from wgsl_kernels.wgsl.syntax.places import Text

_Node = TypeVar("_Node", bound=tree.Node)


def translate(
    source: SourceFile, conditions: Mapping[str, bool]
) -> tuple[tree.Module, tuple[Import, ...]]:
    """Return what stays of ``source``: its WGSL and its imports.

    Raises:
        ShaderError: A condition is asked for and not among ``conditions``.
    """
    module = source.module
    if not source.guards:
        return module, source.imports
    pruning = _Pruning(module.text, source.guards, conditions)
    imports = tuple(one for one in source.imports if pruning.keeps(one.statement))
    translated = replace(
        module,
        directives=pruning.elements(module.directives),
        declarations=tuple(pruning.inside(one) for one in pruning.elements(module.declarations)),
    )
    return translated, imports


class _Pruning:
    """A walk over the lists of a tree; what a condition removes is not looked into."""

    def __init__(
        self, text: Text, guards: Mapping[int, Guard], conditions: Mapping[str, bool]
    ) -> None:
        self.text = text
        self.guards = guards
        self.conditions = conditions
        self.begins = sorted(guards)
        self.taken: dict[int, bool] = {}  # whether a chain is, up to one of its conditions

    def keeps(self, begin: int) -> bool:
        """Say whether the element that begins there stays."""
        guard = self.guards.get(begin)
        if guard is None:
            return True
        was_taken = guard.before is not None and self.is_taken(guard.before)
        own = guard.condition is None or self.is_true(guard.condition)
        self.taken[id(guard)] = own or was_taken
        return own and not was_taken

    def is_taken(self, guard: Guard) -> bool:
        """Say whether a condition or one before it in its chain is true; each is read once."""
        pending: list[Guard] = []
        at: Guard | None = guard
        while at is not None and id(at) not in self.taken:
            pending.append(at)
            at = at.before
        found = at is not None and self.taken[id(at)]
        for one in reversed(pending):
            found = (one.condition is not None and self.is_true(one.condition)) or found
            self.taken[id(one)] = found
        return found

    def is_true(self, node: tree.Expression) -> bool:
        """Return a condition's value; both sides of ``&&`` and ``||`` must be known."""
        if isinstance(node, tree.Paren):
            return self.is_true(node.inner)
        if isinstance(node, tree.Unary):
            return not self.is_true(node.operand)
        if isinstance(node, tree.Binary):
            left, right = self.is_true(node.left), self.is_true(node.right)
            return (left and right) if node.operator == "&&" else (left or right)
        if isinstance(node, tree.Name):
            return self.value(node)
        return isinstance(node, tree.Literal) and node.text == "true"

    def value(self, node: tree.Name) -> bool:
        given = self.conditions.get(node.name)
        if given is None:
            message = f"the condition {node.name!r} is not given. Pass it in conditions=."
            raise ShaderError(self.text.point(message, node.begin))
        return given

    def elements(self, nodes: tuple[_Node, ...]) -> tuple[_Node, ...]:
        """Return those elements of a list that stay."""
        return tuple(node for node in nodes if self.keeps(node.begin))

    def inside(self, node: _Node) -> _Node:
        """Return ``node`` without what conditions remove inside of it."""
        at = bisect.bisect_right(self.begins, node.begin)
        if at == len(self.begins) or self.begins[at] >= node.end:
            return node
        changed: dict[str, Any] = {}
        for name in node.__dataclass_fields__:
            value = getattr(node, name)
            if name in _LISTS:
                changed[name] = tuple(self.inside(one) for one in self.elements(value))
            elif isinstance(value, _HOLDERS):
                changed[name] = self.inside(value)
        return replace(node, **changed)


_LISTS = frozenset({"statements", "parameters", "fields", "clauses"})
"""The fields of nodes whose elements a condition may decorate."""
_HOLDERS = (tree.CompoundStatement, tree.If)
"""What holds such lists and is the field of another node."""
