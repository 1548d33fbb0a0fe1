"""WGSL's own functions of numbers, on intervals.

Source: WebGPU Shading Language, section Floating Point Accuracy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.intervals.arithmetic import binary, compare, matched, negated
from wgsl_kernels.bench.intervals.numbers import (
    Array,
    Number,
    anything,
    between,
    convert,
    exact,
    hull,
    is_integer,
    lipschitz,
    mapped,
    monotone,
    rounded,
    settled,
    where,
    widened,
    within_ulp,
)

if TYPE_CHECKING:
    from collections.abc import Callable

ONE, HALF = exact("f32", 1.0), exact("f32", 0.5)


def _exponential(f: Any) -> Callable[[Number], Number]:
    def of(x: Number) -> Number:
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(x.low), np.abs(x.high))
            return within_ulp(settled(monotone(f, x)), 3 + 2 * np.nan_to_num(size, posinf=0.0))

    return of


def _logarithm(f: Any) -> Callable[[Number], Number]:
    def of(x: Number) -> Number:
        near = (x.high >= 0.5) & (x.low <= 2.0)
        found = settled(monotone(f, x))
        return where(near, widened(found, 2.0**-21), within_ulp(found, 3))

    return of


def _wave(f: Any) -> Callable[[Number], Number]:
    def of(x: Number) -> Number:
        found = widened(lipschitz(f, x), 2.0**-11)
        inside = (x.low >= -np.pi) & (x.high <= np.pi)
        free = np.full(np.shape(found.v), np.inf)
        return where(inside, found, Number("f32", found.v, -free, free))

    return of


def _inverse_sqrt(x: Number) -> Number:
    return within_ulp(settled(monotone(lambda v: 1 / np.sqrt(v), x, falling=True)), 2)


def _sqrt(x: Number) -> Number:
    found = binary("/", ONE, _inverse_sqrt(x))
    with np.errstate(invalid="ignore"):
        v = np.sqrt(x.v)
    zero = x.v == 0  # where 1 / inverseSqrt says nothing
    none = np.where(zero, 0.0, v)
    return Number("f32", v, np.where(zero, none, found.low), np.where(zero, none, found.high))


def _named(v: Callable[[Array], Array], written: Callable[[Number], Number]) -> Any:
    """Return a function that is as accurate as the expression that the specification writes."""

    def of(x: Number) -> Number:
        found = written(x)
        with np.errstate(all="ignore"):
            exactly = np.asarray(v(x.v))
            low, high = np.fmin(found.low, exactly), np.fmax(found.high, exactly)
        return Number("f32", exactly, low, high)

    return of


def _worse(f: Any, error: float, written: Callable[[Number], Number], falling: bool = False) -> Any:
    """Return a function with the larger of an absolute error and that of an expression."""

    def of(x: Number) -> Number:
        one = widened(settled(monotone(f, x, falling)), error)
        return hull(one, written(x), one.v)

    return of


def _sinh(x: Number) -> Number:
    return binary("*", binary("-", _EXP(x), _EXP(negated(x))), HALF)


def _cosh(x: Number) -> Number:
    return binary("*", binary("+", _EXP(x), _EXP(negated(x))), HALF)


def _tanh(x: Number) -> Number:
    return binary("/", _sinh(x), _cosh(x))


def _atan(x: Number) -> Number:
    return within_ulp(settled(monotone(np.arctan, x)), 4096)


def atan2(y: Number, x: Number) -> Number:
    """Return atan2, which has no bound where the interval meets the cut."""
    with np.errstate(all="ignore"):
        v = np.arctan2(y.v, x.v)
        found = [np.arctan2(a, b) for a in (y.low, y.high) for b in (x.low, x.high)]
    cut = (x.low <= 0) & (y.low <= 0) & (y.high >= 0) & (y.low != y.high)
    low, high = np.minimum.reduce(found), np.maximum.reduce(found)
    wide = within_ulp(rounded(v, low, high), 4096)
    return Number("f32", v, np.where(cut, -4.0, wide.low), np.where(cut, 4.0, wide.high))


def _root_of_rest(x: Number) -> Number:
    return _sqrt(binary("-", ONE, binary("*", x, x)))


def _asinh(x: Number) -> Number:
    root = _sqrt(binary("+", binary("*", x, x), ONE))
    return _LOG(binary("+", x, root))


def _acosh(x: Number) -> Number:
    root = _sqrt(binary("-", binary("*", x, x), ONE))
    return _LOG(binary("+", x, root))


def _atanh(x: Number) -> Number:
    ratio = binary("/", binary("+", ONE, x), binary("-", ONE, x))
    return binary("*", _LOG(ratio), HALF)


def _pow(x: Number, y: Number) -> Number:
    found = _EXP2(binary("*", y, _LOG2(x)))
    with np.errstate(all="ignore"):
        v = np.power(x.v, y.v)
    return Number("f32", v, found.low, found.high)


def _whole(f: Any) -> Callable[[Number], Number]:
    def of(x: Number) -> Number:
        return x if is_integer(x.kind) else mapped(x.kind, f, x)

    return of


def absolute(x: Number) -> Number:
    v = np.abs(x.v)
    if x.is_exact:
        return Number(x.kind, v, v, v)
    has_zero = (x.low <= 0) & (x.high >= 0)
    low, high = np.abs(x.low), np.abs(x.high)
    least = np.where(has_zero, 0, np.minimum(low, high))
    return Number(x.kind, v, least, np.maximum(low, high))


def _extreme(f: Any) -> Callable[[Number, Number], Number]:
    def of(a: Number, b: Number) -> Number:
        a, b = matched(a, b)
        return mapped(a.kind, f, a, b)

    return of


_MIN, _MAX = _extreme(np.minimum), _extreme(np.maximum)


def _clamp(x: Number, low: Number, high: Number) -> Number:
    return _MIN(_MAX(x, low), high)


def _fma(a: Number, b: Number, c: Number) -> Number:
    return binary("+", binary("*", a, b), c)


def _mix(a: Number, b: Number, t: Number) -> Number:
    return binary("+", binary("*", a, binary("-", exact("f32", 1.0), t)), binary("*", b, t))


def _smoothstep(low: Number, high: Number, x: Number) -> Number:
    ratio = binary("/", binary("-", x, low), binary("-", high, low))
    t = _clamp(ratio, exact("f32", 0.0), ONE)
    return binary(
        "*", binary("*", t, t), binary("-", exact("f32", 3.0), binary("*", t, exact("f32", 2.0)))
    )


def _step(edge: Number, x: Number) -> Number:
    return convert(compare("<=", edge, x), "f32")


def _scaled(factor: float) -> Callable[[Number], Number]:
    return lambda x: binary("*", x, exact("AbstractFloat", factor))


def select(no: Number, yes: Number, condition: Number) -> Number:
    """Return what select does: either where the condition is in doubt."""
    no, yes = matched(no, yes)
    if condition.is_exact:
        return where(condition.v, yes, no)
    chosen = where(condition.v, yes, no)
    both = hull(yes, no, chosen.v)
    return where(condition.doubt, both, chosen)


# Bits.


def bits_of(x: Number) -> Number:
    """Return bitcast<u32>(x)."""
    if is_integer(x.kind):
        return convert(x, "u32")
    v = _bits(x.v)
    if x.is_exact:
        return Number("u32", v, v, v)
    low, high = _bits(x.low), _bits(x.high)
    same = np.signbit(x.low) == np.signbit(x.high)
    found, whole = between("u32", v, low, high), anything("u32", v)
    return where(same & ~np.isnan(x.v), found, where(np.isnan(x.v), exact("u32", v), whole))


def _bits(values: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(values.astype(np.float32).view(np.uint32).astype(np.int64))


def number_of(bits: Number) -> Number:
    """Return bitcast<f32>(bits)."""
    bits = convert(bits, "u32")
    v = _float_of(bits.v)
    if bits.is_exact:
        return Number("f32", v, v, v)
    low, high = _float_of(bits.low), _float_of(bits.high)
    same = (bits.low >> 31) == (bits.high >> 31)
    found = between("f32", v, low, high)
    free = np.full(v.shape, np.inf)
    return where(same & np.isfinite(low) & np.isfinite(high), found, Number("f32", v, -free, free))


def _float_of(bits: Array) -> Array:
    return np.asarray(bits.astype(np.uint32).view(np.float32).astype(np.float64))


_EXP, _EXP2 = _exponential(np.exp), _exponential(np.exp2)
_LOG, _LOG2 = _logarithm(np.log), _logarithm(np.log2)
_SIN, _COS = _wave(np.sin), _wave(np.cos)

BUILTINS: dict[str, Callable[..., Number]] = {
    "abs": absolute,
    "acos": _worse(np.arccos, 6.77e-5, lambda x: atan2(_root_of_rest(x), x), falling=True),
    "acosh": _named(np.arccosh, _acosh),
    "asin": _worse(np.arcsin, 6.81e-5, lambda x: atan2(x, _root_of_rest(x))),
    "asinh": _named(np.arcsinh, _asinh),
    "atan": _atan,
    "atan2": atan2,
    "atanh": _named(np.arctanh, _atanh),
    "ceil": _whole(np.ceil),
    "clamp": _clamp,
    "cos": _COS,
    "cosh": _named(np.cosh, _cosh),
    "degrees": _scaled(180 / math.pi),
    "exp": _EXP,
    "exp2": _EXP2,
    "floor": _whole(np.floor),
    "fma": _fma,
    "fract": lambda x: binary("-", x, _whole(np.floor)(x)),
    "inverseSqrt": _inverse_sqrt,
    "log": _LOG,
    "log2": _LOG2,
    "max": _MAX,
    "min": _MIN,
    "mix": _mix,
    "pow": _pow,
    "radians": _scaled(math.pi / 180),
    "round": _whole(np.round),
    "saturate": lambda x: _clamp(x, exact("f32", 0.0), ONE),
    "select": select,
    "sign": lambda x: mapped(x.kind, np.sign, x),
    "sin": _SIN,
    "sinh": _named(np.sinh, _sinh),
    "smoothstep": _smoothstep,
    "sqrt": _sqrt,
    "step": _step,
    "tan": _named(np.tan, lambda x: binary("/", _SIN(x), _COS(x))),
    "tanh": _worse(np.tanh, 1e-5, _tanh),
    "trunc": _whole(np.trunc),
}
"""Functions that WGSL applies to vectors element by element, too."""
