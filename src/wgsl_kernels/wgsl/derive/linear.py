"""What is seen of functions in their text: which only add, are linear, or cost much."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import bare
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.depth import deep_stack
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


def adds(function: tree.Function, members: Sequence[str]) -> bool:
    """Say whether a function of two values returns their sum, part by part.

    Args:
        function: The function.
        members: The members of the struct that it returns, none where it returns another type.
    """
    body = function.body
    if not isinstance(body, tree.CompoundStatement) or len(body.statements) != 1:
        return False
    only = body.statements[0]
    if not isinstance(only, tree.Return) or only.value is None or len(function.parameters) != 2:
        return False
    value = bare(only.value)
    names = sorted([one.name for one in function.parameters])
    if isinstance(value, tree.Call) and members:
        return [_member_added(one, names) for one in value.arguments] == list(members)
    return _member_added(value, names) == ""


def _member_added(node: tree.Expression, names: list[str]) -> str | None:
    """Return which member of two values an expression adds, empty for the values themselves."""
    node = bare(node)
    if not isinstance(node, tree.Binary) or node.operator != "+":
        return None
    found: list[tuple[str, str]] = []
    for side in map(bare, (node.left, node.right)):
        base = bare(side.base) if isinstance(side, tree.Access) else side
        member = side.member.name if isinstance(side, tree.Access) else ""
        found.append((base.name if isinstance(base, tree.Name) else "", member))
    (one, member), (other, same) = found
    return member if sorted((one, other)) == names and member == same else None


@deep_stack()
def is_linear(function: tree.Function, is_type: Callable[[str], bool]) -> bool:
    """Say whether a function is linear in its first parameter, by a slope that it does not change.

    Args:
        function: The function.
        is_type: Says whether a name is that of a scalar type.
    """
    name = function.parameters[0].name
    nodes = list(descendants(function.body))
    if any(isinstance(one, (tree.Var, tree.Value, tree.Assign)) for one in nodes):
        return False
    heads = [one.condition for one in nodes if isinstance(one, tree.If)]
    returned = [one.value for one in nodes if isinstance(one, tree.Return)]
    return not any(_names(one, name) for one in heads) and all(
        one is not None and _linear(one, name, is_type) for one in returned
    )


_COSTLY = re.compile(r"exp2?|log2?|pow|a?(sin|cos|tan)h?|atan2|bitcast")


def is_costly(function: tree.Function, functions: Mapping[str, tree.Function]) -> bool:
    """Say whether a function, or one that it calls, computes more than arithmetic and roots.

    Args:
        function: The function.
        functions: What it may call, by name.
    """
    seen, left = {function.name}, [function]
    while left:
        for one in descendants(left.pop().body):
            if not isinstance(one, tree.Call) or one.callee.name in seen:
                continue
            name = one.callee.name
            seen.add(name)
            if name in functions:
                left.append(functions[name])
            elif _COSTLY.fullmatch(name):
                return True
    return False


def _linear(node: tree.Expression, name: str, is_type: Callable[[str], bool]) -> bool:
    node = bare(node)
    if not _names(node, name) or isinstance(node, tree.Name):
        return True
    if isinstance(node, tree.Unary):
        return node.operator == "-" and _linear(node.operand, name, is_type)
    if isinstance(node, tree.Access):
        return _linear(node.base, name, is_type)
    if isinstance(node, tree.Binary):
        sides = (node.left, node.right)
        if not _are_linear(sides, name, is_type):
            return False
        if node.operator == "*":
            return not all(_names(one, name) for one in sides)
        return node.operator in "+-" or (node.operator == "/" and not _names(node.right, name))
    if not isinstance(node, tree.Call):
        return False
    called = node.callee.name
    if called == "select":
        *values, condition = node.arguments
        return not _names(condition, name) and _are_linear(values, name, is_type)
    return is_type(called) and _are_linear(node.arguments, name, is_type)


def _are_linear(
    nodes: Sequence[tree.Expression], name: str, is_type: Callable[[str], bool]
) -> bool:
    found = [_linear(one, name, is_type) for one in nodes]
    return all(found)


def _names(node: tree.Node, name: str) -> bool:
    return any(isinstance(one, tree.Name) and one.name == name for one in descendants(node))


@deep_stack()
def accumulates(term: tree.Function, own: Collection[str]) -> bool:
    """Say whether ``term`` is seen to return the sum plus what does not depend on it.

    It is a function of two elements and the sum, and maybe of one at the result's place: ``let``s,
    and a ``return``. ``own`` are the names that its file declares, which are not WGSL's.
    """
    if isinstance(term.body, tree.Broken) or len(term.parameters) not in (3, 4):
        return False
    lets: dict[str, tree.Expression] = {}
    proof = _Accumulation(term.parameters[2].ident.name, lets, own)
    for statement in term.body.statements:
        if isinstance(statement, tree.Value) and statement.value is not None:
            lets[statement.ident.name] = statement.value
        elif isinstance(statement, tree.Return) and statement.value is not None:
            return proof.adds(statement.value)
        else:
            return False
    return False


class _Accumulation:
    def __init__(
        self, sum_: str, lets: Mapping[str, tree.Expression], own: Collection[str]
    ) -> None:
        self.sum = sum_
        self.lets = lets
        self.own = own

    def adds(self, node: tree.Expression) -> bool:
        """Say whether an expression is the sum plus what is free of it."""
        if isinstance(node, tree.Paren):
            return self.adds(node.inner)
        if isinstance(node, tree.Name):
            return node.name == self.sum or (
                node.name in self.lets and self.adds(self.lets[node.name])
            )
        if isinstance(node, tree.Binary):
            left, right = node.left, node.right
            if node.operator == "+" and self.is_free(left) and self.adds(right):
                return True
            return node.operator in "+-" and self.adds(left) and self.is_free(right)
        if isinstance(node, tree.Call) and node.callee.name == "fma" and "fma" not in self.own:
            *factors, last = node.arguments
            return all(map(self.is_free, factors)) and self.adds(last)
        return False

    def is_free(self, node: tree.Expression) -> bool:
        """Say whether an expression does not depend on the sum."""
        names = {one.name for one in descendants(node) if isinstance(one, tree.Name)}
        return self.sum not in names and all(
            self.is_free(self.lets[name]) for name in names & self.lets.keys()
        )
