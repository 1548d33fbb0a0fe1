"""Sums over segments on the CPU: every way to add gives the same sums."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk


@pytest.mark.parametrize("columns", [1, 3, 300])
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_segment_sums_add_up_whatever_the_shape(columns: int, dtype: str) -> None:
    rng = np.random.default_rng(5)
    ids = rng.integers(-1, 9, 5000).astype(np.int32)
    rows = rng.integers(-(2**30), 2**30, (5000, columns)).astype(dtype)
    expected = np.zeros((8, columns), np.int64 if dtype == "int32" else np.complex128)
    inside = (ids >= 0) & (ids < 8)
    np.add.at(expected, ids[inside], rows[inside])

    with wk.use_backend("cpu"):
        actual = wk.unsorted_segment_sum(rows, ids, num_segments=8).numpy()

    if dtype == "int32":
        np.testing.assert_array_equal(actual, expected.astype(np.int32))
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=2.0**30 * 1e-3)


def test_segment_sums_keep_what_is_not_finite_to_its_segment() -> None:
    rows = np.ones((6, 300), np.float32)
    rows[1, 0], rows[2, 1] = np.inf, np.nan
    ids = np.array([0, 0, 1, 1, 2, 2], np.int32)

    with wk.use_backend("cpu"):
        actual = wk.unsorted_segment_sum(rows, ids, num_segments=4).numpy()

    assert actual[0, 0] == np.inf
    assert np.isnan(actual[1, 1])
    assert np.isfinite(actual).sum() == actual.size - 2
    assert (actual[3] == 0).all()
