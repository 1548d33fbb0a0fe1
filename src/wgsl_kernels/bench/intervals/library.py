"""Functions of ``shaders/lib`` on intervals, by the error that they state, and the composer's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import numerics, special
from wgsl_kernels.bench.intervals.arithmetic import binary
from wgsl_kernels.bench.intervals.functions import BUILTINS, absolute, atan2, settled
from wgsl_kernels.bench.intervals.numbers import (
    Array,
    Number,
    exact,
    lipschitz,
    monotone,
    rounded,
    where,
    within_ulp,
)
from wgsl_kernels.testing.bounds import SAFE_ULP

if TYPE_CHECKING:
    from collections.abc import Callable


def _safe(f: Any, ulps: float, falling: bool = False) -> Callable[[Number], Number]:
    return lambda x: within_ulp(settled(monotone(f, x, falling)), ulps)


def _safe_wave(f: Any, ulps: float) -> Callable[[Number], Number]:
    return lambda x: within_ulp(settled(lipschitz(f, x)), ulps)


def _safe_cosh(x: Number) -> Number:
    return within_ulp(settled(monotone(np.cosh, absolute(x))), SAFE_ULP["safe_cosh"])


def _safe_div(a: Number, b: Number) -> Number:
    return binary("/", a, b)


def _safe_pow(x: Number, y: Number) -> Number:
    with np.errstate(all="ignore"):
        v = np.power(x.v, y.v)
        found = [np.power(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    low, high = np.fmin.reduce(found), np.fmax.reduce(found)
    crossing = (x.low <= 0) & (x.high >= 0) & x.doubt
    free = np.full(v.shape, np.inf)
    near = within_ulp(rounded(v, low, high), SAFE_ULP["safe_pow"])
    return where(crossing, Number("f32", v, -free, free), near)


def _safe_atan2(y: Number, x: Number) -> Number:
    near = atan2(y, x)
    wide = near.high - near.low > 1
    tight = within_ulp(rounded(near.v, near.v, near.v), SAFE_ULP["safe_atan2"])
    return where(x.doubt | y.doubt | wide, near, tight)


def _safe_tan(x: Number) -> Number:
    turn = np.floor(x.low / np.pi + 0.5) != np.floor(x.high / np.pi + 0.5)
    found = within_ulp(settled(monotone(np.tan, x)), SAFE_ULP["safe_tan"])
    free = np.full(found.v.shape, np.inf)
    return where(turn, Number("f32", found.v, -free, free), found)


def _exp_below(x: Number) -> Number:
    found = within_ulp(settled(monotone(np.exp, x)), 3)
    gone = np.isnan(x.v)  # gives some number
    return where(gone, Number("f32", np.zeros(()), np.zeros(()), np.ones(())), found)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _softplus(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


_RISING: dict[str, Any] = {
    "safe_sqrt": np.sqrt,
    "refined_sqrt": np.sqrt,
    "safe_exp": np.exp,
    "safe_expm1": np.expm1,
    "safe_log": np.log,
    "safe_log1p": np.log1p,
    "safe_sigmoid": _sigmoid,
    "safe_softplus": _softplus,
    "safe_tanh": np.tanh,
    "safe_sinh": np.sinh,
    "safe_asinh": np.arcsinh,
    "safe_acosh": np.arccosh,
    "safe_atanh": np.arctanh,
    "safe_asin": np.arcsin,
    "safe_atan": np.arctan,
    "safe_erf": numerics.erf,
    "safe_erfinv": special.erfinv,
}


def _nothing(kind: str, x: Number, f: Any) -> Number:
    return exact(kind, f(x.v))


LIBRARY: dict[str, Callable[..., Number]] = {
    **{name: _safe(f, SAFE_ULP[name]) for name, f in _RISING.items()},
    "safe_erfc": _safe(special.erfc, SAFE_ULP["safe_erfc"], falling=True),
    "safe_rsqrt": _safe(lambda x: 1 / np.sqrt(x), SAFE_ULP["safe_rsqrt"], falling=True),
    "safe_acos": _safe(np.arccos, SAFE_ULP["safe_acos"], falling=True),
    "safe_sin": _safe_wave(np.sin, SAFE_ULP["safe_sin"]),
    "safe_cos": _safe_wave(np.cos, SAFE_ULP["safe_cos"]),
    "safe_cosh": _safe_cosh,
    "safe_div": _safe_div,
    "safe_pow": _safe_pow,
    "safe_tan": _safe_tan,
    "safe_atan2": _safe_atan2,
    "exp_below": _exp_below,
    "hold": lambda x: x,
    "is_nan": lambda x: _nothing("bool", x, np.isnan),
    "is_inf": lambda x: _nothing("bool", x, np.isinf),
    "is_finite": lambda x: _nothing("bool", x, np.isfinite),
    "is_negative": lambda x: Number("bool", np.signbit(x.v), np.signbit(x.high), np.signbit(x.low)),
    "safe_max": BUILTINS["max"],
    "safe_min": BUILTINS["min"],
}
"""What functions of ``shaders/lib`` and the composer give, by the error that their head states."""
