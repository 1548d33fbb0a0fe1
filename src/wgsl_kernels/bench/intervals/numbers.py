"""Numbers with what they may be: a value without any rounding, and an interval around it.

A number is three arrays, an element per invocation, or arrays of no axes where all invocations
have the same: ``v`` is what the formula gives in double precision, and a device that follows WGSL
gives something between ``low`` and ``high``. Where all three are one object the number is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.testing.closeness import spacing

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
F32 = np.float32
MAX = float(np.finfo(F32).max)
TINY = float(np.finfo(F32).tiny)
RANGES = {"i32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1)}


class OutOfReachError(Exception):
    """A shader does something of which no interval is known; the message says what."""


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A scalar of WGSL for all invocations.

    Attributes:
        kind: ``f32``, ``i32``, ``u32``, ``bool``, ``AbstractInt`` or ``AbstractFloat``.
        v: The value: float64, int64 or bool.
        low: The least that it may be.
        high: The largest.
    """

    kind: str
    v: Array
    low: Array
    high: Array

    @property
    def is_exact(self) -> bool:
        """Whether it is the same on all devices."""
        return self.low is self.v and self.high is self.v

    def __or__(self, other: Number) -> Number:
        """Return whether one of two bools holds."""
        return mapped("bool", np.logical_or, self, other)

    # Addresses, which count whole numbers that do not overflow.

    def __mul__(self, factor: int) -> Number:
        return mapped(self.kind, lambda one: one * factor, self)

    def __floordiv__(self, divisor: int) -> Number:
        return mapped(self.kind, lambda one: one // divisor, self)

    def __add__(self, other: int | Number) -> Number:
        if isinstance(other, int):
            return mapped(self.kind, lambda one: one + other, self)
        return mapped(self.kind, np.add, self, other)

    @property
    def is_float(self) -> bool:
        return self.kind in ("f32", "AbstractFloat")

    @property
    def doubt(self) -> Array:
        """For which invocations it is not sure."""
        if self.is_exact:
            return np.False_  # type: ignore[return-value]  # an array of no axes
        return np.asarray((self.low != self.high) & ~(np.isnan(self.low) & np.isnan(self.high)))


def exact(kind: str, values: Any) -> Number:
    """Return a number that is the same on all devices."""
    dtype = np.bool_ if kind == "bool" else np.int64 if is_integer(kind) else np.float64
    v = np.asarray(values, dtype)
    return Number(kind, v, v, v)


def mapped(kind: str, f: Callable[..., Any], *given: Number) -> Number:
    """Return what a function gives that never falls where one of these numbers rises."""
    with np.errstate(all="ignore"):
        v = np.asarray(f(*[one.v for one in given]))
        if all(one.is_exact for one in given):
            return Number(kind, v, v, v)
        low = np.asarray(f(*[one.low for one in given]))
        return Number(kind, v, low, np.asarray(f(*[one.high for one in given])))


def is_integer(kind: str) -> bool:
    """Say whether a scalar type has whole numbers."""
    return kind in ("i32", "u32", "AbstractInt")


def between(kind: str, v: Array, low: Array, high: Array) -> Number:
    """Return a number of these bounds, whatever order they are in."""
    with np.errstate(invalid="ignore"):
        return Number(kind, v, np.minimum(low, high), np.maximum(low, high))


def rounded(v: Array, low: Array, high: Array) -> Number:
    """Return an f32 that is rounded to either neighbour; a subnormal may become 0."""
    if low is v and high is v:
        with np.errstate(all="ignore"):
            near = v.astype(F32)
        if _equal(near, v) and not _any_tiny(v):
            return Number("f32", v, v, v)
        below, above = _neighbours(v)
        return Number("f32", v, _flushed_down(below), _flushed_up(above))
    return Number("f32", v, _flushed_down(_neighbours(low)[0]), _flushed_up(_neighbours(high)[1]))


def settled(x: Number) -> Number:
    """Return a value in double precision rounded to f32."""
    return rounded(x.v, x.low, x.high)


def _equal(a: Array, b: Array) -> bool:
    return bool(((a == b) | (a != a)).all())


def _any_tiny(v: Array) -> bool:
    return bool(((np.abs(v) < TINY) & (v != 0)).any())


def _neighbours(x: Array) -> tuple[Array, Array]:
    """Return the f32 at or below and the one at or above each value."""
    with np.errstate(all="ignore"):
        near = x.astype(F32)
        wide = near.astype(np.float64)
        below = np.where(wide > x, np.nextafter(near, F32(-np.inf)), near)
        above = np.where(wide < x, np.nextafter(near, F32(np.inf)), near)
    return np.asarray(below, np.float64), np.asarray(above, np.float64)


def _flushed_down(low: Array) -> Array:
    return np.where((low > 0) & (low < TINY), 0.0, low)


def _flushed_up(high: Array) -> Array:
    return np.where((high < 0) & (high > -TINY), 0.0, high)


def widened(number: Number, error: Array | float) -> Number:
    """Return a number that may be off by ``error`` more on each side, as an f32."""
    with np.errstate(all="ignore"):
        low = _neighbours(np.asarray(number.low - error))[0]
        high = _neighbours(np.asarray(number.high + error))[1]
    return Number("f32", number.v, _flushed_down(low), _flushed_up(high))


def within_ulp(number: Number, ulps: Array | float) -> Number:
    """Return a number that may be off by so many units in the last place of its bounds."""
    with np.errstate(all="ignore"):
        largest = np.maximum(*(spacing(np.abs(one), F32) for one in (number.low, number.high)))
        return widened(number, np.asarray(ulps) * largest)


def monotone(f: Any, x: Number, falling: bool = False) -> Number:
    """Return f(x) in double precision for a function that only rises, or only falls."""
    found = mapped("f32", f, x)
    return Number("f32", found.v, found.high, found.low) if falling else found


def lipschitz(f: Any, x: Number) -> Number:
    """Return f(x) in double precision for a function whose slope is at most 1."""
    with np.errstate(all="ignore"):
        v = np.asarray(f(x.v))
        if x.is_exact:
            return Number("f32", v, v, v)
        return Number("f32", v, v - (x.v - x.low), v + (x.high - x.v))


def where(condition: Any, yes: Number, no: Number) -> Number:
    return mapped(yes.kind, lambda a, b: np.where(condition, a, b), yes, no)


def hull(one: Number, other: Number, v: Array) -> Number:
    """Return a number that may be anything that one of two may be."""
    with np.errstate(invalid="ignore"):
        return Number(one.kind, v, np.minimum(one.low, other.low), np.maximum(one.high, other.high))


def convert(number: Number, kind: str) -> Number:
    """Return a number as another scalar type, as WGSL's constructors do."""
    if number.kind == kind:
        return number
    if kind == "f32":
        return settled(mapped(kind, lambda one: np.asarray(one, np.float64), number))
    if kind == "AbstractFloat":
        return exact(kind, number.v.astype(np.float64))
    if kind == "bool":
        if number.is_exact:
            return exact("bool", number.v != 0)
        some = (number.low > 0) | (number.high < 0)
        none = (number.low == 0) & (number.high == 0)
        return Number("bool", number.v != 0, some, ~none)
    if kind not in RANGES and kind != "AbstractInt":
        raise OutOfReachError(f"a number of type {kind}")
    return _as_integer(number, kind)


def _as_integer(number: Number, kind: str) -> Number:
    def turn(values: Array) -> Array:
        if values.dtype.kind == "f":
            least, most = RANGES[kind]
            with np.errstate(invalid="ignore"):
                whole = np.trunc(np.nan_to_num(values, nan=0.0, posinf=2.0**40, neginf=-(2.0**40)))
            return np.asarray(np.clip(whole, least, most), np.int64)
        return wrap(values.astype(np.int64), kind)

    v = turn(number.v)
    if number.is_exact:
        return Number(kind, v, v, v)
    low, high = turn(number.low), turn(number.high)
    if number.is_float or number.kind == "bool" or bool((low <= high).all()):
        return Number(kind, v, low, high)
    return anything(kind, v)


def wrap(values: Array, kind: str) -> Array:
    """Return whole numbers as their type has them."""
    if kind == "u32":
        return np.asarray(values & 0xFFFFFFFF)
    if kind == "i32":
        return np.asarray(((values + (1 << 31)) & 0xFFFFFFFF) - (1 << 31))
    return values


def anything(kind: str, v: Array) -> Number:
    """Return a whole number of which nothing is known but what it should be."""
    least, most = RANGES.get(kind, RANGES["i32"])
    return Number(kind, v, np.full(v.shape, least), np.full(v.shape, most))
