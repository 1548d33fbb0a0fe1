"""What is known of an index: how it moves with one parameter, and what divides the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.values import known_literal

if TYPE_CHECKING:
    from collections.abc import Mapping

_CASTS = frozenset({"u32", "i32"})


@dataclass(frozen=True, slots=True)
class Linear:
    """``step`` times the parameter, and a rest that ``divisor`` divides; of a rest of 0 it is 0.

    Attributes:
        step: By how much the index grows with the parameter.
        divisor: What divides the rest.
        blame: The part of the rest that limits the divisor, empty where nothing does.
    """

    step: int
    divisor: int
    blame: str = ""


class NotLinearError(Exception):
    """An index moves with the parameter in another way; the message says which part does."""


class Divisors:
    """Indices in the scope of one function.

    Attributes:
        divisors: What divides a field of ``params`` or a constant, by ``params.field`` or name.
    """

    def __init__(
        self, along: str, lets: Mapping[str, tree.Expression], divisors: Mapping[str, int]
    ) -> None:
        """Take what is known; ``lets`` may grow later."""
        self.along = along
        self.lets = lets
        self.divisors = divisors

    def linear(self, node: tree.Expression) -> Linear:
        """Return how an index moves.

        Raises:
            NotLinearError: It is no sum of the parameter's multiples and things that stay.
        """
        if isinstance(node, tree.Paren):
            return self.linear(node.inner)
        if isinstance(node, tree.Literal):
            known = known_literal(node.text)
            if known is not None:
                return Linear(0, known.value, spell(node))
        if isinstance(node, tree.Name):
            return self._name(node)
        if isinstance(node, tree.Call) and node.callee.name in _CASTS and len(node.arguments) == 1:
            return self.linear(node.arguments[0])
        if isinstance(node, tree.Binary):
            return self._binary(node)
        self._must_stay(node)
        shown = spell(node)
        return Linear(0, self.divisors.get(shown, 1), shown)

    def moves(self, node: tree.Node) -> bool:
        """Say whether ``node`` mentions the parameter, through local names, too."""
        open_: list[tree.Node] = [node]
        while open_:
            one = open_.pop()
            if isinstance(one, tree.Name):
                if one.name in self.lets:
                    open_.append(self.lets[one.name])
                elif one.name == self.along:
                    return True
            open_ += _children(one)
        return False

    def _name(self, node: tree.Name) -> Linear:
        name = node.name
        if name in self.lets:
            return self.linear(self.lets[name])
        if name == self.along:
            return Linear(1, 0)
        return Linear(0, self.divisors.get(name, 1), name)

    def _binary(self, node: tree.Binary) -> Linear:
        if node.operator in ("+", "-"):
            left, right = self.linear(node.left), self.linear(node.right)
            step = left.step + (right.step if node.operator == "+" else -right.step)
            divisor = math.gcd(left.divisor, right.divisor)
            blame = left.blame if left.divisor % 4 else right.blame
            return Linear(step, divisor, blame)
        if node.operator == "*":
            left, right = self.linear(node.left), self.linear(node.right)
            if left.step == right.step == 0:
                return Linear(0, left.divisor * right.divisor, spell(node))
            moving, by = (node.left, node.right) if left.step else (node.right, node.left)
            known = self._literal(by)
            if known is None:
                raise NotLinearError(f"{spell(moving)} is multiplied by {spell(by)}")
            one = left if left.step else right
            return Linear(one.step * known, one.divisor * known, one.blame)
        if node.operator == "<<":
            known = self._literal(node.right)
            if known is not None and known < 31:
                one = self.linear(node.left)
                return Linear(one.step << known, one.divisor << known, spell(node))
        self._must_stay(node)
        return Linear(0, 1, spell(node))

    def _literal(self, node: tree.Expression) -> int | None:
        if isinstance(node, tree.Paren):
            return self._literal(node.inner)
        known = known_literal(node.text) if isinstance(node, tree.Literal) else None
        return None if known is None else known.value

    def _must_stay(self, node: tree.Expression) -> None:
        if self.moves(node):
            raise NotLinearError(f"{spell(node)} moves with {self.along} in another way")


def _children(node: tree.Node) -> tuple[tree.Node, ...]:
    if isinstance(node, tree.Call):
        return node.arguments
    if isinstance(node, tree.Binary):
        return (node.left, node.right)
    if isinstance(node, tree.Index):
        return (node.base, node.index)
    if isinstance(node, tree.Access):
        return (node.base,)
    if isinstance(node, tree.Unary):
        return (node.operand,)
    return (node.inner,) if isinstance(node, tree.Paren) else ()
