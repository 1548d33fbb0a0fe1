"""Accurate NumPy functions that CPU kernels share.

All keep the dtype of their first argument, are silent, and carry NaN and Inf as IEEE 754 has it.
In float32 each lies within what its kernel's samples allow (``testing.bounds.SAFE_ULP``; 3 ULP for
exp, of which NumPy's own is 2.52 off): where NumPy's own float32 version does, it is that one; the
others run in float64 and are rounded once.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.precision import (
    Array,
    in_blocks,
    native,
    of_integers,
    silent,
    wide,
    widened,
)
from wgsl_kernels.backends.cpu.sums import total

if TYPE_CHECKING:
    from collections.abc import Callable

Axes = int | tuple[int, ...] | None

exp, expm1, log, log1p = native(np.exp), native(np.expm1), native(np.log), native(np.log1p)
log2, log10 = native(np.log2), native(np.log10)
sin, cos, tan = native(np.sin), native(np.cos), native(np.tan)
asin, acos, atan = native(np.arcsin), native(np.arccos), native(np.arctan)
sinh, cosh, tanh = native(np.sinh), native(np.cosh), native(np.tanh)
asinh, acosh, atanh = native(np.arcsinh), native(np.arccosh), native(np.arctanh)
atan2 = native(np.arctan2)


@silent
def rsqrt(x: Array) -> Array:
    """Return 1 / sqrt(x)."""
    if x.dtype != np.float32:
        return _accurate_rsqrt(x)
    root = np.asarray(np.sqrt(x))
    np.reciprocal(root, out=root)
    return root


@widened
def _accurate_rsqrt(x: Array) -> Any:
    return 1 / np.sqrt(x)


def erf(x: Array) -> Array:
    """Return the error function of real ``x``."""
    return _erf_of_single(x) if x.dtype == np.float32 else _erf_by_element(x)


@widened
def _erf_by_element(x: Array) -> Any:
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(x)).astype(x.dtype)


# g(t) = -log(1 - erf(sqrt(t))^2) / t on [0, 16], by powers of t / 8 - 1: a fit of our own by least
# squares, weighted so that erf is off by 0.2 ULP. From 4 on erf is 1 in float32.
_ERF = np.array(
    [
        -0.008777608538364469,
        -0.003752086441842324,
        0.012886404605385694,
        0.0007868201737007178,
        0.013074649430052522,
        -0.02697834923934419,
        0.03901952455066562,
        -0.06534956571027181,
        1.121743388569544,
    ],
    np.float32,
)


@in_blocks
def _erf_of_single(x: Array) -> Any:
    # erf(x) = sqrt(1 - e^(-x^2 g(x^2))), one smooth function for all x; near 0 its series. Found
    # to be off by 2.6 ULP at most.
    t = np.clip(np.square(x), np.float32(0), np.float32(16))  # faster than minimum
    u = t * np.float32(1 / 8) - np.float32(1)
    y = u * _ERF[0]
    for coefficient in _ERF[1:-1]:
        y += coefficient
        y *= u
    y += _ERF[-1]
    y *= t
    np.negative(y, out=y)
    np.expm1(y, out=y)
    np.negative(y, out=y)
    np.sqrt(y, out=y)
    np.copysign(y, x, out=y)
    small = np.flatnonzero(t < np.float32(1e-4))
    slope = np.float32(2 / math.sqrt(math.pi))
    y[small] = x[small] * (slope - slope / 3 * t[small])
    return y


@silent
def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), without overflow."""
    if x.dtype != np.float32:
        return _accurate_sigmoid(x)
    y = np.asarray(np.negative(x))
    np.exp(y, out=y)  # infinite where the result is below the normal numbers: then 0
    y += 1
    np.reciprocal(y, out=y)
    return y


@widened
def _accurate_sigmoid(x: Array) -> Any:
    if np.iscomplexobj(x):
        return 1 / (1 + np.exp(-x))
    z = np.exp(-np.abs(x))
    return np.where(x < 0, z, 1) / (1 + z)


@silent
def softplus(x: Array) -> Array:
    """Return log(1 + e^x), without overflow."""
    if x.dtype != np.float32:
        return _accurate_softplus(x)
    y = np.asarray(np.abs(x))
    np.negative(y, out=y)
    np.exp(y, out=y)
    np.log1p(y, out=y)
    y += positive(x)
    return y


@widened
def _accurate_softplus(x: Array) -> Any:
    if np.iscomplexobj(x):
        return np.log1p(np.exp(x))
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def positive(x: Array) -> Array:
    """Return the larger of ``x``, of any real dtype, and 0; NaN of NaN."""
    if x.dtype.kind != "f":
        return np.asarray(np.maximum(x, x.dtype.type(0)))
    return np.asarray(np.clip(x, x.dtype.type(0), x.dtype.type(np.inf)))  # faster than maximum


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


@of_integers
def int_div(a: Array, b: Array) -> Any:
    """Return a / b of int32 toward zero, as WGSL has it: x / 0 = x and INT_MIN / -1 = INT_MIN."""
    return np.trunc(a / _divisor(b))


@of_integers
def int_rem(a: Array, b: Array) -> Any:
    """Return a % b of int32 with the sign of ``a``, as WGSL has it: x % 0 = 0."""
    return np.fmod(a, _divisor(b))


def floor_div(a: Array, b: Array) -> Array:
    """Return a // b rounded down, as Python has it; integers by zero as in ``int_div``.

    For floats the exact quotient is rounded down, then to the dtype: 1 // 0.1 is 9 in float32.
    """
    if np.issubdtype(np.result_type(a, b), np.inexact):
        exact = _floor_quotient_of_doubles if a.dtype == np.float64 else _floor_quotient
        return exact(a, b)
    return _int_floor_div(a, b)


@of_integers
def _int_floor_div(a: Array, b: Array) -> Any:
    return np.floor(a / _divisor(b))


def _settled(a: Array, b: Array, rounded_down: Callable[[Array, Array], Array]) -> Array:
    """Return what ``rounded_down`` gives, with Python's answers for infinite numbers."""
    quotient = rounded_down(a, b)
    if np.isfinite(a).all() and np.isfinite(b).all():
        return quotient
    # An infinite number has no quotient; a finite one over it lies just below 0 where the signs
    # differ.
    far = np.isinf(b) & np.isfinite(a)
    below = np.where(np.signbit(a) != np.signbit(b), np.where(a != 0, -1.0, -0.0), 0.0)
    return np.where(far, below, np.where(np.isinf(a) & (b != 0), np.nan, quotient))


@widened
def _floor_quotient(a: Array, b: Array) -> Any:
    # Of two float32 the double quotient passes no whole number below 2^28; above it errs by less
    # than a rounding to float32.
    return _settled(a, b, lambda a, b: np.floor(a / b))


@silent
def _floor_quotient_of_doubles(a: Array, b: Array) -> Array:
    return _settled(a, b, np.floor_divide)


@silent
def floor_mod(a: Array, b: Array) -> Array:
    """Return a % b with the sign of ``b``, as Python; by zero integers give 0, floats NaN."""
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return np.asarray(np.mod(a, b))
    return _int_floor_mod(a, b)


@of_integers
def _int_floor_mod(a: Array, b: Array) -> Any:
    divisor = _divisor(b)
    return a - np.floor(a / divisor) * divisor


@silent
def trunc_mod(a: Array, b: Array) -> Array:
    """Return a % b with the sign of ``a``, as C; by zero integers give 0, floats NaN."""
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return np.asarray(np.fmod(a, b))
    return int_rem(a, b)


def _divisor(b: Array) -> Any:
    return b + (b == 0)  # x / 0 = x and x % 0 = 0 are division by 1


@widened
def logaddexp(a: Array, b: Array) -> Any:
    """Return log(e^a + e^b), without overflow."""
    return np.logaddexp(a, b)


def power(a: Array, b: Array) -> Array:
    """Return a to the power b: C99's rules for floats, ``pow_int`` for integers."""
    if np.issubdtype(np.result_type(a, b), np.inexact):
        return _float_power(a, b)
    return pow_int(a, b)


_float_power = native(np.power)


@silent
def pow_int(a: Array, b: Array) -> Array:
    """Return a to the power b of integers, wrapped to the dtype.

    A negative power is cut toward zero: 0 unless ``a`` is 1 or -1; also 0 for ``a`` = 0.
    """
    if not b.size or b.min() >= 0:
        return np.asarray(np.power(a, b))
    inverse = np.where(np.abs(a) == 1, np.where(b % 2 == 0, 1, a), 0)
    whole = np.power(a, np.maximum(b, 0))
    return np.asarray(np.where(b < 0, inverse, whole).astype(a.dtype))


def finite_max(x: Array, axis: Axes) -> Array:
    """Return the maximum along ``axis``, kept as size 1; 0 in place of -Inf and of nothing."""
    top = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    return np.asarray(np.where(top == -np.inf, x.dtype.type(0), top))


def _in_single(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return ``function`` with float16 computed in float32 and rounded once.

    NumPy's sums of float16 along leading axes stay at 2048, where 1 is lost; and past 65504 there
    are none.
    """

    @functools.wraps(function)
    def computed(x: Array, *args: Any, **kwargs: Any) -> Array:
        with np.errstate(all="ignore"):
            return function(wide(x), *args, **kwargs).astype(x.dtype, copy=False)

    return computed


@_in_single
def softmax(x: Array, axis: Axes = -1) -> Array:
    """Return e^x / sum(e^x) along ``axis``; NaN where all are -Inf or one is +Inf."""
    if not x.size:  # of which the other axes may be longer than any memory
        return x
    y = np.asarray(x - finite_max(x, axis))
    np.exp(y, out=y)
    y /= _kept_total(y, axis)
    return y


@_in_single
def logsumexp(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    """Return log(sum(e^x)) along ``axis``; +Inf where one is +Inf, -Inf of nothing."""
    top = finite_max(x, axis)
    infinite = np.isinf(top)
    finite = np.where(infinite, x.dtype.type(0), top)
    terms = np.asarray(x - finite)
    np.exp(terms, out=terms)
    below = _log_total(terms, x, finite, axis)
    result = np.where(infinite, top, top + below).astype(x.dtype)
    return result if keepdims else np.squeeze(result, axis=axis)


@_in_single
def log_softmax(x: Array, axis: Axes = -1) -> Array:
    """Return x - log(sum(e^x)) along ``axis``, without overflow."""
    if not x.size:
        return x
    top = finite_max(x, axis)
    y = np.asarray(x - top)
    y -= _log_total(exp(y), x, top, axis)
    return y


def _log_total(terms: Array, x: Array, top: Array, axis: Axes) -> Array:
    """Return log(sum(terms)) along ``axis``, kept; the terms are ``e^(x - top)``, the largest is 1.

    Where the others together are less than that, they are summed without it and in double
    precision, so that the logarithm keeps its digits.
    """
    totals = _kept_total(terms, axis)
    logs = log(totals)
    near = (totals >= 1) & (totals < 2)
    if near.any():
        axes = _axes(x, axis)
        kept = tuple(length for at, length in enumerate(x.shape) if at not in axes)
        rows = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(*kept, -1)
        chosen = near.reshape(kept)
        gaps = rows[chosen].astype(np.float64) - top.reshape(kept)[chosen][:, None]
        others = np.where(gaps == 0, 0, np.exp(gaps))
        logs.reshape(kept)[chosen] = np.log1p(others.sum(axis=-1))
    return logs


def _axes(x: Array, axis: Axes) -> tuple[int, ...]:
    given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(one % x.ndim for one in given)


def _kept_total(x: Array, axis: Axes) -> Array:
    return total(x, list(_axes(x, axis)), keepdims=True)
