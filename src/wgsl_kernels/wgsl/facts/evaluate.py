"""Values of the constant expressions that sizes are written with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse_expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.facts.facts import ConstantDeclaration

_WORD = 0xFFFFFFFF
_LARGEST = 2.0**128  # above all numbers of WGSL


class NotConstantError(Exception):
    """An expression's value cannot be known before the shader runs, or is not a number."""


def evaluate(
    expression: str, constants: Mapping[str, ConstantDeclaration], given: Mapping[str, float]
) -> float:
    """Return the value of a constant expression.

    Args:
        expression: WGSL text: numbers, names of constants, arithmetic, shifts, ``u32``, ``i32``,
            ``f32``, ``min``, ``max``.
        constants: The consts and overrides that it may name.
        given: Values of overrides, which win over the defaults in the text.

    Raises:
        NotConstantError: It holds something else; the message says what.
    """
    try:
        value = _ConstantEvaluator(expression, constants, given, frozenset(), {}).whole()
        if math.isfinite(value):
            return value
    except (RecursionError, ValueError, OverflowError):
        pass
    raise NotConstantError(f"{_shown(expression)} is too long to compute, or too large")


@dataclass(frozen=True, slots=True)
class _ConstantEvaluator:
    """The value of one expression, and what it may name."""

    expression: str
    constants: Mapping[str, ConstantDeclaration]
    given: Mapping[str, float]
    pending: frozenset[str]
    found: dict[str, float]

    def whole(self) -> float:
        parsed = parse_expression(self.expression)
        if parsed is None:
            raise self._failure()
        return self._value(parsed)

    def _value(self, node: tree.Expression) -> float:
        if isinstance(node, tree.Literal) and node.text not in ("true", "false"):
            return literal_value(node.text)
        if isinstance(node, tree.Paren):
            return self._value(node.inner)
        if isinstance(node, tree.Name) and not node.templates:
            return self._constant(node.name)
        if isinstance(node, tree.Unary) and node.operator == "-":
            return -self._value(node.operand)
        if isinstance(node, tree.Binary):
            return self._combine(node.operator, self._value(node.left), self._value(node.right))
        if isinstance(node, tree.Call):
            return self._call(node)
        raise self._failure()

    def _combine(self, mark: str, left: float, right: float) -> float:
        if abs(left) > _LARGEST or abs(right) > _LARGEST:
            raise self._failure()
        if mark in ("+", "-", "*"):
            return {"+": left + right, "-": left - right, "*": left * right}[mark]
        if mark in ("/", "%"):
            return self._divide(mark, left, right)
        if not (isinstance(left, int) and isinstance(right, int)):
            raise self._failure()
        if mark in ("<<", ">>"):
            return left << (right & 31) & _WORD if mark == "<<" else left >> (right & 31)
        if mark in ("|", "^", "&"):
            return {"|": left | right, "^": left ^ right, "&": left & right}[mark]
        raise self._failure()

    def _divide(self, mark: str, left: float, right: float) -> float:
        if right == 0:
            raise self._failure()
        if isinstance(left, int) and isinstance(right, int):
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if mark == "/" else left - right * quotient
        return left / right if mark == "/" else left - right * int(left / right)

    def _call(self, node: tree.Call) -> float:
        name = node.callee.name
        arguments = [self._value(argument) for argument in node.arguments]
        if arguments and name in ("min", "max"):
            return min(arguments) if name == "min" else max(arguments)
        if len(arguments) == 1 and name in ("u32", "i32", "f32"):
            return float(arguments[0]) if name == "f32" else int(arguments[0])
        raise self._failure()

    def _constant(self, name: str) -> float:
        if name in self.given:
            return self.given[name]
        if name in self.found:
            return self.found[name]
        constant = self.constants.get(name)
        if constant is None or constant.value is None or name in self.pending:
            raise NotConstantError(f"{name!r} has no value that is known before the shader runs")
        pending = self.pending | {name}
        inner = _ConstantEvaluator(constant.value, self.constants, self.given, pending, self.found)
        self.found[name] = inner.whole()
        return self.found[name]

    def _failure(self) -> NotConstantError:
        return NotConstantError(f"{_shown(self.expression)} is not an expression of constants")


def _shown(expression: str) -> str:
    return repr(expression if len(expression) <= 80 else f"{expression[:80]}…")


def literal_value(text: str) -> float:
    """Return the value of a number as WGSL writes it: an int where it has no fraction."""
    lower = text.lower()
    if lower.startswith("0x"):
        if "." in lower or "p" in lower:
            return float.fromhex(lower.rstrip("fh"))
        return int(lower.rstrip("iul"), 16)
    if lower[-1] in "iu":
        return int(lower.rstrip("iul"))
    if lower[-1] in "fh" or "." in lower or "e" in lower:
        return float(lower.rstrip("fhl"))
    return int(lower)
