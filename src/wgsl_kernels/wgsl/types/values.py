"""Integers and bools that are known before a shader runs, by WGSL's rules of arithmetic.

Source: WebGPU Shading Language, sections 8.7 (arithmetic), 8.8 (comparison), 8.9 (bits).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Kind = Literal["bool", "i32", "u32", "int"]
"""What a known value is; ``int`` is WGSL's AbstractInt, a number without a suffix."""
_WORD = 0xFFFFFFFF
_RANGES: dict[Kind, tuple[int, int]] = {
    "i32": (-(2**31), 2**31 - 1),
    "u32": (0, _WORD),
    "int": (-(2**63), 2**63 - 1),
}


@final
class Known(NamedTuple):
    """A value; ``is_const`` says that WGSL calls what it came from a const-expression.

    Only of such an expression overflow and division by zero are errors; others go on as they do
    at run time.
    """

    kind: Kind
    value: int
    is_const: bool = True


class NoValueError(Exception):
    """A const-expression without a value; the message says why."""


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


def known_literal(text: str) -> Known | None:
    """Return the value of a number or a bool as written, None for a float."""
    found = _LITERALS.get(text)
    if found is None and text not in _LITERALS:
        if len(_LITERALS) >= _MOST_LITERALS:
            _LITERALS.clear()
        found = _LITERALS[text] = _literal(text)
    return found


_MOST_LITERALS = 4096
_LITERALS: dict[str, Known | None] = {
    "true": Known("bool", True),
    "false": Known("bool", False),
}


def _literal(text: str) -> Known | None:
    if text.endswith(("lu", "li", "lf")):
        return None
    value = literal_value(text)
    if not isinstance(value, int):
        return None
    kind: Kind = "u32" if text[-1] == "u" else "i32" if text[-1] == "i" else "int"
    low, high = _RANGES[kind]
    return Known(kind, value) if low <= value <= high else None


def spelled(value: Known) -> str:
    """Return a value that is not negative as WGSL writes it."""
    if value.kind == "bool":
        return "true" if value.value else "false"
    return f"{value.value}{_SUFFIXES[value.kind]}"


_SUFFIXES: dict[Kind, str] = {"i32": "i", "u32": "u", "int": "", "bool": ""}


def converted(value: Known, kind: Kind) -> Known | None:
    """Return ``value`` as it is where ``kind`` is wanted, None where it cannot stand there."""
    if value.kind == kind:
        return value
    if value.kind == "int" and kind != "bool":
        low, high = _RANGES[kind]
        if low <= value.value <= high:
            return Known(kind, value.value, value.is_const)
    return None


# Operators.


def negated(operator: str, value: Known) -> Known | None:
    """Return ``-``, ``~`` or ``!`` of a value, None where WGSL has none."""
    kind, number, is_const = value
    if operator == "!" and kind == "bool":
        return Known(kind, not number, is_const)
    if kind == "bool" or operator not in ("-", "~") or (operator == "-" and kind == "u32"):
        return None
    return _fitted(operator, kind, -number if operator == "-" else ~number, is_const=is_const)


def combined(operator: str, left: Known, right: Known) -> Known | None:
    """Return what an operator makes of two values, None where WGSL has no such operator.

    Raises:
        NoValueError: It is a const-expression without a value.
    """
    is_const = left.is_const and right.is_const
    if operator in ("<<", ">>"):
        return _shifted(operator, left, right, is_const=is_const)
    if left.kind != right.kind:
        kind = right.kind if left.kind == "int" else left.kind
        one, two = converted(left, kind), converted(right, kind)
        if one is None or two is None:
            return None
        left, right = one, two
    kind = left.kind
    if (compare := _COMPARISONS.get(operator)) is not None:
        if kind == "bool" and operator not in ("==", "!="):
            return None
        return Known("bool", compare(left.value, right.value), is_const)
    if kind == "bool":
        logical = _LOGICAL.get(operator)
        return None if logical is None else Known(kind, logical(left.value, right.value), is_const)
    if operator in ("/", "%"):
        return _divided(operator, left, right, is_const=is_const)
    arithmetic = _ARITHMETIC.get(operator)
    if arithmetic is None:
        return None
    return _fitted(operator, kind, arithmetic(left.value, right.value), is_const=is_const)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}
_LOGICAL: dict[str, Callable[[int, int], bool]] = {
    "&": lambda a, b: bool(a and b),
    "&&": lambda a, b: bool(a and b),
    "|": lambda a, b: bool(a or b),
    "||": lambda a, b: bool(a or b),
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


def _fitted(operator: str, kind: Kind, value: int, *, is_const: bool) -> Known:
    """Return a result in the range of its kind: u32 wraps, others only at run time."""
    low, high = _RANGES[kind]
    if low <= value <= high:
        return Known(kind, value, is_const)
    if kind == "u32":
        return Known(kind, value & _WORD, is_const)
    if kind == "int" or is_const:
        name = "AbstractInt" if kind == "int" else kind
        raise NoValueError(f"the result of {operator!r} is {value}, which no {name} holds")
    return Known(kind, _signed(value), is_const)


def _signed(value: int) -> int:
    value &= _WORD
    return value - 2**32 if value >= 2**31 else value


def _divided(operator: str, left: Known, right: Known, *, is_const: bool) -> Known:
    kind, dividend, divisor = left.kind, left.value, right.value
    if divisor == 0:
        if is_const or right.is_const:
            raise NoValueError(f"{dividend} {operator} 0 has no value")
        return Known(kind, dividend if operator == "/" else 0, is_const)
    quotient = abs(dividend) // abs(divisor) * (1 if (dividend < 0) == (divisor < 0) else -1)
    if operator == "/" or abs(quotient) > _RANGES[kind][1]:
        found = _fitted(
            operator, kind, quotient, is_const=is_const
        )  # the least i32 by -1 wraps to itself
        return found if operator == "/" else Known(kind, 0, is_const)
    return Known(kind, dividend - divisor * quotient, is_const)


def _shifted(operator: str, left: Known, right: Known, *, is_const: bool) -> Known | None:
    count = converted(right, "u32")
    kind, number, _ = left
    if count is None or kind == "bool":
        return None
    bits = 64 if kind == "int" else 32
    places = count.value
    if places >= bits:
        if right.is_const:
            raise NoValueError(f"a shift by {places} moves all {bits} bits out")
        places %= bits
    if operator == ">>":
        return Known(kind, number >> places, is_const)
    moved = number << places
    if kind == "u32":
        if is_const and moved > _WORD:
            raise NoValueError(f"{number} << {places} is {moved}, which no u32 holds")
        return Known(kind, moved & _WORD, is_const)
    low, high = _RANGES[kind]
    if low <= moved <= high:
        return Known(kind, moved, is_const)
    if kind == "int" or is_const:
        raise NoValueError(f"{number} << {places} is {moved}, which does not fit")
    return Known(kind, _signed(moved), is_const)


# WGSL's own functions.

FOLDED = frozenset({"abs", "bool", "clamp", "i32", "max", "min", "u32"})
"""Those that `called` knows."""


def called(name: str, arguments: Sequence[Known]) -> Known | None:
    """Return what a function of WGSL's makes of values, None where that is not ours to say.

    Raises:
        NoValueError: It is a const-expression without a value.
    """
    is_const = all(one.is_const for one in arguments)
    if (wanted := _CASTS.get(name)) is not None and len(arguments) == 1:
        return _cast(wanted, arguments[0])
    kinds = {one.kind for one in arguments} - {"int"}
    if "bool" in kinds or len(kinds) > 1 or not arguments:
        return None
    kind: Kind = next(iter(kinds), "int")
    fitted = [converted(one, kind) for one in arguments]
    numbers = [one.value for one in fitted if one is not None]
    if len(numbers) != len(arguments):
        return None
    if name in ("min", "max") and len(numbers) == 2:
        return Known(kind, min(numbers) if name == "min" else max(numbers), is_const)
    if name == "clamp" and len(numbers) == 3:
        if is_const and numbers[1] > numbers[2]:
            raise NoValueError(f"clamp has no values from {numbers[1]} to {numbers[2]}")
        return Known(kind, min(max(numbers[0], numbers[1]), numbers[2]), is_const)
    if name == "abs" and len(numbers) == 1:
        least = kind == "i32" and numbers[0] == -(2**31)  # whose abs is itself
        return Known(kind, numbers[0] if least else abs(numbers[0]), is_const)
    return None


_CASTS: dict[str, Kind] = {"u32": "u32", "i32": "i32", "bool": "bool"}


def _cast(name: Kind, value: Known) -> Known | None:
    kind, number, is_const = value
    if name == kind:
        return value
    if name == "bool":
        return Known("bool", number != 0, is_const)
    if kind == "bool":
        return Known(name, int(number), is_const)
    if kind == "int":
        return converted(value, name)
    return Known(name, number & _WORD if name == "u32" else _signed(number), is_const)
