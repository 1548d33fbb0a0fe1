"""Intervals that a kernel's result must lie in, built from WGSL's accuracy table and the formula.

A bound is called as ``bound(inputs, expected)``: the inputs' values in float64 and the exact result
in float64, rounded nowhere. It returns (low, high), float64, one pair per element; a result passes
if low <= result <= high, or if all are NaN. Of complex results the real and imaginary parts are
compared apart.

The format is float32, unless ``expected`` is float16. Each interval allows a subnormal to be
flushed to 0, and MAX or Inf next to overflow; NaN and Inf allow only themselves. Numbers may be
given as a function of the inputs: ``ulp(lambda x: 3 + 2 * abs(x))`` is WGSL's row for exp.

Source of the table: WGSL, section Floating Point Accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wgsl_kernels.testing.closeness import spacing

Array = np.ndarray
Interval = tuple[Array, Array]
Bound = Callable[[Sequence[Array], Array], Interval]
Amount = float | Callable[..., Array]
Axes = int | tuple[int, ...] | None

# ULP, from the head of shaders/lib/safe_math.wesl (column "any"); a test compares the two.
SAFE_ULP = {
    "safe_div": 2.5,
    "safe_sqrt": 4.5,
    "refined_sqrt": 2,
    "safe_rsqrt": 2,
    "safe_exp": 2,
    "safe_expm1": 4,
    "safe_log": 4,
    "safe_log1p": 4,
    "safe_log2": 4,
    "safe_log10": 4,
    "safe_sigmoid": 9,
    "safe_softplus": 9,
    "safe_tanh": 6,
    "safe_sinh": 6,
    "safe_cosh": 5,
    "safe_asinh": 9,
    "safe_acosh": 12,
    "safe_atanh": 12,
    "safe_sin": 3,
    "safe_cos": 3,
    "safe_tan": 8,
    "safe_asin": 10,
    "safe_acos": 8,
    "safe_atan": 9,
    "safe_atan2": 14,
    "safe_pow": 13,
    "safe_erf": 4,
    "safe_erfc": 10,
    "safe_erfinv": 7,
    "safe_lgamma": 10,
    "safe_digamma": 10,
    "floor_mod_f32": 1,
    "floor_div_f32": 3,
}


def exact() -> Bound:
    """Allow the exact result rounded once to nearest, and nothing else but a flushed subnormal."""

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        del inputs
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = _rounded(expected)
        tiny = float(np.finfo(_format(expected)).tiny)
        return _each_part(rounded, lambda part: _with_zero(part, tiny))

    return bound


def ulp(n: Amount) -> Bound:
    """Allow ``n`` units in the last place of the exact result; at least half a one, to round it."""

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        return _around(expected, np.maximum(_amount(n, inputs), 0.5) * _spacing(expected))

    return bound


def safe(name: str) -> Bound:
    """Allow what ``shaders/lib`` promises for its function ``name``: ``safe("safe_tanh")``.

    In float16 the function runs in float32 and its result is rounded once more: 1 ULP.
    """

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        narrow = _format(expected) == np.float16
        return ulp(1 if narrow else SAFE_ULP[name])(inputs, expected)

    return bound


def absolute(a: Amount) -> Bound:
    """Allow an error of ``a``, in the unit of the result, and one rounding."""

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        return _around(expected, _amount(a, inputs) + _spacing(expected))

    return bound


def relative(r: Amount) -> Bound:
    """Allow an error of ``r`` times the exact result, and one rounding."""

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        with np.errstate(all="ignore"):
            error = _amount(r, inputs) * np.abs(expected)
        return _around(expected, error + _spacing(expected))

    return bound


def either(a: Bound, b: Bound) -> Bound:
    """Allow what ``a`` or ``b`` allows: WGSL's "worse of"."""

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        (a_low, a_high), (b_low, b_high) = a(inputs, expected), b(inputs, expected)
        if np.iscomplexobj(expected):
            return _by_parts(np.minimum, a_low, b_low), _by_parts(np.maximum, a_high, b_high)
        return np.minimum(a_low, b_low), np.maximum(a_high, b_high)

    return bound


def _by_parts(choose: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    return joined(choose(np.real(a), np.real(b)), choose(np.imag(a), np.imag(b)))


def joined(real: Array, imag: Array) -> Array:
    """Return complex numbers of two parts; a product with 1j would make NaN of both."""
    found = np.empty(np.shape(real), np.complex128)
    found.real, found.imag = real, imag
    return found


def plus(a: Bound, b: Bound) -> Bound:
    """Allow the errors of ``a`` and ``b`` together: of one step after another."""

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        (a_low, a_high), (b_low, b_high) = a(inputs, expected), b(inputs, expected)
        with np.errstate(invalid="ignore"):
            low, high = a_low + (b_low - expected), a_high + (b_high - expected)
        settled = np.isfinite(expected)
        return np.where(settled, low, a_low), np.where(settled, high, a_high)

    return bound


def sum_of_terms(count: Amount, magnitude: Callable[..., Array], extra_ulp: float = 1) -> Bound:
    """Allow ``count`` roundings of a sum whose terms' sizes add up to ``magnitude(*inputs)``.

    Any order, fused or not. A term that is itself a product counts one rounding more.
    Source: Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2.
    """

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        unit = float(np.finfo(_format(expected)).eps)  # either neighbour: a whole ULP a step
        steps = _amount(count, inputs) * unit
        with np.errstate(all="ignore"):
            error = steps / np.maximum(1 - steps, 0.5) * magnitude(*inputs)
        return _around(expected, error + extra_ulp * _spacing(expected))

    return bound


def sum_bound(axis: Axes = None, *, keepdims: bool = False, depth: int | None = None) -> Bound:
    """Allow the errors of summing the first input over ``axis``.

    Args:
        axis: As NumPy takes it.
        keepdims: Whether the reduced axes stay, of size 1.
        depth: The longest chain of additions, for a tree; without it, any order.
    """
    return _along(np.sum, axis, keepdims, depth, extra_ulp=1)


def mean_bound(axis: Axes = None, *, keepdims: bool = False, depth: int | None = None) -> Bound:
    """Allow the errors of ``sum_bound`` divided by the count, and of that division (2.5 ULP)."""
    return _along(np.mean, axis, keepdims, depth, extra_ulp=3.5)


def _along(
    fold: Callable[..., Array], axis: Axes, keepdims: bool, depth: int | None, *, extra_ulp: float
) -> Bound:
    return sum_of_terms(
        lambda x, *_: np.asarray(_steps(x, axis, depth)),
        lambda x, *_: np.asarray(fold(np.abs(x), axis=axis, keepdims=keepdims)),
        extra_ulp,
    )


def prod_bound(axis: Axes = None) -> Bound:
    """Allow one rounding for each factor but the first of the first input along ``axis``."""
    return ulp(lambda x, *others: np.maximum(2 * _steps(x, axis, None), 1))


def largest_slope(least: float, *slopes: Array) -> float:
    """Return the steepest slope of an activation: ``least``, or the largest of its slopes."""
    return max([least, *(float(np.max(np.abs(one), initial=0)) for one in slopes)])


def matmul_bound(transpose_a: bool = False, transpose_b: bool = False, extra: int = 0) -> Bound:
    """Allow the errors of a product of the first two inputs, and ``extra`` roundings more."""

    def count(a: Array, *others: Array) -> Array:
        del others
        return np.asarray(a.shape[-2 if transpose_a else -1] + extra)

    def magnitude(a: Array, b: Array, *others: Array) -> Array:
        del others
        left, right = np.abs(a), np.abs(b)
        left = np.swapaxes(left, -1, -2) if transpose_a else left
        return np.asarray(left @ (np.swapaxes(right, -1, -2) if transpose_b else right))

    return sum_of_terms(count, magnitude)


def offsets(below: Array, above: Array, ulps: float) -> Bound:
    """Allow errors of ``below`` and ``above``, in the unit of the result, and ``ulps`` more.

    Both have an element for each of the result.
    """

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        del inputs
        more = ulps * _spacing(expected)
        low, _ = _around(expected, below + more)
        _, high = _around(expected, above + more)
        return low, high

    return bound


def tolerance(rtol: float | None, atol: float | None, ulps: float | None) -> Bound:
    """Allow the largest of what is given: relative, absolute, in units in the last place."""

    def bound(inputs: Sequence[Array], expected: Array) -> Interval:
        with np.errstate(all="ignore"):
            error = (atol or 0.0) + (rtol or 0.0) * np.abs(expected)
        return _around(expected, np.maximum(error, max(ulps or 0.0, 0.5) * _spacing(expected)))

    return bound


def contains(interval: Interval, actual: Array) -> Array:
    """Return, per element, whether ``actual`` lies in the interval; NaN lies only in NaN."""
    low, high = interval
    if np.iscomplexobj(low):
        real = contains((np.real(low), np.real(high)), np.real(actual))
        return np.asarray(real & contains((np.imag(low), np.imag(high)), np.imag(actual)))
    with np.errstate(invalid="ignore"):
        inside = (low <= actual) & (actual <= high)
    return np.asarray(inside | (np.isnan(low) & np.isnan(actual)))


def _format(expected: Array) -> type[np.floating]:
    return np.float16 if expected.dtype == np.float16 else np.float32


def _amount(amount: Amount, inputs: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(amount(*inputs) if callable(amount) else amount, np.float64)


def _steps(x: Array, axis: Axes, depth: int | None) -> int:
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    chain = max(int(np.prod([x.shape[i] for i in axes])) - 1, 0)
    return chain if depth is None else min(chain, depth)


def _spacing(expected: Array) -> Array:
    """Return the ULP of the exact result; of a complex one, that of its absolute value."""
    wide = expected.astype(np.result_type(expected, np.float64))
    return spacing(np.abs(wide), _format(expected))


def _rounded(expected: Array) -> Array:
    target = np.complex64 if np.iscomplexobj(expected) else _format(expected)
    return expected.astype(target).astype(np.complex128 if target is np.complex64 else np.float64)


def _each_part(x: Array, interval: Callable[[Array], Interval]) -> Interval:
    if not np.iscomplexobj(x):
        return interval(x)
    (low, high), (low_imag, high_imag) = interval(np.real(x)), interval(np.imag(x))
    return joined(low, low_imag), joined(high, high_imag)


def _with_zero(x: Array, tiny: float) -> Interval:
    small = np.abs(x) < tiny
    return np.where(small, np.minimum(x, 0), x), np.where(small, np.maximum(x, 0), x)


def _around(expected: Array, error: Array) -> Interval:
    info = np.finfo(_format(expected))
    exact_value = expected.astype(np.result_type(expected, np.float64))

    def interval(part: Array) -> Interval:
        with np.errstate(invalid="ignore"):
            low, high = part - error - float(info.tiny), part + error + float(info.tiny)
        # Next to the largest number either this or Inf may come.
        low = np.where(low > info.max, float(info.max), np.where(low < -info.max, -np.inf, low))
        high = np.where(high > info.max, np.inf, np.where(high < -info.max, -float(info.max), high))
        settled = np.isfinite(part)
        return np.where(settled, low, part), np.where(settled, high, part)

    return _each_part(exact_value, interval)
