"""How far first derivatives in float32 are from exact ones, in units in the last place, by rule.

`python -m benchmarks.gradient_accuracy` sweeps every exponent of float32 on both backends, with
mpmath as the referee, and writes what was found to docs/_data/gradient_accuracy.json, of which the
docs make a table. The upstream gradient is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
from benchmarks.accuracy import (
    BITS,
    RECORDED,
    Function,
    any_size,
    exponents,
    measure,
    record,
)

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SLOPES_RECORDED = RECORDED.with_name("gradient_accuracy.json")
LIMIT = 64.0
"""What a derivative that is a normal number may be off, in units in the last place."""
PER_CONDITION = 8.0
"""What one whose row says why may be off beside that, times its condition number."""
_TINY = float(np.finfo(np.float32).tiny)
Array = np.ndarray

_TWO_TERMS = "the difference of two terms"


@dataclass(frozen=True)
class Slope(Function):
    """A derivative whose accuracy is measured.

    Attributes:
        why: Why it may be off by more than `LIMIT`; then by its condition number, see `condition`.
        amplified: The condition number of the rule's formula, where that is not what the inputs'
            own rounding does to the derivative.
    """

    why: str = ""
    amplified: Callable[..., Any] | None = None


def _slope(f: Callable[..., wk.Tensor], argument: int = 0) -> Callable[..., wk.Tensor]:
    """Return the derivative of ``f``, which is elementwise, with respect to an argument."""

    def derivative(*inputs: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.grads(f)(*inputs)[argument]
        return found

    return derivative


def _of_one(
    name: str, f: Callable[..., wk.Tensor], exact: Callable[..., Any], **more: Any
) -> Slope:
    return Slope(name, _slope(f), exact, LIMIT, **more)


def _of_two(
    name: str, f: Callable[..., wk.Tensor], *exact: Callable[..., Any], **more: Any
) -> list[Slope]:
    """Return the derivatives with respect to both arguments."""
    given = {"second": _of_any_size, **more}
    return [
        Slope(f"{name}, {word}", _slope(f, argument), one, LIMIT, **given)
        for argument, (word, one) in enumerate(zip(("first", "second"), exact, strict=True))
    ]


def _of_any_size(draw: np.random.Generator, x: Array) -> Array:
    y = any_size(draw, x)
    return np.where(np.isfinite(y), y, x)


def _smaller(draw: np.random.Generator, x: Array) -> Array:
    return (x * draw.uniform(0.01, 0.9, x.size)).astype(np.float32)


def _exponents_above(draw: np.random.Generator, x: Array) -> Array:
    """Return powers by which one less gives a number."""
    y = 1 + exponents(draw, x).astype(np.float64)
    return np.clip(y, -1e38, 1e38).astype(np.float32)


def _first_of(f: Callable[..., wk.Tensor]) -> Callable[..., wk.Tensor]:
    """Return ``f`` of rows of two, of whose results the first is taken."""
    return lambda a, b: f(wk.stack([a, b], axis=-1))[..., 0]


def _of_rows(f: Callable[..., wk.Tensor]) -> Callable[..., wk.Tensor]:
    """Return ``f``, a reduction, of rows of two."""
    return lambda a, b: f(wk.stack([a, b], axis=-1), axis=-1)


def _fused(activation: str) -> Callable[..., wk.Tensor]:
    """Return an activation that ends a product."""

    def activated(x: wk.Tensor) -> wk.Tensor:
        product = wk.fused_mat_mul(wk.expand_dims(x, 1), wk.ones((1, 1)), activation=activation)
        return product[:, 0]

    return activated


def _binary_cross_entropy(x: wk.Tensor) -> wk.Tensor:
    return wk.sigmoid_cross_entropy(wk.ones_like(x), x, reduction="none")


def _cross_entropy(a: wk.Tensor, b: wk.Tensor) -> wk.Tensor:
    labels = wk.stack([wk.ones_like(a), wk.zeros_like(a)], axis=-1)
    return wk.softmax_cross_entropy(labels, wk.stack([a, b], axis=-1), reduction="none")


def _logistic(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _bell(x: Any) -> Any:
    return _logistic(x) * _logistic(-x)


def _exp_below(x: Any) -> Any:
    return mpmath.exp(x) if x < 0 else mpmath.mpf(1)


def _selu_slope(x: Any) -> Any:
    below = mpmath.mpf("1.7580993408473768637") * _exp_below(x)
    return mpmath.mpf("1.0507009873554804934") if x > 0 else below


def _silu_terms(x: Any) -> tuple[Any, Any]:
    return _logistic(x), x * _bell(x)


def _mish_terms(x: Any) -> tuple[Any, Any]:
    softplus = mpmath.log1p(mpmath.exp(-abs(x))) + max(x, 0)
    return mpmath.tanh(softplus), x * mpmath.sech(softplus) ** 2 * _logistic(x)


def _of_terms(
    name: str, f: Callable[..., wk.Tensor], terms: Callable[..., tuple[Any, Any]]
) -> Slope:
    """Return a derivative that is the sum of two terms, which cancel at one place."""

    def amplified(x: Any) -> Any:
        return sum(map(abs, terms(x))) / abs(sum(terms(x)))

    # below the limit e^x is no normal number
    return _of_one(name, f, lambda x: sum(terms(x)), low=-87.0, why=_TWO_TERMS, amplified=amplified)


def _reciprocal_root(x: Any) -> Any:
    return 1 / mpmath.sqrt(x)


def _largest(a: Any, b: Any) -> Any:
    """Return the larger of the sizes, which that of log(e^a + e^b) is within 1 of, or 1."""
    return max(abs(a), abs(b), 1)


def _over_length(a: Any, b: Any) -> Any:
    return a / mpmath.hypot(a, b)


def _over_square(a: Any, b: Any) -> Any:
    return a / (a * a + b * b)


_ROUNDED_POWER = "a^(b - 1), of which b - 1 is rounded; infinite where that is"
_FROM_RESULT = "e^(x - y), of which y is rounded"
_KEEPS_RESULT = "fused kernels keep the result alone; its condition number in that"

_LENGTHS = {"low": -1e38, "high": 1e38}
"""Where lengths and differences of squares are numbers."""
_SQUARES = {"low": 1e-17, "high": 1e17, "second": _smaller}
"""Where squares are normal numbers."""

SLOPES: tuple[Slope, ...] = (
    _of_one("abs", wk.abs, mpmath.sign),
    *_of_two(
        "abs of complex",
        lambda a, b: wk.abs(wk.complex(a, b)),
        _over_length,
        lambda a, b: _over_length(b, a),
        **_LENGTHS,
    ),
    _of_one("acos", wk.acos, lambda x: -_reciprocal_root((1 - x) * (1 + x)), low=-1, high=1),
    _of_one("acosh", wk.acosh, lambda x: _reciprocal_root((x - 1) * (x + 1)), low=1),
    _of_one("asin", wk.asin, lambda x: _reciprocal_root((1 - x) * (1 + x)), low=-1, high=1),
    _of_one("asinh", wk.asinh, lambda x: _reciprocal_root(1 + x * x)),
    _of_one("atan", wk.atan, lambda x: 1 / (1 + x * x)),
    *_of_two("atan2", wk.atan2, lambda a, b: _over_square(b, a), lambda a, b: -_over_square(a, b)),
    _of_one("atanh", wk.atanh, lambda x: 1 / ((1 - x) * (1 + x)), low=-1, high=1),
    _of_one("clip", lambda x: wk.clip(x, -2.0, 2.0), lambda x: int(abs(x) <= 2)),
    _of_one("cos", wk.cos, lambda x: -mpmath.sin(x)),
    _of_one("cosh", wk.cosh, mpmath.sinh),
    _of_one("digamma", wk.digamma, lambda x: mpmath.psi(1, x), low=0),
    *_of_two("divide", wk.divide, lambda a, b: 1 / b, lambda a, b: -a / (b * b)),
    _of_one("elu", wk.elu, _exp_below),
    _of_one("erf", wk.erf, lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x)),
    _of_one("erfc", wk.erfc, lambda x: -2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x)),
    _of_one(
        "erfinv",
        wk.erfinv,
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(mpmath.erfinv(x) ** 2),
        low=-1,
        high=1,
    ),
    _of_one("exp", wk.exp, mpmath.exp),
    _of_one("expm1", wk.expm1, mpmath.exp),
    _of_one(
        "fused_mat_mul, elu",
        _fused("elu"),
        _exp_below,
        why=_KEEPS_RESULT,
        amplified=lambda x: mpmath.exp(-x),
    ),
    _of_one(
        "fused_mat_mul, sigmoid",
        _fused("sigmoid"),
        _bell,
        why=_KEEPS_RESULT,
        amplified=mpmath.exp,
    ),
    *_of_two("hypot", wk.hypot, _over_length, lambda a, b: _over_length(b, a), **_LENGTHS),
    _of_one("leaky_relu", wk.leaky_relu, lambda x: 1 if x > 0 else np.float32(0.2).item()),
    _of_one("lgamma", wk.lgamma, mpmath.digamma, low=0),
    _of_one("log", wk.log, lambda x: 1 / x, low=0),
    _of_one("log10", wk.log10, lambda x: 1 / (x * mpmath.log(10)), low=0),
    _of_one("log1p", wk.log1p, lambda x: 1 / (1 + x), low=-1),
    _of_one("log2", wk.log2, lambda x: 1 / (x * mpmath.log(2)), low=0),
    _of_one("log_sigmoid", wk.log_sigmoid, lambda x: _logistic(-x)),
    *_of_two(
        "log_softmax",
        _first_of(wk.log_softmax),
        lambda a, b: _logistic(b - a),
        lambda a, b: -_logistic(b - a),
    ),
    *_of_two(
        "logaddexp", wk.logaddexp, lambda a, b: _logistic(a - b), lambda a, b: _logistic(b - a)
    ),
    *_of_two(
        "logsumexp",
        _of_rows(wk.logsumexp),
        lambda a, b: _logistic(a - b),
        lambda a, b: _logistic(b - a),
        why=_FROM_RESULT,
        amplified=_largest,
    ),
    *_of_two("maximum", wk.maximum, lambda a, b: int(a >= b), lambda a, b: int(a < b)),
    *_of_two("minimum", wk.minimum, lambda a, b: int(a <= b), lambda a, b: int(a > b)),
    _of_terms("mish", lambda x: x * wk.tanh(wk.softplus(x)), _mish_terms),
    *_of_two("multiply", wk.multiply, lambda a, b: b, lambda a, b: a),
    _of_one("polygamma", wk.polygamma, lambda x: mpmath.psi(2, x), low=0),
    Slope(
        "pow, first",
        _slope(wk.pow),
        lambda a, b: b * mpmath.power(a, b - 1),
        LIMIT,
        low=_TINY,
        second=_exponents_above,
        why=_ROUNDED_POWER,
    ),
    Slope(
        "pow, second",
        _slope(wk.pow, 1),
        lambda a, b: mpmath.power(a, b) * mpmath.log(a),
        LIMIT,
        low=_TINY,
        second=exponents,
    ),
    *_of_two("prelu", wk.prelu, lambda a, b: 1 if a > 0 else b, lambda a, b: 0 if a > 0 else a),
    *_of_two("prod", _of_rows(wk.prod), lambda a, b: b, lambda a, b: a),
    _of_one("reciprocal", wk.reciprocal, lambda x: -1 / (x * x)),
    _of_one("relu", wk.relu, lambda x: int(x > 0)),
    _of_one("relu6", wk.relu6, lambda x: int(0 < x <= 6)),
    *_of_two("remainder", wk.remainder, lambda a, b: 1, lambda a, b: -mpmath.floor(a / b)),
    _of_one("rsqrt", wk.rsqrt, lambda x: _reciprocal_root(x) / x / -2, low=0),
    _of_one("selu", wk.selu, _selu_slope),
    _of_one("sigmoid", wk.sigmoid, _bell),
    _of_one("sigmoid_cross_entropy", _binary_cross_entropy, lambda x: -_logistic(-x)),
    _of_terms("silu", lambda x: x * wk.sigmoid(x), _silu_terms),
    _of_one("sin", wk.sin, mpmath.cos),
    _of_one("sinh", wk.sinh, mpmath.cosh),
    *_of_two(
        "softmax", _first_of(wk.softmax), lambda a, b: _bell(a - b), lambda a, b: -_bell(a - b)
    ),
    *_of_two(
        "softmax_cross_entropy",
        _cross_entropy,
        lambda a, b: -_logistic(b - a),
        lambda a, b: _logistic(b - a),
    ),
    _of_one("softplus", wk.softplus, _logistic),
    _of_one("sqrt", wk.sqrt, lambda x: _reciprocal_root(x) / 2, low=0),
    _of_one("square", wk.square, lambda x: 2 * x),
    *_of_two(
        "squared_difference",
        wk.squared_difference,
        lambda a, b: 2 * (a - b),
        lambda a, b: 2 * (b - a),
    ),
    *_of_two(
        "std",
        _of_rows(wk.std),
        lambda a, b: mpmath.sign(a - b) / 2,
        lambda a, b: mpmath.sign(b - a) / 2,
        **_SQUARES,
    ),
    _of_one("tan", wk.tan, lambda x: mpmath.sec(x) ** 2),
    _of_one("tanh", wk.tanh, lambda x: mpmath.sech(x) ** 2),
    *_of_two(
        "var",
        _of_rows(wk.var),
        lambda a, b: (a - b) / 2,
        lambda a, b: (b - a) / 2,
        why=_TWO_TERMS,
        **_LENGTHS,
    ),
    *_of_two(
        "vector_norm",
        _of_rows(wk.linalg.vector_norm),
        _over_length,
        lambda a, b: _over_length(b, a),
        **_SQUARES,
    ),
)


def condition(slope: Slope, at: Sequence[float]) -> float:
    """Return the sum of |x_j * d slope / d x_j| over the inputs x_j, divided by |slope|.

    That is by how much more than themselves rounded inputs change the derivative.
    """
    with mpmath.workprec(BITS):
        x = tuple(map(mpmath.mpf, at))
        if slope.amplified is not None:
            return float(slope.amplified(*x))
        total = mpmath.mpf(0)
        for which, one in enumerate(x):
            order = tuple(int(which == other) for other in range(len(x)))
            step = abs(one) * mpmath.mpf(2) ** -30
            total += abs(one * mpmath.diff(slope.exact, x, order, h=step))
        value = slope.exact(*x)
        return float(total / abs(value)) if value else float("inf")


def allowed(slope: Slope, at: Sequence[float]) -> float:
    """Return what a derivative may be off at a point, in units in the last place."""
    return LIMIT if not slope.why else max(LIMIT, PER_CONDITION * condition(slope, at))


def measure_slopes() -> dict[str, dict[str, Any]]:
    """Return what `measure` does, and the condition number where a row says why it is large."""
    found = measure(SLOPES)
    for slope in SLOPES:
        if slope.why:
            for backend in ("cpu", "webgpu"):
                row = found[slope.name][backend]
                row["condition"] = float(f"{condition(slope, row['at']):.3g}")
    return found


if __name__ == "__main__":
    record(SLOPES_RECORDED, "derivatives", measure_slopes())
