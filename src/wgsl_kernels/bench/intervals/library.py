"""Functions of ``shaders/lib`` on intervals, by the error that they state, and the composer's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.derived.library import LEAVES
from wgsl_kernels.bench.intervals.arithmetic import binary
from wgsl_kernels.bench.intervals.functions import BUILTINS, absolute, atan2
from wgsl_kernels.bench.intervals.numbers import (
    Number,
    exact,
    lipschitz,
    monotone,
    rounded,
    settled,
    where,
    within_ulp,
)
from wgsl_kernels.testing.bounds import SAFE_ULP

if TYPE_CHECKING:
    from collections.abc import Callable


def _safe(name: str, falling: bool = False) -> Callable[[Number], Number]:
    f, ulps = LEAVES[name], SAFE_ULP[name]
    return lambda x: within_ulp(settled(monotone(f, x, falling)), ulps)


def _safe_wave(name: str) -> Callable[[Number], Number]:
    f, ulps = LEAVES[name], SAFE_ULP[name]
    return lambda x: within_ulp(settled(lipschitz(f, x)), ulps)


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
    found = _safe("safe_tan")(x)
    free = np.full(found.v.shape, np.inf)
    return where(turn, Number("f32", found.v, -free, free), found)


def _exp_below(x: Number) -> Number:
    found = within_ulp(settled(monotone(np.exp, x)), 3)
    gone = np.isnan(x.v)  # gives some number
    return where(gone, Number("f32", np.zeros(()), np.zeros(()), np.ones(())), found)


_RISING = (
    "safe_sqrt refined_sqrt safe_exp safe_expm1 safe_log safe_log1p safe_sigmoid safe_softplus "
    "safe_tanh safe_sinh safe_asinh safe_acosh safe_atanh safe_asin safe_atan safe_erf safe_erfinv"
)
_FALLING = "safe_erfc safe_rsqrt safe_acos"

LIBRARY: dict[str, Callable[..., Number]] = {
    **{name: _safe(name) for name in _RISING.split()},
    **{name: _safe(name, falling=True) for name in _FALLING.split()},
    "safe_sin": _safe_wave("safe_sin"),
    "safe_cos": _safe_wave("safe_cos"),
    "safe_cosh": lambda x: _safe("safe_cosh")(absolute(x)),
    "safe_div": lambda a, b: binary("/", a, b),
    "safe_pow": _safe_pow,
    "safe_tan": _safe_tan,
    "safe_atan2": _safe_atan2,
    "exp_below": _exp_below,
    "hold": lambda x: x,
    "is_nan": lambda x: exact("bool", np.isnan(x.v)),
    "is_inf": lambda x: exact("bool", np.isinf(x.v)),
    "is_finite": lambda x: exact("bool", np.isfinite(x.v)),
    "is_negative": lambda x: Number("bool", np.signbit(x.v), np.signbit(x.high), np.signbit(x.low)),
    "safe_max": BUILTINS["max"],
    "safe_min": BUILTINS["min"],
}
"""What functions of ``shaders/lib`` and the composer give, by the error that their head states."""
