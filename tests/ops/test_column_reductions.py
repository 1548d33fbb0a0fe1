"""Sums and extremes along leading axes on the CPU, whose rows are joined in wide steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu.folds import folded
from wgsl_kernels.backends.cpu.sums import total

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [
    (517, 2049),
    (4097, 1023),
    (70_001, 3),
    (1_000_003, 2),
    (3, 300_007),
    (17, 4096),
    (31, 70),
]
EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=str)


def drawn(*shape: int) -> np.ndarray:
    """Return normal numbers, as float32."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@EVERY_SHAPE
def test_sums_of_columns_are_accurate_at_any_height_and_width(shape: tuple[int, ...]) -> None:
    x = drawn(*shape)
    exact, size = x.sum(0, dtype=np.float64), np.abs(x).sum(0, dtype=np.float64)

    found = total(x, (0,))

    assert found.dtype == np.float32
    assert (np.abs(found - exact) <= 8 * 2.0**-24 * size).all()


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (0, 1, 2), (2, 1, 0), (2, 1), (1,), (0,), (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_may_be_named_in_any_order(axes: tuple[int, ...], keepdims: bool) -> None:
    x = drawn(30, 40, 50)
    expected = x.sum(axes, dtype=np.float64, keepdims=keepdims)
    found = total(x, axes, keepdims=keepdims)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "reversed rows": lambda x: x[::-1],
    "rows left out": lambda x: x[::2],
    "columns left out": lambda x: x[:, :-1],
    "reversed columns": lambda x: x[:, ::-1],
    "a row again and again": lambda x: np.broadcast_to(x[0], x.shape),
    "a crop": lambda x: x[: len(x) // 9 * 9].reshape(9, -1, 1, x.shape[1])[:, 1:-1],
}


@EVERY_SHAPE
@pytest.mark.parametrize("view", VIEWS)
def test_sums_of_views_with_gaps_are_as_accurate(view: str, shape: tuple[int, ...]) -> None:
    x = VIEWS[view](np.random.default_rng(0).uniform(0, 1, shape).astype(np.float32))
    for axes in ((0,), (x.ndim - 1,), tuple(range(x.ndim - 1)), tuple(range(x.ndim))):
        exact = x.sum(axes, dtype=np.float64)
        assert (np.abs(total(x, axes) - exact) <= 421 * 2.0**-24 * exact).all()
        assert total(x, axes, keepdims=True).shape == x.sum(axes, keepdims=True).shape


def test_ones_of_a_view_are_counted_past_the_whole_numbers_of_float32() -> None:
    x = np.broadcast_to(np.float32(1), (1 << 25, 2))
    assert total(x, (0,)).tolist() == [1 << 25] * 2


def test_a_sum_has_the_same_bits_wherever_its_array_lies() -> None:
    values = drawn(2048, 1024)
    memory = np.empty(values.size + 1024, np.float32)
    found = []
    for start in (0, 1, 3, 512, 1000):
        x = memory[start : start + values.size].reshape(values.shape)
        x[...] = values
        found.append(total(x, (0,)).tobytes())
    assert len(set(found)) == 1


def test_threads_that_sum_at_once_do_not_share_their_scratch() -> None:
    arrays = [drawn(1024, 2048) + number for number in range(4)]
    expected = [total(x, (0,)).tobytes() for x in arrays]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            found = pool.map(lambda x: total(x, (0,)).tobytes(), arrays)
            assert list(found) == expected


@EVERY_SHAPE
@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_])
def test_extremes_of_columns_are_numpys(shape: tuple[int, ...], name: str, dtype: type) -> None:
    x: np.ndarray = (drawn(*shape) * 3).astype(dtype)
    ufunc = getattr(np, name)
    np.testing.assert_array_equal(folded(ufunc, x), ufunc.reduce(x, axis=0))


@EVERY_SHAPE
def test_nan_wins_in_whatever_row_it_is(shape: tuple[int, ...]) -> None:
    rows = sorted({0, 1, shape[0] // 2, shape[0] // 3, shape[0] - 2, shape[0] - 1})
    for row in rows:
        x = drawn(*shape)
        x[row, 0], x[row, -1], x[rows[-1], -1] = np.nan, np.nan, np.inf
        for ufunc in (np.maximum, np.minimum):
            np.testing.assert_array_equal(folded(ufunc, x), ufunc.reduce(x, axis=0))


@pytest.mark.parametrize("axis", [None, (0, 1), 0, 1, 2, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_extremes_keep_what_is_left_in_its_shape(axis: Any, keepdims: bool) -> None:
    x = drawn(20, 30, 40)
    with wk.use_backend("cpu"):
        for f, wanted in ((wk.max, np.max), (wk.min, np.min)):
            found = f(wk.tensor(x), axis=axis, keepdims=keepdims).numpy()
            np.testing.assert_array_equal(found, wanted(x, axis=axis, keepdims=keepdims))
