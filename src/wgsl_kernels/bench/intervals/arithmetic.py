"""WGSL's operators on numbers with intervals.

Source: WebGPU Shading Language, sections Floating Point Accuracy and Arithmetic Expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.bench.intervals.numbers import (
    Array,
    Number,
    OutOfReachError,
    anything,
    between,
    convert,
    exact,
    is_integer,
    mapped,
    rounded,
    within_ulp,
    wrap,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSTRACT = ("AbstractInt", "AbstractFloat")


def matched(a: Number, b: Number) -> tuple[Number, Number]:
    """Return two operands as one type: an abstract one takes the other's."""
    if a.kind == b.kind:
        return a, b
    if a.kind in _ABSTRACT and (b.kind not in _ABSTRACT or b.kind == "AbstractFloat"):
        return convert(a, b.kind), b
    return a, convert(b, a.kind)


def binary(operator: str, a: Number, b: Number) -> Number:
    """Return the value of ``a operator b``."""
    if operator in ("<<", ">>"):
        return _shift(operator, a, convert(b, "u32"))
    a, b = matched(a, b)
    if operator in _COMPARISONS:
        return compare(operator, a, b)
    if a.kind == "bool":
        return _logic(operator, a, b)
    if is_integer(a.kind):
        return _integer(operator, a, b)
    with np.errstate(all="ignore"):
        return _float(operator, a, b)


def negated(a: Number) -> Number:
    if is_integer(a.kind):
        return _integer("-", exact(a.kind, 0), a)
    if a.is_exact:
        return exact(a.kind, -a.v)
    return Number(a.kind, -a.v, -a.high, -a.low)


def inverted(a: Number) -> Number:
    """Return !a of a bool, ~a of a whole number."""
    if a.kind == "bool":
        return Number("bool", ~a.v, ~a.high, ~a.low) if not a.is_exact else exact("bool", ~a.v)
    flipped = wrap(~a.v, a.kind)
    return exact(a.kind, flipped) if a.is_exact else anything(a.kind, flipped)


# Floats.


def _float(operator: str, a: Number, b: Number) -> Number:
    if a.kind == "AbstractFloat":
        if operator == "%":
            return exact("AbstractFloat", np.fmod(a.v, b.v))
        return exact("AbstractFloat", _PLAIN[operator](a.v, b.v))
    if operator == "%":
        return remainder(a, b)
    v = _PLAIN[operator](a.v, b.v)
    if a.is_exact and b.is_exact:
        found = rounded(v, v, v)
    elif operator == "+":
        found = rounded(v, a.low + b.low, a.high + b.high)
    elif operator == "-":
        found = rounded(v, a.low - b.high, a.high - b.low)
    else:
        found = _corners(_PLAIN[operator], a, b, v)
    if operator != "/":
        return found
    found = within_ulp(found, 2.5)
    size = np.maximum(np.abs(b.low), np.abs(b.high))
    has_zero = (b.low <= 0) & (b.high >= 0) & (b.low != b.high)
    lost = has_zero | (size > 2.0**126) | (np.minimum(np.abs(b.low), np.abs(b.high)) < 2.0**-126)
    lost &= np.isfinite(v)
    return Number("f32", v, np.where(lost, -np.inf, found.low), np.where(lost, np.inf, found.high))


def _corners(f: Callable[[Array, Array], Array], a: Number, b: Number, v: Array) -> Number:
    found = [f(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    low = np.fmin(np.fmin(found[0], found[1]), np.fmin(found[2], found[3]))
    high = np.fmax(np.fmax(found[0], found[1]), np.fmax(found[2], found[3]))
    gone = np.isnan(v)
    return rounded(v, np.where(gone, np.nan, low), np.where(gone, np.nan, high))


def remainder(a: Number, b: Number) -> Number:
    """Return a % b, as a - b * trunc(a / b): off by a whole b where the quotient is in doubt."""
    quotient = _float("/", a, b)
    whole = between("f32", np.trunc(quotient.v), np.trunc(quotient.low), np.trunc(quotient.high))
    if not whole.doubt.any():
        whole = exact("f32", whole.v)
    found = _float("-", a, _float("*", b, whole))
    v = np.fmod(a.v, b.v)
    return Number("f32", v, np.fmin(found.low, v), np.fmax(found.high, v))


_PLAIN: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}

# Whole numbers and bools.


def _integer(operator: str, a: Number, b: Number) -> Number:
    kind = a.kind
    v = _whole(operator, a.v, b.v, kind)
    if a.is_exact and b.is_exact:
        return Number(kind, v, v, v)
    if operator in ("+", "-"):
        low = a.low + (b.low if operator == "+" else -b.high)
        high = a.high + (b.high if operator == "+" else -b.low)
        fits = (wrap(low, kind) == low) & (wrap(high, kind) == high)
    elif operator in ("&", "|", "^"):
        return _masked(operator, a, b, v) if b.is_exact else _masked(operator, b, a, v)
    else:
        doubt = a.doubt | b.doubt
        low, high, fits = np.where(doubt, 0, v), np.where(doubt, 0, v), ~doubt
    whole = anything(kind, v)
    return Number(kind, v, np.where(fits, low, whole.low), np.where(fits, high, whole.high))


def _whole(operator: str, a: Array, b: Array, kind: str) -> Array:
    with np.errstate(all="ignore"):
        if operator in ("/", "%"):
            safe = np.where(b == 0, 1, b)
            quotient = np.abs(a) // np.abs(safe) * np.where((a < 0) == (safe < 0), 1, -1)
            found = quotient if operator == "/" else np.where(b == 0, 0, a - safe * quotient)
        else:
            found = _WHOLE[operator](a, b)
    return np.asarray(wrap(np.asarray(found), kind))


_WHOLE: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


def _masked(operator: str, a: Number, mask: Number, v: Array) -> Number:
    """Return a & mask, a | mask or a ^ mask, exact only in the mask.

    The bits above the highest in which the bounds differ are the same for all that is between, so
    that order is kept where the mask leaves the bits below alone, or cuts off the last of them.
    """
    if not mask.is_exact or a.kind == "i32":
        return anything(a.kind, v)
    differ = a.low ^ a.high
    below = _filled(differ)
    part: Array = mask.v & below
    if operator == "&":
        lowest = part & -part
        fits = (part == 0) | (part + lowest == below + 1)
    else:
        fits = part == 0
    low, high = _WHOLE[operator](a.low, mask.v), _WHOLE[operator](a.high, mask.v)
    whole = anything(a.kind, v)
    return Number(a.kind, v, np.where(fits, low, whole.low), np.where(fits, high, whole.high))


def _filled(bits: Array) -> Array:
    """Return each number with all bits below its highest set."""
    for step in (1, 2, 4, 8, 16):
        bits = bits | (bits >> step)
    return bits


def _shift(operator: str, a: Number, b: Number) -> Number:
    count = b.v & 31
    v = wrap(a.v << count if operator == "<<" else a.v >> count, a.kind)
    if a.is_exact and b.is_exact:
        return Number(a.kind, v, v, v)
    if operator == ">>" and b.is_exact:
        return Number(a.kind, v, a.low >> count, a.high >> count)
    low, high = a.low << count, a.high << count
    fits = b.is_exact & (wrap(low, a.kind) == low) & (wrap(high, a.kind) == high)
    whole = anything(a.kind, v)
    return Number(a.kind, v, np.where(fits, low, whole.low), np.where(fits, high, whole.high))


def _logic(operator: str, a: Number, b: Number) -> Number:
    f = np.logical_and if operator in ("&", "&&") else np.logical_or
    if operator not in ("&", "&&", "|", "||"):
        raise OutOfReachError(f"the operator {operator} of bools")
    return mapped("bool", f, a, b)


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def compare(operator: str, a: Number, b: Number) -> Number:
    """Return a bool, in doubt where the intervals overlap."""
    if operator in (">", ">="):
        return compare("<" if operator == ">" else "<=", b, a)
    if operator == "!=":
        return inverted(compare("==", a, b))
    f = {"<": np.less, "<=": np.less_equal, "==": np.equal}[operator]
    with np.errstate(invalid="ignore"):
        v = np.asarray(f(a.v, b.v))
        if a.is_exact and b.is_exact:
            return exact("bool", v)
        if operator == "==":
            surely = (a.low == b.high) & (a.high == b.low)
            maybe = (a.low <= b.high) & (a.high >= b.low)
        else:
            surely, maybe = f(a.high, b.low), f(a.low, b.high)
    return Number("bool", v, np.asarray(surely), np.asarray(maybe))
