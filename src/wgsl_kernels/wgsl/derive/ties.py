"""Derivatives at ties, where a function asks twice which of two is larger.

Of ``max(a, b)`` a tie goes to ``a``. What is smooth by way of that and of ``min(a, b)`` or
``abs(a - b)`` has its own slope there only if these take ``a`` for the larger one, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.derive.rules import DerivativeRule
from wgsl_kernels.wgsl.lint.remarks import bare
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Set

_MIN = DerivativeRule((
    "select({zero}, {one}, {a} < {b})",
    "select({one}, {zero}, {a} < {b})",
))  # fmt: skip
_ABS_UP = DerivativeRule(("select(-{one}, {one}, {a} >= {zero})",))
_ABS_DOWN = DerivativeRule(("select(-{one}, {one}, {a} > {zero})",))


def pairs_of_max(function: tree.Function) -> Set[tuple[str, str]]:
    """Return of which pairs a function takes the larger, as they are written."""
    return {
        _pair(one.arguments)
        for one in descendants(function.body)
        if isinstance(one, tree.Call) and one.callee.name == "max" and len(one.arguments) == 2
    }


def rule_at_ties(
    node: tree.Call, rule: DerivativeRule, pairs: Set[tuple[str, str]]
) -> DerivativeRule:
    """Return the rule of a call in a function that takes the larger of these pairs."""
    name = node.callee.name
    if name == "min" and len(node.arguments) == 2 and _pair(node.arguments) in pairs:
        return _MIN
    if name != "abs":
        return rule
    inner = bare(node.arguments[0])
    if not isinstance(inner, tree.Binary) or inner.operator != "-":
        return rule
    left, right = _pair((inner.left, inner.right))
    if (left, right) in pairs:
        return _ABS_UP
    return _ABS_DOWN if (right, left) in pairs else rule


def _pair(nodes: tuple[tree.Expression, ...]) -> tuple[str, str]:
    one, other = (spell(bare(node)) for node in nodes)
    return one, other
