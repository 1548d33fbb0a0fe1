"""Whether a product's ``term`` adds to the sum, so that sums of parts may be added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def adds(term: tree.Function, own: Collection[str]) -> bool:
    """Say whether ``term`` is seen to return the sum plus what does not depend on it.

    It is a function of two elements and the sum, and maybe of one at the result's place: ``let``s,
    and a ``return``. ``own`` are the names that its file declares, which are not WGSL's.
    """
    if isinstance(term.body, tree.Broken) or len(term.parameters) not in (3, 4):
        return False
    lets: dict[str, tree.Expression] = {}
    proof = _Proof(term.parameters[2].ident.name, lets, own)
    for statement in term.body.statements:
        if isinstance(statement, tree.Value) and statement.value is not None:
            lets[statement.ident.name] = statement.value
        elif isinstance(statement, tree.Return) and statement.value is not None:
            return proof.adds(statement.value)
        else:
            return False
    return False


class _Proof:
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
