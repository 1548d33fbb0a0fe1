"""How far first derivatives in float32 are from exact ones, rule by rule, in units in the last place.

`python -m benchmarks.gradient_accuracy` sweeps every exponent of float32 on both backends, with
mpmath as the referee, and writes what was found to docs/_data/gradient_accuracy.json, of which the
docs make a table. The upstream gradient is 1.
"""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
from benchmarks.accuracy import (
    BITS,
    MANTISSAS,
    RECORDED,
    Function,
    any_size,
    errors,
    exact_values,
    exponents,
    near_zero,
    points,
)

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter

if TYPE_CHECKING:
    from collections.abc import Callable

SLOPES_RECORDED = RECORDED.with_name("gradient_accuracy.json")
LIMIT = 64.0
"""What a derivative that is a normal number may be off, in units in the last place."""
PER_CONDITION = 4.0
"""What one whose row says why may be off beside that, times its condition number."""
Array = np.ndarray


@dataclass(frozen=True)
class Slope(Function):
    """A derivative whose accuracy is measured.

    Attributes:
        why: Why it may be off by more than `LIMIT` where its condition number is large: the sum of
            |x_j * d slope / d x_j| over its inputs, divided by |slope|.
    """

    why: str = ""


def _slope(f: Callable[..., wk.Tensor], argument: int = 0) -> Callable[..., wk.Tensor]:
    """Return the derivative of ``f``, which is elementwise, with respect to an argument."""

    def derivative(*inputs: wk.Tensor) -> wk.Tensor:
        return wk.grads(f)(*inputs)[argument]

    return derivative


def _unary(name: str, f: Callable[..., wk.Tensor], exact: Callable[..., Any], **more: Any) -> Slope:
    return Slope(name, _slope(f), exact, LIMIT, **more)


def _pair(
    name: str, f: Callable[..., wk.Tensor], *exact: Callable[..., Any], **more: Any
) -> list[Slope]:
    """Return the derivatives with respect to both arguments."""
    given = {"second": _numbers_of_any_size, **more}
    return [
        Slope(f"{name}, {word}", _slope(f, argument), one, LIMIT, **given)
        for argument, (word, one) in enumerate(zip(("first", "second"), exact, strict=True))
    ]


def _numbers_of_any_size(draw: np.random.Generator, x: Array) -> Array:
    y = any_size(draw, x)
    return np.where(np.isfinite(y), y, x)


def _same_size(draw: np.random.Generator, x: Array) -> Array:
    return (x * draw.uniform(0.01, 2, x.size)).astype(np.float32)


def _first_of(f: Callable[..., wk.Tensor]) -> Callable[..., wk.Tensor]:
    """Return ``f`` of rows of two, of whose results the first is taken."""
    return lambda x, y: f(wk.stack([x, y], axis=-1))[..., 0]


def _of_rows(f: Callable[..., wk.Tensor]) -> Callable[..., wk.Tensor]:
    """Return ``f``, a reduction, of rows of two."""
    return lambda x, y: f(wk.stack([x, y], axis=-1), axis=-1)


def _logistic(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _bell(x: Any) -> Any:
    return _logistic(x) * _logistic(-x)


def _exp_below(x: Any) -> Any:
    return mpmath.exp(x) if x < 0 else mpmath.mpf(1)


def _selu_slope(x: Any) -> Any:
    below = mpmath.mpf("1.7580993408473768637") * _exp_below(x)
    return mpmath.mpf("1.0507009873554804934") if x > 0 else below


def _mish_slope(x: Any) -> Any:
    softplus = mpmath.log1p(mpmath.exp(-abs(x))) + max(x, 0)
    return mpmath.tanh(softplus) + x * mpmath.sech(softplus) ** 2 * _logistic(x)


def _reciprocal_root(x: Any) -> Any:
    return 1 / mpmath.sqrt(x)


_SUMS_CANCEL = "a difference of two terms"
_LOGARITHM = "a^(b - 1), where b - 1 is rounded"

SLOPES: tuple[Slope, ...] = (
    _unary("abs", wk.abs, mpmath.sign),
    _unary("acos", wk.acos, lambda x: -_reciprocal_root((1 - x) * (1 + x)), low=-1, high=1),
    _unary("acosh", wk.acosh, lambda x: _reciprocal_root((x - 1) * (x + 1)), low=1),
    _unary("asin", wk.asin, lambda x: _reciprocal_root((1 - x) * (1 + x)), low=-1, high=1),
    _unary("asinh", wk.asinh, lambda x: _reciprocal_root(1 + x * x)),
    _unary("atan", wk.atan, lambda x: 1 / (1 + x * x)),
    *_pair(
        "atan2", wk.atan2, lambda a, b: b / (a * a + b * b), lambda a, b: -a / (a * a + b * b)
    ),
    _unary("atanh", wk.atanh, lambda x: 1 / ((1 - x) * (1 + x)), low=-1, high=1),
    _unary("cos", wk.cos, lambda x: -mpmath.sin(x)),
    _unary("cosh", wk.cosh, mpmath.sinh),
    *_pair("divide", wk.divide, lambda a, b: 1 / b, lambda a, b: -a / (b * b)),
    _unary("elu", wk.elu, _exp_below),
    _unary("erf", wk.erf, lambda x: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x)),
    _unary("exp", wk.exp, mpmath.exp),
    _unary("expm1", wk.expm1, mpmath.exp),
    *_pair(
        "hypot",
        wk.hypot,
        lambda a, b: a / mpmath.hypot(a, b),
        lambda a, b: b / mpmath.hypot(a, b),
        low=-1e38,
        high=1e38,
    ),
    _unary("log", wk.log, lambda x: 1 / x, low=0),
    _unary("log10", wk.log10, lambda x: 1 / (x * mpmath.log(10)), low=0),
    _unary("log1p", wk.log1p, lambda x: 1 / (1 + x), low=-1),
    _unary("log2", wk.log2, lambda x: 1 / (x * mpmath.log(2)), low=0),
    _unary("log_sigmoid", wk.log_sigmoid, lambda x: _logistic(-x)),
    *_pair(
        "log_softmax",
        _first_of(wk.log_softmax),
        lambda x, y: _logistic(y - x),
        lambda x, y: -_logistic(y - x),
    ),
    *_pair("logaddexp", wk.logaddexp, lambda a, b: _logistic(a - b), lambda a, b: _logistic(b - a)),
    *_pair(
        "logsumexp",
        _of_rows(wk.logsumexp),
        lambda a, b: _logistic(a - b),
        lambda a, b: _logistic(b - a),
    ),
    _unary("mish", lambda x: x * wk.tanh(wk.softplus(x)), _mish_slope, why=_SUMS_CANCEL),
    *_pair("multiply", wk.multiply, lambda a, b: b, lambda a, b: a),
    *_pair(
        "pow",
        wk.pow,
        lambda a, b: b * mpmath.power(a, b - 1),
        lambda a, b: mpmath.power(a, b) * mpmath.log(a),
        low=1.2e-38,
        second=exponents,
    ),
    *_pair("prod", _of_rows(wk.prod), lambda a, b: b, lambda a, b: a),
    _unary("reciprocal", wk.reciprocal, lambda x: -1 / (x * x)),
    *_pair("remainder", wk.remainder, lambda a, b: 1, lambda a, b: -mpmath.floor(a / b)),
    _unary("rsqrt", wk.rsqrt, lambda x: _reciprocal_root(x) / x / -2, low=0),
    _unary("selu", wk.selu, _selu_slope),
    _unary("sigmoid", wk.sigmoid, _bell),
    _unary(
        "silu",
        lambda x: x * wk.sigmoid(x),
        lambda x: _logistic(x) * (1 + x * _logistic(-x)),
        why=_SUMS_CANCEL,
    ),
    _unary("sin", wk.sin, mpmath.cos),
    _unary("sinh", wk.sinh, mpmath.cosh),
    *_pair(
        "softmax",
        _first_of(wk.softmax),
        lambda x, y: _bell(x - y),
        lambda x, y: -_bell(x - y),
    ),
    _unary("softplus", wk.softplus, _logistic),
    _unary("sqrt", wk.sqrt, lambda x: _reciprocal_root(x) / 2, low=0),
    _unary("square", wk.square, lambda x: 2 * x),
    *_pair(
        "squared_difference",
        wk.squared_difference,
        lambda a, b: 2 * (a - b),
        lambda a, b: 2 * (b - a),
    ),
    *_pair(
        "std",
        _of_rows(wk.std),
        lambda a, b: mpmath.sign(a - b) / 2,
        lambda a, b: mpmath.sign(b - a) / 2,
        low=1e-14, high=1e17, second=_same_size,
    ),
    _unary("tan", wk.tan, lambda x: mpmath.sec(x) ** 2),
    _unary("tanh", wk.tanh, lambda x: mpmath.sech(x) ** 2),
    *_pair("var", _of_rows(wk.var), lambda a, b: (a - b) / 2, lambda a, b: (b - a) / 2, low=-1e38, high=1e38),
    *_pair(
        "vector_norm",
        _of_rows(wk.linalg.vector_norm),
        lambda a, b: a / mpmath.hypot(a, b),
        lambda a, b: b / mpmath.hypot(a, b),
        low=1e-17, high=1e17, second=_same_size,
    ),
)


def condition(slope: Slope, at: tuple[float, ...]) -> float:
    """Return by how much more a relative change of the inputs changes the derivative."""
    with mpmath.workprec(BITS):
        x = tuple(map(mpmath.mpf, at))
        value = slope.exact(*x)
        total = mpmath.mpf(0)
        for which, one in enumerate(x):
            order = tuple(int(which == other) for other in range(len(x)))
            step = abs(one) * mpmath.mpf(2) ** -40
            total += abs(one * mpmath.diff(slope.exact, x, order, h=step))
        return float(total / abs(value)) if value else float("inf")


def measure(mantissas: int = MANTISSAS) -> dict[str, dict[str, Any]]:
    """Return for each derivative the largest error on each backend, and where it was found."""
    found: dict[str, dict[str, Any]] = {}
    for slope in SLOPES:
        inputs = points(slope, mantissas)
        exact = exact_values(slope, inputs)
        row: dict[str, Any] = {"points": int(inputs[0].size)}
        for backend in ("cpu", "webgpu"):
            with wk.use_backend(backend):
                off = errors(slope, inputs, exact)
            worst = int(np.argmax(off))
            at = [float(one[worst]) for one in inputs]
            row[backend] = {"ulp": round(float(off[worst]), 2), "at": at, "condition": condition(slope, at)}
        found[slope.name] = row
        print(slope.name, row, file=sys.stderr)
    return found


if __name__ == "__main__":
    measure(int(sys.argv[1]))
