"""Accurate NumPy functions that CPU kernels share.

All keep the dtype of their first argument, are silent, and carry NaN and Inf as IEEE 754 has it.
In float32 a function of one element lies within 1 ULP of the exact result: it runs in float64 and
is rounded once.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Params = ParamSpec("Params")
Result = TypeVar("Result")
Array = np.ndarray

WIDER = {
    np.dtype(np.float16): np.dtype(np.float64),
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


def silent(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Return ``function`` without NumPy's warnings of overflow and invalid values."""

    @functools.wraps(function)
    def quiet(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return quiet


def widened(function: Callable[..., Any]) -> Callable[..., Array]:
    """Return ``function`` computed in double precision and rounded to its first array's dtype."""

    @functools.wraps(function)
    def rounded(x: Array, *others: Array) -> Array:
        x = np.asarray(x)
        wide = WIDER.get(x.dtype, x.dtype)
        with np.errstate(all="ignore"):
            result = function(x.astype(wide), *(np.asarray(other).astype(wide) for other in others))
            return np.asarray(result).astype(x.dtype)

    return rounded


exp = widened(np.exp)
expm1 = widened(np.expm1)
log = widened(np.log)
log1p = widened(np.log1p)
sin, cos, tan = widened(np.sin), widened(np.cos), widened(np.tan)
asin, acos, atan = widened(np.arcsin), widened(np.arccos), widened(np.arctan)
sinh, cosh, tanh = widened(np.sinh), widened(np.cosh), widened(np.tanh)
asinh, acosh, atanh = widened(np.arcsinh), widened(np.arccosh), widened(np.arctanh)
atan2 = widened(np.arctan2)


@widened
def rsqrt(x: Array) -> Any:
    """Return 1 / sqrt(x)."""
    return 1 / np.sqrt(x)


@widened
def erf(x: Array) -> Any:
    """Return the error function of real ``x``."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x)).astype(x.dtype)


@widened
def sigmoid(x: Array) -> Any:
    """Return 1 / (1 + e^-x), without overflow."""
    if np.iscomplexobj(x):
        return 1 / (1 + np.exp(-x))
    z = np.exp(-np.abs(x))
    return np.where(x < 0, z, 1) / (1 + z)


@widened
def softplus(x: Array) -> Any:
    """Return log(1 + e^x), without overflow."""
    if np.iscomplexobj(x):
        return np.log1p(np.exp(x))
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@silent
def sign(x: Array) -> Array:
    """Return -1, 0 or 1, or NaN; of complex ``x``, x / abs(x)."""
    return np.asarray(np.sign(x))


@silent
def round_half_even(x: Array) -> Array:
    """Return the nearest whole number, the even one of two."""
    return np.rint(x) if np.issubdtype(x.dtype, np.inexact) else x.copy()


@silent
def divide(a: Array, b: Array) -> Array:
    """Return a / b: the quotient of floats, or of integers WGSL's ``int_div``."""
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return np.asarray(np.divide(a, b))
    return int_div(a, b)


def int_div(a: Array, b: Array) -> Array:
    """Return a / b of int32 toward zero, as WGSL has it: x / 0 = x and INT_MIN / -1 = INT_MIN."""
    wide, divisor = _int64_operands(a, b)
    quotient = np.abs(wide) // np.abs(divisor) * np.sign(wide) * np.sign(divisor)
    return np.asarray(quotient.astype(a.dtype))


def int_rem(a: Array, b: Array) -> Array:
    """Return a % b of int32 with the sign of ``a``, as WGSL has it: x % 0 = 0."""
    wide, divisor = _int64_operands(a, b)
    return np.asarray(np.fmod(wide, divisor).astype(a.dtype))


def floor_div(a: Array, b: Array) -> Array:
    """Return a // b rounded down, as Python has it; integers by zero as in ``int_div``.

    For floats the exact quotient is rounded down, then to the dtype: 1 // 0.1 is 9 in float32.
    """
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return _floor_quotient(a, b)
    wide, divisor = _int64_operands(a, b)
    return np.asarray((wide // divisor).astype(a.dtype))


@widened
def _floor_quotient(a: Array, b: Array) -> Any:
    # A finite number over an infinite one: NumPy answers NaN where the signs differ, Python -1.
    far = np.isinf(b) & np.isfinite(a)
    below = np.where((a != 0) & (np.signbit(a) != np.signbit(b)), -1.0, 0.0)
    return np.where(far, below, np.floor_divide(a, b))


@silent
def floor_mod(a: Array, b: Array) -> Array:
    """Return a % b with the sign of ``b``, as Python; by zero integers give 0, floats NaN."""
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return np.asarray(np.mod(a, b))
    wide, divisor = _int64_operands(a, b)
    return np.asarray(np.mod(wide, divisor).astype(a.dtype))


@silent
def trunc_mod(a: Array, b: Array) -> Array:
    """Return a % b with the sign of ``a``, as C; by zero integers give 0, floats NaN."""
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return np.asarray(np.fmod(a, b))
    return int_rem(a, b)


def _int64_operands(a: Array, b: Array) -> tuple[Array, Array]:
    # x / 0 = x and x % 0 = 0 are division by 1; 64 bits hold INT_MIN / -1 until it wraps.
    return a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)


def power(a: Array, b: Array) -> Array:
    """Return a to the power b: C99's rules for floats, ``pow_int`` for integers."""
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return _float_power(a, b)
    return pow_int(a, b)


_float_power = widened(np.power)


@silent
def pow_int(a: Array, b: Array) -> Array:
    """Return a to the power b of integers, wrapped to the dtype.

    A negative power is cut toward zero: 0 unless ``a`` is 1 or -1; also 0 for ``a`` = 0.
    """
    inverse = np.where(np.abs(a) == 1, np.where(b % 2 == 0, 1, a), 0)
    whole = np.power(a, np.maximum(b, 0))
    return np.asarray(np.where(b < 0, inverse, whole).astype(a.dtype))


@widened
def _exp_below(x: Array, top: Array) -> Any:
    return np.exp(x - top)


def finite_max(x: Array, axis: int | tuple[int, ...] | None) -> Array:
    """Return the maximum along ``axis``, kept as size 1; 0 in place of -Inf and of nothing."""
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.asarray(np.where(top == -np.inf, 0, top).astype(x.dtype))


@silent
def softmax(x: Array, axis: int | tuple[int, ...] | None = -1) -> Array:
    """Return e^x / sum(e^x) along ``axis``; NaN where all are -Inf or one is +Inf."""
    scaled = _exp_below(x, finite_max(x, axis))
    return np.asarray(scaled / np.sum(scaled, axis=axis, keepdims=True, dtype=x.dtype))


@silent
def logsumexp(x: Array, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """Return log(sum(e^x)) along ``axis``; +Inf where one is +Inf, -Inf of nothing."""
    top = finite_max(x, axis)
    infinite = np.isinf(top)
    total = np.sum(_exp_below(x, np.where(infinite, 0, top)), axis=axis, keepdims=True)
    result = np.where(infinite, top, top + log(total)).astype(x.dtype)
    return result if keepdims else np.squeeze(result, axis=axis)


@silent
def log_softmax(x: Array, axis: int | tuple[int, ...] | None = -1) -> Array:
    """Return x - log(sum(e^x)) along ``axis``, without overflow."""
    shifted = x - finite_max(x, axis)
    total = np.sum(exp(shifted), axis=axis, keepdims=True)
    return np.asarray((shifted - log(total)).astype(x.dtype))
