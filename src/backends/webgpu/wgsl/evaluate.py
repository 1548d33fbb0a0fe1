"""Values of the constant expressions that sizes are written with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.wgsl.places import Text
from wgsl_kernels.backends.webgpu.wgsl.tokens import MARK, NAME, NUMBER, Token, tokenize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.wgsl.facts import Constant

_LEVELS = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
_WORD = 0xFFFFFFFF


class NotConstantError(Exception):
    """An expression's value cannot be known before the shader runs, or is not a number."""


def evaluate(
    expression: str, constants: Mapping[str, Constant], given: Mapping[str, float]
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
    return _Evaluator(expression, constants, given, frozenset()).whole()


class _Evaluator:
    """A recursive-descent evaluator over the tokens of one expression."""

    def __init__(
        self,
        expression: str,
        constants: Mapping[str, Constant],
        given: Mapping[str, float],
        pending: frozenset[str],
    ) -> None:
        self.expression = expression
        self.tokens = _with_shifts(tokenize(Text("", expression)))
        self.constants = constants
        self.given = given
        self.pending = pending
        self.at = 0

    def whole(self) -> float:
        value = self._level(0)
        if self.at < len(self.tokens):
            raise self._failure()
        return value

    def _level(self, level: int) -> float:
        if level == len(_LEVELS):
            return self._unary()
        value = self._level(level + 1)
        while self._text() in _LEVELS[level]:
            mark = self._text()
            self.at += 1
            value = self._combine(mark, value, self._level(level + 1))
        return value

    def _combine(self, mark: str, left: float, right: float) -> float:
        if mark in "+-*":
            return {"+": left + right, "-": left - right, "*": left * right}[mark]
        if mark in "/%":
            return self._divide(mark, left, right)
        if not (isinstance(left, int) and isinstance(right, int)):
            raise self._failure()
        if mark in ("<<", ">>"):
            return left << (right & 31) & _WORD if mark == "<<" else left >> (right & 31)
        return {"|": left | right, "^": left ^ right, "&": left & right}[mark]

    def _divide(self, mark: str, left: float, right: float) -> float:
        if right == 0:
            raise self._failure()
        if isinstance(left, int) and isinstance(right, int):
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if mark == "/" else left - right * quotient
        return left / right if mark == "/" else left - right * int(left / right)

    def _unary(self) -> float:
        if self._text() == "-":
            self.at += 1
            return -self._unary()
        return self._primary()

    def _primary(self) -> float:
        if self.at >= len(self.tokens):
            raise self._failure()
        token = self.tokens[self.at]
        self.at += 1
        if token.kind == NUMBER:
            return _number(token.text)
        if token.kind == NAME and self._text() == "(":
            return self._call(token.text)
        if token.kind == NAME:
            return self._constant(token.text)
        if token.kind == MARK and token.text == "(":
            value = self._level(0)
            self._close()
            return value
        raise self._failure()

    def _call(self, name: str) -> float:
        self.at += 1
        arguments = [self._level(0)]
        while self._text() == ",":
            self.at += 1
            arguments.append(self._level(0))
        self._close()
        if name in ("min", "max"):
            return min(arguments) if name == "min" else max(arguments)
        if name in ("u32", "i32", "f32"):
            return float(arguments[0]) if name == "f32" else int(arguments[0])
        raise self._failure()

    def _constant(self, name: str) -> float:
        if name in self.given:
            return self.given[name]
        constant = self.constants.get(name)
        if constant is None or constant.value is None or name in self.pending:
            raise NotConstantError(f"{name!r} has no value that is known before the shader runs")
        inner = _Evaluator(constant.value, self.constants, self.given, self.pending | {name})
        return inner.whole()

    def _close(self) -> None:
        if self._text() != ")":
            raise self._failure()
        self.at += 1

    def _text(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def _failure(self) -> NotConstantError:
        return NotConstantError(f"{self.expression!r} is not an expression of constants")


def _with_shifts(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    joined: list[Token] = []
    for token in tokens:
        last = joined[-1] if joined else None
        if token.text in "<>" and last and last.text == token.text and last.end == token.begin:
            joined[-1] = Token(MARK, token.text * 2, last.begin, token.end)
        else:
            joined.append(token)
    return tuple(joined)


def _number(text: str) -> float:
    lower = text.lower()
    if lower.startswith("0x"):
        if "." in lower or "p" in lower:
            return float.fromhex(lower.rstrip("fh"))
        return int(lower.rstrip("iu"), 16)
    if lower[-1] in "iu":
        return int(lower[:-1])
    if lower[-1] in "fh" or "." in lower or "e" in lower:
        return float(lower.rstrip("fh"))
    return int(lower)
