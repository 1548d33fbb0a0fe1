"""Functions of ``shaders/lib``: their derivatives, and what they are on NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu import numerics, special
from wgsl_kernels.wgsl.derive.rules import BUILTINS, DerivativeRule, read_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed

_HOMES = {
    "safe_math": "safe_div safe_exp safe_log safe_rsqrt is_negative",
    "gamma": "safe_digamma safe_polygamma",
    "hyperbolic": "safe_cosh safe_sinh",
    "trigonometry": "safe_cos safe_sin",
    "logistic": "safe_sigmoid",
    "power": "safe_pow",
    "remainder": "floor_div_f32",
}
"""The modules of what derivatives name."""
_HOME = {
    name: f"wgsl_kernels::lib::{home}::{name}"
    for home, names in _HOMES.items()
    for name in names.split()
}
_TABLE = """
    exp_below : {y}
    floor_div_f32 : 0 : 0
    floor_mod_f32 : {one} : -floor_div_f32({a}, {b})
    hold : {one}
    refined_sqrt : safe_div(0.5, {y})
    round_half_even : 0
    safe_acos : -safe_rsqrt((1.0 - {a}) * (1.0 + {a}))
    safe_acosh : safe_rsqrt(({a} - 1.0) * ({a} + 1.0))
    safe_asin : safe_rsqrt((1.0 - {a}) * (1.0 + {a}))
    safe_asinh : safe_rsqrt({a} * {a} + 1.0)
    safe_atan : safe_div(1.0, 1.0 + {a} * {a})
    safe_atan2 : safe_div({b}, {a} * {a} + {b} * {b}) : safe_div(-{a}, {a} * {a} + {b} * {b})
    safe_atanh : safe_div(1.0, (1.0 - {a}) * (1.0 + {a}))
    safe_cos : -safe_sin({a})
    safe_cosh : safe_sinh({a})
    safe_digamma : safe_polygamma(1u, {a})
    safe_div : safe_div(1.0, {b}) : -safe_div({y}, {b})
    safe_erf : 1.1283791671 * safe_exp(-{a} * {a})
    safe_erfc : -1.1283791671 * safe_exp(-{a} * {a})
    safe_erfinv : 0.8862269255 * safe_exp({y} * {y})
    safe_exp : {y}
    safe_expm1 : safe_exp({a})
    safe_lgamma : safe_digamma({a})
    safe_log : safe_div(1.0, {a})
    safe_log1p : safe_div(1.0, 1.0 + {a})
    safe_log2 : safe_div(1.4426950409, {a})
    safe_log10 : safe_div(0.4342944819, {a})
    safe_rsqrt : -0.5 * safe_div({y}, {a})
    safe_sigmoid : {y} * safe_sigmoid(-{a})
    safe_sign : 0
    safe_sin : safe_cos({a})
    safe_sinh : safe_cosh({a})
    safe_softplus : safe_sigmoid({a})
    safe_sqrt : safe_div(0.5, {y})
    safe_tan : 1.0 + {y} * {y}
    safe_tanh : 1.0 - {y} * {y}
    trunc_mod_f32 : {one} : -trunc({a} / {b})
"""
_TIES = """
    safe_max : select({zero}, {one}, {a} >= {b}) : select({one}, {zero}, {a} >= {b})
    safe_min : select({zero}, {one}, {a} <= {b}) : select({one}, {zero}, {a} <= {b})
    with_sign_of : select(-1.0, 1.0, is_negative({a}) == is_negative({b})) : 0
"""
_POWER = "select({b} * safe_pow({a}, {b} - 1.0), 0.0, {b} == 0.0)"
_EXPONENT = "select({y} * safe_log({a}), 0.0, {a} == 0.0)"


def _with_imports(rule: DerivativeRule) -> DerivativeRule:
    named = [home for name, home in _HOME.items() if any(f"{name}(" in p for p in rule.partials)]
    return DerivativeRule(rule.partials, tuple(named))


RULES: Mapping[str, DerivativeRule] = {
    **{name: _with_imports(rule) for name, rule in read_rules(_TABLE + _TIES).items()},
    "safe_clamp": BUILTINS["clamp"],
    "safe_pow": _with_imports(DerivativeRule((_POWER, _EXPONENT))),
}
"""The derivatives; those of their arguments that have none are left out."""


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


LEAVES: Mapping[str, Callable[..., Any]] = {
    "exp_below": np.exp,
    "floor_div_f32": np.floor_divide,
    "floor_mod_f32": np.mod,
    "hold": lambda x: x,
    "is_finite": np.isfinite,
    "is_inf": np.isinf,
    "is_nan": np.isnan,
    "is_negative": np.signbit,
    "is_zero": lambda x: x == 0,
    "refined_sqrt": np.sqrt,
    "round_half_even": np.rint,
    "safe_acos": np.arccos, "safe_acosh": np.arccosh, "safe_asin": np.arcsin,
    "safe_asinh": np.arcsinh, "safe_atan": np.arctan, "safe_atan2": np.arctan2,
    "safe_atanh": np.arctanh, "safe_cos": np.cos, "safe_cosh": np.cosh,
    "safe_clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "safe_digamma": special.digamma,
    "safe_div": np.divide,
    "safe_erf": numerics.erf, "safe_erfc": special.erfc, "safe_erfinv": special.erfinv,
    "safe_exp": np.exp, "safe_expm1": np.expm1, "safe_lgamma": special.lgamma,
    "safe_log": np.log, "safe_log10": np.log10,
    "safe_log1p": np.log1p, "safe_log2": np.log2, "safe_max": np.maximum, "safe_min": np.minimum,
    "safe_pow": np.power,
    "safe_rsqrt": lambda x: 1 / np.sqrt(x),
    "safe_sigmoid": _sigmoid,
    "safe_sign": np.sign, "safe_sin": np.sin, "safe_sinh": np.sinh,
    "safe_softplus": _softplus,
    "safe_sqrt": np.sqrt, "safe_tan": np.tan, "safe_tanh": np.tanh,
    "trunc_mod_f32": np.fmod,
    "with_sign_of": np.copysign,
    "wk_assert": lambda condition: None,
    "wk_inf": lambda: np.float32(np.inf),
    "wk_nan": lambda: np.float32(np.nan),
    "wk_print": lambda value: None, "wk_print_i32": lambda value: None,
    "wk_print_u32": lambda value: None,
}  # fmt: skip
"""The functions on NumPy values of whatever precision."""


def leaves_of(composed: Composed) -> dict[str, Callable[..., Any]]:
    """Return what stands on NumPy for a composed text's functions from ``shaders/lib``."""
    return {name: LEAVES[name] for name in LEAVES.keys() & composed.shared_functions()}
