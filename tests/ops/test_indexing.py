"""Indexing: what ``x[...]`` takes, against NumPy on both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.ops.indexing import getitem

BACKENDS = ["cpu", "webgpu"]
VALUES = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
INDICES: list[Any] = [
    1,
    -2,
    np.int64(1),
    slice(None),
    slice(5, None, -2),
    slice(-100, 100),
    slice(2, 1),
    Ellipsis,
    None,
    (),
    (0, 1, 2, 3),
    (..., -1),
    (1, ..., slice(None, None, -1)),
    (slice(None), None, 1, ..., None),
    (slice(None, None, -1), slice(0, 2), slice(-1, 0, -2), 4),
    (slice(None), [2, 0, -1]),
    (..., [[0, 1], [4, -5]]),
    (None, slice(1, None), ..., [3, 3]),
    (..., [1, 0], slice(None)),
    [1, 1, 0],
    np.array([0, 1]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index_takes_what_numpy_takes(index: Any, backend: str) -> None:
    with wk.use_backend(backend):
        found = getitem(wk.tensor(VALUES), index)

    np.testing.assert_array_equal(found.numpy(), VALUES[index])


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_axes_of_a_tensor_index_stand_where_its_axis_stood(backend: str) -> None:
    # NumPy would move them to the front, because an integer stands apart from them.
    with wk.use_backend(backend):
        positions = wk.tensor([[2, 0]], dtype="int32")
        found = getitem(wk.tensor(VALUES), (0, slice(None), positions, 1))
        single = getitem(wk.tensor(VALUES), (slice(None), wk.tensor(2)))

    np.testing.assert_array_equal(found.numpy(), VALUES[0][:, [[2, 0]], 1])
    np.testing.assert_array_equal(single.numpy(), VALUES[:, 2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_reaches_only_the_elements_taken(backend: str) -> None:
    def taken(x: wk.Tensor) -> wk.Tensor:
        return getitem(x, (slice(None, None, -1), None, slice(3, None, -3), [0, 0]))

    with wk.use_backend(backend):
        dx = wk.grad(taken)(wk.tensor(VALUES[0]))

    expected = np.zeros((3, 4, 5), np.float32)
    expected[:, [3, 0], 0] = 2.0
    np.testing.assert_array_equal(dx.numpy(), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        (2, wk.IndexOutOfRange, r"index 2 is outside axis 0 of x, which has shape \[2, 3, 4, 5\]"),
        ((0, -4), wk.IndexOutOfRange, r"index -4 is outside axis 1.*want it in \[-3, 3\)"),
        ((0,) * 5, wk.ArgumentError, "the index has 5 entries for axes"),
        ((..., ...), wk.ArgumentError, "two ellipses"),
        (([0], [1]), wk.ArgumentError, "want one at most"),
        (np.array([True, False]), wk.ArgumentError, r"bool mask.*where\(mask, x, other\)"),
        (True, wk.ArgumentError, "bool mask"),
        ([0.5], wk.DTypeError, "an index has dtype float64; want int32"),
        ("a", wk.ArgumentError, "'a' is no index"),
        (slice(0, 2, 0), wk.ArgumentError, r"strides\[0\] is 0"),
    ],
    ids=str,
)
def test_an_index_that_cannot_be_is_refused_with_advice(
    index: Any, error: type[Exception], words: str, backend: str
) -> None:
    with wk.use_backend(backend), pytest.raises(error, match=words):
        getitem(wk.tensor(VALUES), index)


@pytest.mark.parametrize("backend", BACKENDS)
def test_iterating_ends_after_the_last_slice(backend: str) -> None:
    with wk.use_backend(backend):
        rows = [row.numpy() for row in wk.tensor(VALUES[0, 0])]

    np.testing.assert_array_equal(rows, VALUES[0, 0])
