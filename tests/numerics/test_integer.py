"""Integer functions of shaders/lib and of the CPU backend against Python's own integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wgsl_kernels.backends.cpu import numerics

Array = np.ndarray
Evaluate = Callable[..., list[tuple[str, Array]]]


def _wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 2**32)
    return a ** (b % 2) if abs(a) == 1 else 0


RULES: dict[str, tuple[Callable[[int, int], int], Callable[[Array, Array], Array]]] = {
    "div_i32(a, b)": (
        lambda a, b: a if b == 0 else abs(a) // abs(b) * _sign(a) * _sign(b),
        numerics.divide,
    ),
    "rem_i32(a, b)": (lambda a, b: 0 if b == 0 else abs(a) % abs(b) * _sign(a), numerics.trunc_mod),
    "floor_div_i32(a, b)": (lambda a, b: a if b == 0 else a // b, numerics.floor_div),
    "floor_mod_i32(a, b)": (lambda a, b: 0 if b == 0 else a % b, numerics.floor_mod),
    "pow_i32(a, b)": (_power, numerics.power),
}


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


def _expected(expression: str, pairs: Array) -> Array:
    rule = RULES[expression][0]
    return np.array([_wrapped(rule(a, b)) for a, b in pairs.T.tolist()], np.int32)


@pytest.mark.gpu
@pytest.mark.parametrize("expression", RULES)
def test_shader_divides_and_multiplies_as_python(
    evaluate: Evaluate, integer_pairs: Array, expression: str
) -> None:
    for _, actual in evaluate(expression, *integer_pairs, dtype=np.int32):
        np.testing.assert_array_equal(actual, _expected(expression, integer_pairs))


@pytest.mark.parametrize("expression", RULES)
def test_cpu_divides_and_multiplies_as_python(integer_pairs: Array, expression: str) -> None:
    actual = RULES[expression][1](*integer_pairs)

    assert actual.dtype == np.int32
    np.testing.assert_array_equal(actual, _expected(expression, integer_pairs))


@pytest.mark.gpu
@pytest.mark.parametrize(("part", "shift"), [("x", 32), ("y", 0)])
def test_mul_wide_gives_all_64_bits(
    evaluate: Evaluate, integer_pairs: Array, part: str, shift: int
) -> None:
    a, b = integer_pairs.view(np.uint32)
    product = a.astype(np.uint64) * b.astype(np.uint64)
    expected = (product >> np.uint64(shift)).astype(np.uint32)
    for _, actual in evaluate(f"mul_wide(a, b).{part}", a, b, dtype=np.uint32):
        np.testing.assert_array_equal(actual, expected)
