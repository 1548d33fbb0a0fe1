"""The CPU backend's shared functions: accuracy in float32, special values, silence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.testing import bounds

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray

UNARY: dict[str, Callable[[Array], Array]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": lambda x: np.asarray(np.frompyfunc(math.erf, 1, 1)(x)).astype(np.float64),
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "round_half_even": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: np.exp(-np.logaddexp(-x, 0)),
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "softplus": lambda x: np.logaddexp(x, 0),
    "tan": np.tan,
    "tanh": np.tanh,
}

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "atan2": np.arctan2,
    "divide": np.divide,
    "floor_mod": np.mod,
    "power": np.power,
    "trunc_mod": np.fmod,
}


PROMISES = {"power": "safe_pow"}


def _allowed(name: str) -> bounds.Bound:
    """Return the bound that samples give a function, or 1 ULP for one that is exact."""
    if name == "exp":
        return bounds.ulp(3)
    promise = PROMISES.get(name, f"safe_{name}")
    return bounds.safe(promise) if promise in bounds.SAFE_ULP else bounds.ulp(1)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_function_of_one_number_is_within_what_its_kernel_allows(
    floats: Array, name: str, dtype: type[np.floating]
) -> None:
    with np.errstate(all="ignore"):
        x = floats.astype(dtype)
        expected = UNARY[name](x.astype(np.float64))
    actual = getattr(numerics, name)(x)

    assert actual.dtype == dtype
    if dtype == np.float32:
        assert bounds.contains(_allowed(name)([x], expected), actual).all()


@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_numbers_is_within_what_its_kernel_allows(pairs: Array, name: str) -> None:
    wide = pairs.astype(np.longdouble)
    with np.errstate(all="ignore"):
        expected = BINARY[name](*wide).astype(np.float64)
    actual = getattr(numerics, name)(*pairs)

    assert actual.dtype == np.float32
    assert bounds.contains(_allowed(name)([*pairs], expected), actual).all()


def test_floor_div_rounds_the_exact_quotient_down() -> None:
    a = np.array([1, -1, 7, -7, 7, 1, -1, 1, 0, np.inf, 1, np.nan], np.float32)
    b = np.array([0.1, 0.1, 2, 2, -2, np.inf, np.inf, 0, 0, 2, -np.inf, 1], np.float32)
    expected = [9, -10, 3, -4, -4, 0, -1, np.inf, np.nan, np.nan, -1, np.nan]

    np.testing.assert_array_equal(numerics.floor_div(a, b), np.array(expected, np.float32))


def test_sigmoid_and_erf_keep_their_ends() -> None:
    x = np.array([-np.inf, -200, -1, 0, 1, 200, np.inf, np.nan], np.float32)

    half = 1 / (1 + np.exp(1))
    np.testing.assert_allclose(
        numerics.sigmoid(x), [0, 0, half, 0.5, 1 - half, 1, 1, np.nan], rtol=1e-7
    )
    np.testing.assert_allclose(
        numerics.erf(x), [-1, -1, -0.84270079, 0, 0.84270079, 1, 1, np.nan], rtol=1e-7
    )


def test_softmax_is_stable_and_sums_to_one() -> None:
    x = np.array([[1000.0, 1001.0, -np.inf], [-np.inf, 0.0, -200.0]], np.float32)
    expected = [[0.26894143, 0.7310586, 0], [0, 1, 1.3838965e-87]]

    np.testing.assert_allclose(numerics.softmax(x), expected, rtol=1e-6, atol=1e-40)
    with np.errstate(divide="ignore"):
        logs = np.log(expected)
    np.testing.assert_allclose(numerics.log_softmax(x), logs, rtol=1e-6, atol=1e-40)


def test_logsumexp_keeps_infinities_and_nothing() -> None:
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [np.nan, 1], [1000, 1000]], np.float32)
    expected = np.array([-np.inf, np.inf, np.nan, 1000.6931], np.float32)

    np.testing.assert_allclose(numerics.logsumexp(x, axis=1), expected, rtol=1e-7)
    assert numerics.logsumexp(x, axis=1, keepdims=True).shape == (4, 1)
    assert numerics.logsumexp(np.zeros((0,), np.float32)) == -np.inf


def test_complex_arguments_keep_their_dtype() -> None:
    z = np.array([1 + 2j, -3 + 0.5j], np.complex64)

    for name in ("exp", "log", "sigmoid", "tanh", "sin"):
        assert getattr(numerics, name)(z).dtype == np.complex64
