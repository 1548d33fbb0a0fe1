"""Every float function of shaders/lib against float64, within the bound that is stated."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
import scipy.special

from wgsl_kernels.backends.webgpu.modules.files import shaders_folder
from wgsl_kernels.testing import bounds

LIB = shaders_folder() / "lib"
Array = np.ndarray
Evaluate = Callable[..., list[tuple[str, Array]]]

pytestmark = pytest.mark.gpu


def _sigmoid(x: Array) -> Array:
    z = np.exp(-np.abs(x))
    return np.asarray(np.where(x < 0, z, 1) / (1 + z))


UNARY: dict[str, Callable[[Array], Array]] = {
    "safe_acos": np.arccos,
    "safe_acosh": np.arccosh,
    "safe_asin": np.arcsin,
    "safe_asinh": np.arcsinh,
    "safe_atan": np.arctan,
    "safe_atanh": np.arctanh,
    "safe_cos": np.cos,
    "safe_cosh": np.cosh,
    "safe_erf": lambda x: np.asarray(np.frompyfunc(math.erf, 1, 1)(x), np.float64),
    "safe_erfc": scipy.special.erfc,
    "safe_erfinv": scipy.special.erfinv,
    "safe_exp": np.exp,
    "safe_expm1": np.expm1,
    "safe_log": np.log,
    "safe_log1p": np.log1p,
    "safe_log2": np.log2,
    "safe_log10": np.log10,
    "safe_rsqrt": lambda x: 1 / np.sqrt(x),
    "safe_sigmoid": _sigmoid,
    "safe_sin": np.sin,
    "safe_sinh": np.sinh,
    "safe_softplus": lambda x: np.logaddexp(x, 0),
    "refined_sqrt": np.sqrt,
    "safe_sqrt": np.sqrt,
    "safe_tan": np.tan,
    "safe_tanh": np.tanh,
}

ABOVE_0: dict[str, Callable[[Array], Array]] = {
    "safe_digamma": scipy.special.digamma,
    "safe_lgamma": scipy.special.gammaln,
}

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "safe_atan2": np.arctan2,
    "safe_div": np.divide,
    "safe_pow": np.power,
    "floor_mod_f32": np.mod,
}

EXACT: dict[str, Callable[..., Array]] = {
    "safe_sign(a)": lambda a, b: np.sign(a),
    "round_half_even(a)": lambda a, b: np.rint(a),
    "safe_max(a, b)": np.maximum,
    "safe_min(a, b)": np.minimum,
    "safe_clamp(a, b, 2.5)": lambda a, b: np.minimum(np.maximum(a, b), 2.5),
    "select(0.0, 1.0, is_nan(a))": lambda a, b: np.isnan(a),
    "select(0.0, 1.0, is_inf(a))": lambda a, b: np.isinf(a),
    "select(0.0, 1.0, is_finite(a))": lambda a, b: np.isfinite(a),
    "select(0.0, 1.0, is_zero(a))": lambda a, b: a == 0,
    "trunc_mod_f32(a, b)": np.fmod,
}


def assert_within(interval: bounds.Interval, actual: Array, *inputs: Array) -> None:
    wrong = np.flatnonzero(~bounds.contains(interval, actual.astype(np.float64)))
    rows = [
        f"{[float(x[i]) for x in inputs]}: {actual[i]} not in [{interval[0][i]}, {interval[1][i]}]"
        for i in wrong[:5]
    ]
    assert not rows, f"{wrong.size} of {actual.size}: " + "; ".join(rows)


@pytest.mark.parametrize("name", UNARY)
def test_function_of_one_number_keeps_its_bound(
    evaluate: Evaluate, floats: Array, name: str
) -> None:
    wide = floats.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = UNARY[name](wide)
    interval = bounds.safe(name)([wide], expected)

    for _, actual in evaluate(f"{name}(a)", floats):
        assert_within(interval, actual, floats)


@pytest.mark.parametrize("name", ABOVE_0)
def test_function_of_a_number_above_0_keeps_its_bound(
    evaluate: Evaluate, floats: Array, name: str
) -> None:
    above = floats[(floats >= 0) & ~np.signbit(floats)]
    wide = above.astype(np.float64)
    interval = bounds.safe(name)([wide], ABOVE_0[name](wide))

    for _, actual in evaluate(f"{name}(a)", above):
        assert_within(interval, actual, above)


def test_the_exponential_of_what_is_below_0_keeps_its_bound(
    evaluate: Evaluate, floats: Array
) -> None:
    below = floats[floats <= 0]
    wide = below.astype(np.float64)
    interval = bounds.ulp(3)([wide], np.exp(wide))

    for _, actual in evaluate("exp_below(a)", below):
        assert_within(interval, actual, below)


def test_the_exponential_of_two_words_keeps_its_bound(evaluate: Evaluate) -> None:
    x = np.random.default_rng(5).uniform(-80, 1, 50_000).astype(np.float32)
    expected = np.exp(x.astype(np.float64))

    highs, lows = evaluate("exp_double(a, 0.0).x", x), evaluate("exp_double(a, 0.0).y", x)
    for (_, high), (_, low) in zip(highs, lows, strict=True):
        actual = high.astype(np.float64) + low.astype(np.float64)
        is_whole = expected > 1e-30  # the second word is no normal number below
        off = np.abs(actual / expected - 1)[is_whole]
        assert off.max() <= 2.0**-31


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_numbers_keeps_its_bound(
    evaluate: Evaluate, pairs: Array, name: str
) -> None:
    # An 80-bit exponent where there is one: a power may pass float64's range.
    wide = pairs.astype(np.longdouble)
    with np.errstate(all="ignore"):
        expected = BINARY[name](*wide).astype(np.float64)
    interval = bounds.safe(name)([*pairs.astype(np.float64)], expected)

    for _, actual in evaluate(f"{name}(a, b)", *pairs):
        assert_within(interval, actual, *pairs)


@pytest.mark.parametrize("expression", EXACT)
def test_exact_functions_are_exact(evaluate: Evaluate, pairs: Array, expression: str) -> None:
    wide = pairs.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = EXACT[expression](*wide).astype(np.float64)
    interval = bounds.exact()([*wide], expected)

    for _, actual in evaluate(expression, *pairs):
        assert_within(interval, actual, *pairs)


def test_floor_div_is_exact_below_two_to_the_24(evaluate: Evaluate, pairs: Array) -> None:
    a, b = pairs.astype(np.float64)
    with np.errstate(all="ignore"):
        far = np.isinf(b) & np.isfinite(a)  # Python's answer; NumPy's is NaN
        toward_zero = np.where((a != 0) & (np.signbit(a) != np.signbit(b)), -1, 0)
        expected = np.where(far, toward_zero, np.floor_divide(a, b))
    low, high = bounds.safe("floor_div_f32")([a, b], expected)
    small = np.abs(expected) < 2**24
    interval = np.where(small, expected, low), np.where(small, expected, high)

    for _, actual in evaluate("floor_div_f32(a, b)", *pairs):
        assert_within(interval, actual, *pairs)


def test_one_divided_by_a_tenth_floors_to_nine(evaluate: Evaluate) -> None:
    one, tenth = np.array([1.0], np.float32), np.array([0.1], np.float32)
    for _, actual in evaluate("floor_div_f32(a, b)", one, tenth):
        assert actual[0] == 9


@pytest.mark.parametrize("name", ["safe_sin", "safe_cos", "safe_tan"])
def test_angles_keep_their_bound_in_every_binade(evaluate: Evaluate, name: str) -> None:
    mantissas = np.random.default_rng(3).integers(0, 1 << 23, (255, 1000), dtype=np.uint32)
    x = (mantissas | (np.arange(255, dtype=np.uint32)[:, None] << 23)).view(np.float32).ravel()
    nearest = np.rint(np.arange(1, 100_000) * np.float64(np.pi / 2) * 2**7) / 2**7
    x = np.concatenate([x, nearest.astype(np.float32)])
    expected = UNARY[name](x.astype(np.float64))

    for _, actual in evaluate(f"{name}(a)", x):
        assert_within(bounds.safe(name)([x], expected), actual, x)


def test_two_sum_and_two_product_keep_what_rounding_loses(evaluate: Evaluate) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(2, 10_000)) * 2.0 ** rng.integers(-9, 9, (2, 10_000))).astype("f4")
    wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
    lost_sum = (wide_a + wide_b - (a + b)).astype(np.float32)
    lost_product = (wide_a * wide_b - (a * b)).astype(np.float32)

    for _, actual in evaluate("two_sum(a, b).y", a, b):
        np.testing.assert_array_equal(actual, lost_sum)
    for _, actual in evaluate("two_product(a, b).y", a, b):
        np.testing.assert_array_equal(actual, lost_product)


@pytest.mark.parametrize("part", ["x", "y"])
@pytest.mark.parametrize("operation", ["mul", "div"])
def test_complex_arithmetic_keeps_its_bound(evaluate: Evaluate, operation: str, part: str) -> None:
    rng = np.random.default_rng(7)
    a, b, c = (rng.normal(size=(3, 20_000)) * 10.0 ** rng.integers(-9, 9, (3, 20_000))).astype("f4")
    left, right = a + 1j * b.astype(np.float64), c + 1j * a.astype(np.float64)
    expected = left * right if operation == "mul" else left / right
    error = {"mul": 3, "div": 16}[operation] * 2.0**-23 * np.abs(expected) + 2.0**-126
    middle = expected.real if part == "x" else expected.imag
    text = f"complex_{operation}(vec2<f32>(a, b), vec2<f32>(c, a)).{part}"

    for _, actual in evaluate(text, a, b, c):
        assert_within((middle - error, middle + error), actual, a, b, c)


def test_complex_abs_does_not_overflow_on_the_way(evaluate: Evaluate, pairs: Array) -> None:
    wide = pairs.astype(np.float64)
    expected = np.hypot(*wide)
    for _, actual in evaluate("complex_abs(vec2<f32>(a, b))", *pairs):
        assert_within(bounds.ulp(10)([*wide], expected), actual, *pairs)


def test_the_table_in_the_shader_is_the_one_in_python() -> None:
    text = (LIB / "safe_math.wesl").read_text()
    rows = re.findall(r"^//   ((?:\w+, )*\w+) +([\d.]+) +[\d.]+  ", text, re.MULTILINE)
    stated = {name: float(n) for names, n in rows for name in names.split(", ")}

    assert {name: n for name, n in stated.items() if n} == bounds.SAFE_ULP


def test_every_function_with_a_bound_is_tested() -> None:
    tested = {*UNARY, *ABOVE_0, *BINARY, "floor_div_f32"}

    assert set(bounds.SAFE_ULP) == tested
