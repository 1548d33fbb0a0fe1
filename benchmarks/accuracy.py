"""How far float32 results are from exact ones, in units in the last place, function by function.

`python -m benchmarks.accuracy` sweeps every exponent of float32 on both backends, with mpmath as
the referee, and writes what was found to docs/_data/accuracy.json, of which the docs make a table.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RECORDED = Path(__file__).resolve().parents[1] / "docs" / "_data" / "accuracy.json"
MANTISSAS = 48
"""Random mantissas of each exponent and sign that a full sweep tries."""
BITS = 80
"""Precision of the referee, in bits; its angles are reduced with as many as they need."""
LARGEST_TERM = 16.0
"""Near their zeros below 0 digamma and lgamma are differences of two terms of at most this size."""
_TINY, _MAX = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
Array = np.ndarray


@dataclass(frozen=True)
class Function:
    """A function whose accuracy is measured.

    Attributes:
        name: What it is called in the table.
        ours: The op, of one float32 tensor or of two.
        exact: What mpmath gives for the same numbers.
        limit: What it may be off on both backends, in units in the last place.
        low: Where its domain begins.
        high: Where its domain ends.
        second: Draws a second number for each first one, where it takes two.
        floor: Errors of results below it count in units in the last place of this.
    """

    name: str
    ours: Callable[..., wk.Tensor]
    exact: Callable[..., Any]
    limit: float = 4.0
    low: float = -np.inf
    high: float = np.inf
    second: Callable[[np.random.Generator, Array], Array] | None = None
    floor: float = _TINY


def _softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x)) if x < 0 else x + mpmath.log1p(mpmath.exp(-x))


def _of_pair(x: wk.Tensor, y: wk.Tensor) -> wk.Tensor:
    return wk.log_softmax(wk.stack([x, y], axis=-1))[..., 0]


def _elu(x: Any) -> Any:
    return x if x > 0 else mpmath.expm1(x)


def _lgamma(x: Any) -> Any:
    return mpmath.re(mpmath.loggamma(x))


def _log_add_exp(x: Any, y: Any) -> Any:
    return max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y)))


def any_size(draw: np.random.Generator, x: Array) -> Array:
    """Return a second number for each, half of them of the same size, half of any."""
    with np.errstate(over="ignore"):
        near = x * draw.uniform(-2, 2, x.size).astype(np.float32)
    return np.where(np.arange(x.size) % 2, np.roll(x, 1), near).astype(np.float32)


def exponents(draw: np.random.Generator, x: Array) -> Array:
    """Return powers to which the numbers are numbers."""
    y = draw.uniform(-87, 87, x.size) / np.log(np.where(x == 1, 2, x).astype(np.float64))
    return np.clip(y, -_MAX, _MAX).astype(np.float32)


def near_zero(draw: np.random.Generator, x: Array) -> Array:
    """Return a second number for each, with which e^x + e^y is near 1, where x is below 0."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        y = np.where(x < 0, np.log(-np.expm1(wide)), wide * draw.uniform(-2, 2, x.size))
        y *= 1 + draw.uniform(-1, 1, x.size) * 2.0 ** -draw.integers(0, 24, x.size)
        return np.where(np.isfinite(y) & (np.abs(y) < _MAX), y, 1.0).astype(np.float32)


FUNCTIONS = (
    Function("acos", wk.acos, mpmath.acos, low=-1, high=1),
    Function("acosh", wk.acosh, mpmath.acosh, low=1),
    Function("asin", wk.asin, mpmath.asin, low=-1, high=1),
    Function("asinh", wk.asinh, mpmath.asinh),
    Function("atan", wk.atan, mpmath.atan),
    Function("atan2", wk.atan2, mpmath.atan2, second=any_size),
    Function("atanh", wk.atanh, mpmath.atanh, low=-1, high=1),
    Function("cos", wk.cos, mpmath.cos),
    Function("cosh", wk.cosh, mpmath.cosh),
    Function("digamma", wk.digamma, mpmath.digamma, low=0),
    Function("digamma below 0", wk.digamma, mpmath.digamma, high=0, floor=LARGEST_TERM),
    Function("elu", wk.elu, _elu),
    Function("erf", wk.erf, mpmath.erf),
    Function("erfc", wk.erfc, mpmath.erfc),
    Function("erfinv", wk.erfinv, mpmath.erfinv, low=-1, high=1),
    Function("exp", wk.exp, mpmath.exp),
    Function("expm1", wk.expm1, mpmath.expm1),
    Function("hypot", wk.hypot, mpmath.hypot, second=any_size),
    Function("lgamma", wk.lgamma, mpmath.loggamma, low=0),
    Function("lgamma below 0", wk.lgamma, _lgamma, high=0, floor=LARGEST_TERM),
    Function("log", wk.log, mpmath.log, low=0),
    Function("log10", wk.log10, mpmath.log10, low=0),
    Function("log1p", wk.log1p, mpmath.log1p, low=-1),
    Function("log2", wk.log2, lambda x: mpmath.log(x, 2), low=0),
    Function("log_sigmoid", wk.log_sigmoid, lambda x: -_softplus(-x)),
    Function("log_softmax", _of_pair, lambda x, y: -_softplus(y - x), second=any_size),
    Function("logaddexp", wk.logaddexp, _log_add_exp, limit=8, second=near_zero, floor=1e-3),
    Function("polygamma, n = 1", wk.polygamma, lambda x: mpmath.psi(1, x), low=0),
    Function("pow", wk.pow, mpmath.power, low=0, second=exponents),
    Function("reciprocal", wk.reciprocal, lambda x: 1 / x),
    Function("rsqrt", wk.rsqrt, lambda x: 1 / mpmath.sqrt(x), low=0),
    Function("sigmoid", wk.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    Function("sin", wk.sin, mpmath.sin),
    Function("sinh", wk.sinh, mpmath.sinh),
    Function("softplus", wk.softplus, _softplus),
    Function("sqrt", wk.sqrt, mpmath.sqrt, low=0),
    Function("tan", wk.tan, mpmath.tan),
    Function("tanh", wk.tanh, mpmath.tanh),
)


def points(function: Function, mantissas: int = MANTISSAS, seed: int = 1) -> tuple[Array, ...]:
    """Return numbers of every exponent and both signs, within the function's domain."""
    draw = np.random.default_rng(seed)
    exponents = np.arange(1, 255, dtype=np.uint32)[:, None] << np.uint32(23)
    bits = draw.integers(0, 1 << 23, (254, mantissas), dtype=np.uint32)
    bits[:, 0] = 0
    x = (exponents | bits).view(np.float32).ravel()
    x = np.concatenate([x, -x, _hard(draw, mantissas * 32)])
    x = x[(x >= function.low) & (x <= function.high)]
    return (x,) if function.second is None else (x, function.second(draw, x))


def _hard(draw: np.random.Generator, count: int) -> Array:
    """Return numbers near 1, near multiples of pi / 2, and where most functions bend."""
    near_one = 1 + draw.uniform(-1, 1, count) * 2.0 ** -draw.integers(0, 24, count)
    turns = np.rint(2.0 ** draw.uniform(0, 40, count)) * (np.pi / 2)
    bend = draw.uniform(-20, 20, count)
    return np.concatenate([near_one, -near_one, turns, bend]).astype(np.float32)


def exact_values(function: Function, inputs: tuple[Array, ...]) -> Array:
    """Return mpmath's results, rounded to float64: far below the last place of float32."""
    found = np.empty(inputs[0].size)
    with mpmath.workprec(BITS):
        for place, given in enumerate(zip(*(one.tolist() for one in inputs), strict=True)):
            try:
                value = function.exact(*map(mpmath.mpf, given))
                found[place] = np.nan if isinstance(value, mpmath.mpc) else float(value)
            except (ZeroDivisionError, ValueError, OverflowError):
                found[place] = np.nan
    return found


def errors(function: Function, inputs: tuple[Array, ...], exact: Array) -> Array:
    """Return what the backend in force is off, in units in the last place; 0 where it is free.

    Results below the normal numbers may be flushed, and next to overflow either side may come.
    """
    actual = function.ours(*(wk.tensor(one) for one in inputs)).numpy().astype(np.float64)
    size = np.clip(np.abs(exact), function.floor, _MAX)
    with np.errstate(all="ignore"):
        unit = 2.0 ** (np.floor(np.log2(size)) - 23)
        off = np.abs(actual - exact) / unit
    is_small = np.abs(exact) < _TINY
    is_free = np.isnan(exact) | (np.abs(exact) > _MAX * (1 - 2.0**-22))
    is_free |= is_small & (np.abs(actual) < 2 * _TINY)
    wrong = ~is_free & (is_small | ~np.isfinite(actual))
    return np.where(is_free, 0.0, np.where(wrong, np.inf, off))


def measure(functions: Sequence[Function], mantissas: int = MANTISSAS) -> dict[str, dict[str, Any]]:
    """Return for each function the largest error on each backend, and where it was found."""
    found: dict[str, dict[str, Any]] = {}
    for function in functions:
        inputs = points(function, mantissas)
        exact = exact_values(function, inputs)
        row: dict[str, Any] = {"points": int(inputs[0].size)}
        for backend in ("cpu", "webgpu"):
            with wk.use_backend(backend):
                off = errors(function, inputs, exact)
            worst = int(np.argmax(off))
            row[backend] = {
                "ulp": round(float(off[worst]), 2),
                "at": [float(one[worst]) for one in inputs],
            }
        found[function.name] = row
        print(function.name, row, file=sys.stderr)
    return found


def record(path: Path, what: str, rows: dict[str, dict[str, Any]]) -> None:
    """Write a file of what was measured, with the adapter and NumPy's version."""
    choice = choose_adapter()
    kept = {
        "adapter": "" if choice is None else choice.info.name,
        "numpy": np.__version__,
        what: rows,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(RECORDED, "functions", measure(FUNCTIONS))
