"""The interval tools: what each admits and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from wgsl_kernels.testing import bounds

MAX = float(np.finfo(np.float32).max)
TINY = float(np.finfo(np.float32).tiny)


def _admits(bound: bounds.Bound, expected: float, actual: float) -> bool:
    interval = bound([np.array(expected)], np.array(expected))
    return bool(bounds.contains(interval, np.array(actual)))


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        (bounds.exact(), 1.0, 1 + 2.0**-23),
        (bounds.ulp(2), 1 + 2.0**-22, 1 + 3 * 2.0**-23),
        (bounds.ulp(lambda x: 3 + 2 * np.abs(x)), 1 + 5 * 2.0**-23, 1 + 6 * 2.0**-23),
        (bounds.absolute(2**-11), 1 + 2.0**-11, 1 + 2.0**-10),
        (bounds.relative(0.01), 0.99, 0.98),
        (bounds.either(bounds.ulp(1), bounds.absolute(0.1)), 0.9, 0.89),
        (bounds.plus(bounds.ulp(1), bounds.ulp(2)), 1 - 3 * 2.0**-23, 1 - 4 * 2.0**-23),
        (bounds.safe("safe_tanh"), 1 + 6 * 2.0**-23, 1 + 7 * 2.0**-23),
    ],
)
def test_a_bound_admits_what_it_says(bound: bounds.Bound, inside: float, outside: float) -> None:
    assert _admits(bound, 1.0, 1.0)
    assert _admits(bound, 1.0, inside)
    assert not _admits(bound, 1.0, outside)
    assert not _admits(bound, 1.0, np.nan)


@pytest.mark.parametrize("bound", [bounds.exact(), bounds.ulp(1), bounds.absolute(1e-3)])
def test_nan_and_infinity_admit_only_themselves(bound: bounds.Bound) -> None:
    for value in (np.nan, np.inf, -np.inf):
        assert _admits(bound, value, value)
        assert not _admits(bound, value, 0.0)
    assert not _admits(bound, np.inf, -np.inf)
    assert not _admits(bound, np.inf, MAX)


def test_overflow_may_give_the_largest_number_or_infinity() -> None:
    assert _admits(bounds.ulp(1), 4e38, MAX)
    assert _admits(bounds.ulp(1), 4e38, np.inf)
    assert not _admits(bounds.ulp(1), 4e38, MAX / 2)
    assert _admits(bounds.ulp(1), -4e38, -np.inf)


def test_a_subnormal_may_be_flushed() -> None:
    assert _admits(bounds.exact(), TINY / 4, 0.0)
    assert _admits(bounds.exact(), -TINY / 4, 0.0)
    assert not _admits(bounds.exact(), TINY * 2, 0.0)
    assert _admits(bounds.ulp(1), TINY / 4, 0.0)


def test_exact_rounds_the_reference_once() -> None:
    assert _admits(bounds.exact(), 0.1, float(np.float32(0.1)))
    assert not _admits(bounds.exact(), 0.1, 0.1)


def test_float16_has_its_own_unit() -> None:
    expected = np.array([1.0], np.float16)
    low, high = bounds.ulp(1)([expected], expected)

    assert high[0] == pytest.approx(1 + 2.0**-10, abs=1e-4)
    assert low[0] == pytest.approx(1 - 2.0**-10, abs=1e-4)


def test_a_sum_is_bounded_by_the_sizes_of_its_terms() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(8, 5000)).astype(np.float32)
    wide = x.astype(np.float64)
    forward = np.add.accumulate(x, axis=1)[:, -1]
    interval = bounds.sum_bound(axis=1)([wide], wide.sum(axis=1))
    shallow = bounds.sum_bound(axis=1, depth=20)([wide], wide.sum(axis=1))

    assert bounds.contains(interval, forward).all()
    assert (interval[1] - interval[0] < 2.1 * 5000 * 2.0**-23 * np.abs(wide).sum(axis=1)).all()
    assert (shallow[1] - shallow[0] < interval[1] - interval[0]).all()


def test_mean_and_product_follow_their_counts() -> None:
    x = np.full((4, 100), 1.01, np.float32)
    wide = x.astype(np.float64)

    mean = bounds.mean_bound(axis=1, keepdims=True)([wide], wide.mean(axis=1, keepdims=True))
    assert bounds.contains(mean, x.mean(axis=1, keepdims=True)).all()
    product = bounds.prod_bound(axis=1)([wide], wide.prod(axis=1))
    assert bounds.contains(product, np.multiply.accumulate(x, axis=1)[:, -1]).all()


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul_is_bounded_by_the_product_of_sizes(transpose_a: bool, transpose_b: bool) -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=(2, 70, 30) if transpose_a else (2, 30, 70)).astype(np.float32)
    b = rng.normal(size=(2, 40, 70) if transpose_b else (2, 70, 40)).astype(np.float32)
    left = np.swapaxes(a, 1, 2) if transpose_a else a
    right = np.swapaxes(b, 1, 2) if transpose_b else b
    expected = left.astype(np.float64) @ right.astype(np.float64)
    inputs = [a.astype(np.float64), b.astype(np.float64)]
    interval = bounds.matmul_bound(transpose_a, transpose_b)(inputs, expected)

    assert bounds.contains(interval, left @ right).all()
    assert not bounds.contains(interval, (left @ right) * 1.001 + 0.1).any()


def test_complex_results_are_compared_part_by_part() -> None:
    expected = np.array([3 + 4j])
    interval = bounds.ulp(1)([expected], expected)

    assert bounds.contains(interval, np.array([3 + 4j + 4e-7j])).all()
    assert not bounds.contains(interval, np.array([3 + 4j + 1e-6])).any()
