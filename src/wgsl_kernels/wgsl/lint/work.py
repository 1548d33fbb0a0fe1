"""About how much arithmetic an invocation does, counted in the syntax tree."""

from __future__ import annotations

import re
from operator import add, floordiv, mul, sub
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.lint.remarks import bare, entries_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import children, descendants
from wgsl_kernels.wgsl.types.infer import infer
from wgsl_kernels.wgsl.types.kinds import Vector
from wgsl_kernels.wgsl.types.values import literal_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.wgsl.types.infer import Types

_ARITHMETIC = frozenset("+-*/%")
_UPDATES = frozenset(["+=", "-=", "*=", "/=", "%="])
_MADE = re.compile(r"vec[234][fhiu]?|mat[234]x[234][fh]?|[fiu](16|32)|bool|array|bitcast|select")
"""What is called and computes nothing."""
_COMPONENTS = "xyzw"
_INTEGER: Mapping[str, Callable[[int, int], int]] = {
    "+": add, "-": sub, "*": mul, "/": lambda a, b: floordiv(a, b) if b else 0,
}  # fmt: skip


def operations(module: tree.Module, fields: Mapping[str, Any]) -> int | None:
    """Return the operations of one invocation of a module's entry, None where loops do not tell.

    Each operator and each call of a function of WGSL's own is one for each component of what it
    gives; ``fma`` is two. Both branches of a condition count; a loop counts as often as it runs,
    where its bounds follow from constants and ``fields`` of the parameters.
    """
    counting = _WorkCounter(module, fields, infer(module.declarations))
    try:
        return sum(counting.of(one.body) for one in entries_of(module))
    except _UnknownError:
        return None


def operations_of_calls(module: tree.Module, fields: Mapping[str, Any]) -> dict[str, int | None]:
    """Return what a call of each function of a module takes, None where loops do not tell."""
    counting = _WorkCounter(module, fields, infer(module.declarations))
    found: dict[str, int | None] = {}
    for name, function in counting.functions.items():
        try:
            found[name] = counting.of(function.body)
        except _UnknownError:
            found[name] = None
    return found


class _UnknownError(Exception):
    """A loop does not tell how often it runs."""


class _WorkCounter:
    def __init__(self, module: tree.Module, fields: Mapping[str, Any], types: Types) -> None:
        self.functions = functions = module.functions
        self.types = types
        self.fields = fields
        self.known: dict[str, int] = {}
        self.types_named = module.aliases.keys() | module.structs.keys()
        self.lets = {
            one.ident.name: one.value
            for function in functions.values()
            for one in descendants(function.body)
            if isinstance(one, tree.Value)
        }

    def of(self, node: tree.Node) -> int:
        inside = sum(map(self.of, children(node)))
        if isinstance(node, tree.Binary):
            return inside + (node.operator in _ARITHMETIC) * self.width(node)
        if isinstance(node, tree.Assign):
            return inside + (node.operator in _UPDATES) * self.width(node.value)
        if isinstance(node, tree.Call):
            return inside + self.called(node)
        if isinstance(node, tree.For):
            return inside * self.rounds(node)
        if isinstance(node, (tree.While, tree.Loop)):
            raise _UnknownError
        return inside

    def width(self, node: tree.Expression) -> int:
        """Return how many numbers an expression gives."""
        type_ = self.types.value_of(node)
        return type_.size if isinstance(type_, Vector) else 1

    def rounds(self, node: tree.For) -> int:
        """Return how often ``for (var i = a; i < b; i += c)`` runs.

        Raises:
            _UnknownError: That is not known.
        """
        condition = None if node.condition is None else bare(node.condition)
        if not isinstance(node.first, tree.Var) or not isinstance(condition, tree.Binary):
            raise _UnknownError
        begin, end = self.number(node.first.value), self.number(condition.right)
        step = self.number(node.update.value) if isinstance(node.update, tree.Assign) else 1
        if condition.operator not in ("<", "<=") or begin is None or end is None or not step:
            raise _UnknownError
        return max(0, -(-(end + (condition.operator == "<=") - begin) // abs(step)))

    def number(self, node: tree.Expression | None) -> int | None:
        """Return a whole number that constants and fields of the parameters give."""
        one = None if node is None else bare(node)
        if isinstance(one, tree.Literal) and one.text not in ("true", "false"):
            value: Any = literal_value(one.text)
        elif isinstance(one, tree.Name):
            return self.number(self.lets.get(one.name))
        elif isinstance(one, tree.Access):
            value = self.fields.get(one.member.name)
            if isinstance(one.base, tree.Access):  # a component of a vector
                several = self.fields.get(one.base.member.name)
                if isinstance(several, tuple) and one.member.name in _COMPONENTS[: len(several)]:
                    value = several[_COMPONENTS.index(one.member.name)]
        elif isinstance(one, tree.Index) and isinstance(one.base, tree.Access):
            several, at = self.fields.get(one.base.member.name), self.number(one.index)
            value = several[at] if isinstance(several, tuple) and at is not None else None
        elif isinstance(one, tree.Binary) and one.operator in _INTEGER:
            left, right = self.number(one.left), self.number(one.right)
            value = None if None in (left, right) else _INTEGER[one.operator](left, right)  # type: ignore[arg-type]  # no None
        else:
            value = None
        return value if isinstance(value, int) else None

    def called(self, node: tree.Call) -> int:
        """Return what a call takes, its arguments apart."""
        name = node.callee.name
        function = self.functions.get(name)
        if function is None:
            each = (
                0
                if name in self.types_named or _MADE.fullmatch(name)
                else 2
                if name == "fma"
                else 1
            )
            return each * self.width(node)
        if name not in self.known:
            self.known[name] = 0  # WGSL has no recursion
            self.known[name] = self.of(function.body)
        return self.known[name]
