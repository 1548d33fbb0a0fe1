"""Sorting on the CPU by 64-bit keys, beside NumPy's stable order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

Array = np.ndarray[Any, Any]


def _values(dtype: str, size: int) -> Array:
    rng = np.random.default_rng(3)
    if dtype != "float32":
        return rng.integers(-9 if dtype == "int32" else 0, 2, size).astype(dtype)
    x = rng.integers(-40, 40, size).astype(np.float32) / 4
    x[rng.integers(0, size, 50)] = np.nan
    x[rng.integers(0, size, 50)] = -np.nan
    x[rng.integers(0, size, 50)] = -0.0
    x[rng.integers(0, size, 20)] = np.inf
    x[rng.integers(0, size, 20)] = -np.inf
    return x


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("k", [1, 7, 99, 130])
def test_topk_of_many_elements_is_the_stable_order(dtype: str, k: int) -> None:
    x = _values(dtype, 50 * 130).reshape(50, 130)
    upward = np.argsort(x[:, ::-1], axis=1, kind="stable")
    expected = 129 - upward[:, ::-1][:, :k]

    with wk.use_backend("cpu"):
        values, indices = wk.topk(x, k)

    np.testing.assert_array_equal(indices.numpy(), expected)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, 1))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_unique_of_many_elements_keeps_their_order(dtype: str) -> None:
    x = _values(dtype, 9000)
    numbers: dict[Any, int] = {}
    keys = ["nan" if value != value else value + 0 for value in x.tolist()]
    expected = [numbers.setdefault(key, len(numbers)) for key in keys]

    with wk.use_backend("cpu"):
        values, indices = wk.unique(x)

    np.testing.assert_array_equal(indices.numpy(), expected)
    first = [expected.index(number) for number in range(len(numbers))]
    np.testing.assert_array_equal(values.numpy(), x[first])
