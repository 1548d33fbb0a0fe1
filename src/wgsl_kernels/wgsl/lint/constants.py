"""The values of constant expressions of a module, as far as they are plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.facts.evaluate import literal_value
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Mapping

_CASTS = ("f32", "f16", "i32", "u32")
_DEEPEST = 100
_MOST = 2.0**128


class Constants:
    """The consts of a module, whose names mean nothing else in it.

    ``override`` and ``let`` are not constant, nor is a const that a function declares.
    """

    def __init__(self, values: Mapping[str, tree.Expression]) -> None:
        self._values = values

    def value(self, node: tree.Expression, depth: int = 0) -> float | None:
        """Return the value of an expression, None where it is not constant or no plain number."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, tree.Paren):
            return self.value(node.inner, depth + 1)
        if isinstance(node, tree.Literal):
            return None if node.text in ("true", "false") else literal_value(node.text)
        if isinstance(node, tree.Name) and not node.templates:
            known = self._values.get(node.name)
            return None if known is None else self.value(known, depth + 1)
        if isinstance(node, tree.Unary) and node.operator == "-":
            inner = self.value(node.operand, depth + 1)
            return None if inner is None else -inner
        if isinstance(node, tree.Call) and len(node.arguments) == 1 and node.callee.name in _CASTS:
            inner = self.value(node.arguments[0], depth + 1)
            return inner if inner is None or node.callee.name[0] == "f" else int(inner)
        if isinstance(node, tree.Binary) and node.operator in "+-*":
            left = self.value(node.left, depth + 1)
            right = self.value(node.right, depth + 1)
            if left is None or right is None or max(abs(left), abs(right)) > _MOST:
                return None
            made = {"+": left + right, "-": left - right, "*": left * right}
            return made[node.operator]
        return None


def constants_of(module: tree.Module) -> Constants:
    values = {
        one.ident.name: one.value
        for one in module.declarations
        if isinstance(one, tree.Value) and one.keyword == "const" and one.value is not None
    }
    if values:
        for function in module.declarations:
            if isinstance(function, tree.Function):
                for parameter in function.parameters:
                    values.pop(parameter.ident.name, None)
                for one in descendants(function.body):
                    if isinstance(one, (tree.Value, tree.Var)):
                        values.pop(one.ident.name, None)
    return Constants(values)
