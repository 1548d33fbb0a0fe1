"""The values of constant expressions: of sizes, of what the linter asks, of what is composed.

Integers and bools follow `values`; floats are Python's, since only integers are sizes.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from operator import add, mul, sub
from typing import TYPE_CHECKING, TypeAlias

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.values import (
    FOLDED,
    Kind,
    Known,
    NoValueError,
    called,
    combined,
    converted,
    known_literal,
    literal_value,
    negated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Constant: TypeAlias = Known | float
"""An integer or a bool with its type, or a float of any type."""
_INTEGERS: Mapping[str, Kind] = {"bool": "bool", "i32": "i32", "u32": "u32"}
_FLOATS = ("f32", "f16")
_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "/": lambda a, b: a / b,
    "%": math.fmod,
}


class NotConstantError(Exception):
    """An expression's value cannot be known before the shader runs, or is not a number."""


class ConstantValues:
    """The values of expressions that name only constants, each of which is evaluated once."""

    def __init__(
        self, declared: Mapping[str, tree.Value], given: Mapping[str, float] | None = None
    ) -> None:
        """Take the constants that expressions may name.

        Args:
            declared: Their declarations, by name.
            given: Values of overrides, which win over the defaults in the text.
        """
        self._declared = declared
        self._given = given or {}
        self._found: dict[str, Constant | str] = {}  # for one without a value, the reason
        self._scopes: list[dict[str, Constant | None]] = []

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Enter a scope, whose names hide those outside of it."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    @contextmanager
    def top(self) -> Iterator[None]:
        """Leave all scopes for the level of the module."""
        outer, self._scopes = self._scopes, []
        try:
            yield
        finally:
            self._scopes = outer

    def declare(self, name: str, node: tree.Node | None = None) -> None:
        """Declare a name of the innermost scope, which has a value if it is a constant's."""
        found: Constant | None = None
        if isinstance(node, tree.Value) and node.keyword == "const" and node.value is not None:
            try:
                found = _converted(self._whole(node.value), _type_name(node))
            except (NotConstantError, RecursionError, ValueError, OverflowError):
                found = None
        self._scopes[-1][name] = found

    def number(self, node: tree.Expression) -> float:
        """Return the value of an expression, an int where it is an integer.

        Raises:
            NotConstantError: It has none that is known, or is a bool; the message says why.
        """
        try:
            found = self._whole(node)
        except (RecursionError, ValueError, OverflowError):
            found = math.inf
        if isinstance(found, float) and not math.isfinite(found):
            raise NotConstantError(f"{_shown(node)} is too long to compute, or too large")
        if isinstance(found, float):
            return found
        if found.kind == "bool":
            raise _failure(node)
        return found.value

    def number_or_none(self, node: tree.Expression) -> float | None:
        """Return the value of an expression, None where `number` refuses it."""
        try:
            return self.number(node)
        except NotConstantError:
            return None

    def holds(self, node: tree.Expression) -> bool | None:
        """Return whether a condition holds, None where that is not known or it is a number."""
        try:
            found = self._whole(node)
        except (NotConstantError, RecursionError, ValueError, OverflowError):
            return None
        return bool(found.value) if isinstance(found, Known) and found.kind == "bool" else None

    def _whole(self, node: tree.Expression) -> Constant:
        try:
            found = self._value(node)
        except NoValueError:
            found = None
        if found is None:
            raise _failure(node)
        return found

    def _value(self, node: tree.Expression) -> Constant | None:
        """Return the value of a part, None where it has none."""
        if isinstance(node, tree.Literal):
            return _literal(node.text)
        if isinstance(node, tree.Paren):
            return self._value(node.inner)
        if isinstance(node, tree.Name) and not node.templates:
            return self._named(node.name)
        if isinstance(node, tree.Unary):
            operand = self._value(node.operand)
            if isinstance(operand, float):
                return -operand if node.operator == "-" else None
            return None if operand is None else negated(node.operator, operand)
        if isinstance(node, tree.Binary):
            left, right = self._value(node.left), self._value(node.right)
            return None if left is None or right is None else _combined(node.operator, left, right)
        if isinstance(node, tree.Call) and not node.callee.templates:
            arguments = [self._value(one) for one in node.arguments]
            known = [one for one in arguments if one is not None]
            return _called(node.callee.name, known) if len(known) == len(arguments) else None
        return None

    def _named(self, name: str) -> Constant | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if name not in self._found:
            none = f"{name!r} has no value that is known before the shader runs"
            self._found[name] = none  # what is made of itself has none
            try:
                with self.top():
                    found = self._declared_value(name)
                self._found[name] = none if found is None else found
            except NotConstantError as error:
                self._found[name] = str(error)
        known = self._found[name]
        if isinstance(known, str):
            raise NotConstantError(known)
        return known

    def _declared_value(self, name: str) -> Constant | None:
        node, given = self._declared.get(name), self._given.get(name)
        if given is not None:
            value = Known("int", given) if isinstance(given, int) else given
        elif node is None or node.value is None:
            return None
        else:
            value = self._whole(node.value)
        return _converted(value, "" if node is None else _type_name(node))


def _type_name(node: tree.Value) -> str:
    return "" if node.type is None else node.type.name


def _literal(text: str) -> Constant | None:
    known = known_literal(text)
    if known is not None:
        return known
    value = literal_value(text)
    return None if isinstance(value, int) else value


def _converted(value: Constant, type_: str) -> Constant:
    """Return a constant's value as its type has it; any but a number's type leaves it alone."""
    found: Constant | None = value
    if type_ in _FLOATS:
        found = _float(value)
    elif type_ in _INTEGERS and isinstance(value, Known):
        found = converted(value, _INTEGERS[type_])
    return value if found is None else found


def _float(value: Constant) -> float | None:
    if isinstance(value, float):
        return value
    return float(value.value) if value.kind == "int" else None


def _combined(operator: str, left: Constant, right: Constant) -> Constant | None:
    if isinstance(left, Known) and isinstance(right, Known):
        return combined(operator, left, right)
    one, two, arithmetic = _float(left), _float(right), _ARITHMETIC.get(operator)
    if one is None or two is None or arithmetic is None or (operator in "/%" and two == 0):
        return None
    return arithmetic(one, two)


def _called(name: str, arguments: Sequence[Constant]) -> Constant | None:
    known = [one for one in arguments if isinstance(one, Known)]
    if name in _FLOATS and len(arguments) == 1:
        return float(known[0].value) if known else arguments[0]
    if name in FOLDED and len(known) == len(arguments):
        return called(name, known)
    floats = [one for one in map(_float, arguments) if one is not None]
    if len(floats) < len(arguments):
        return None
    if name in ("min", "max") and len(floats) == 2:
        return min(floats) if name == "min" else max(floats)
    if name in ("i32", "u32") and len(floats) == 1:
        return converted(Known("int", int(floats[0])), _INTEGERS[name])
    return None


def _failure(node: tree.Expression) -> NotConstantError:
    return NotConstantError(f"{_shown(node)} is not an expression of constants")


def _shown(node: tree.Expression) -> str:
    text = spell(node, blank=" ")
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
