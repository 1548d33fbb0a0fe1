"""Indexing: what ``x[...]`` takes, against NumPy on both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.ops.indexing.indexing import getitem
from wgsl_kernels.testing import check_gradient

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
    (0, slice(None), [[2, 0]], 1),
    (0, [2, 0], slice(None)),
    ([0, 1], [2, -1]),
    (slice(None), [[0], [2]], [1, 3]),
    ([0, 1], slice(None), [2, 3]),
    (slice(None), [0, 2], slice(1, None), [4, 0]),
    (None, [1, 0], None, [2, 2], ...),
    (1, [0, 2], [3, 3]),
    (..., [1, 0], [0, 4]),
    np.array([True, False]),
    VALUES % 3 == 1,
    (slice(None), VALUES[0, :, :, 0] > 25, slice(None, None, 2)),
    (..., [False, True, True, False, True]),
    (VALUES[:, :, 0, 0] > 30, 1),
    (0, [True, False, True], [1, 2]),
    np.zeros((2, 3), bool),
    (slice(None), [0, 1], ..., [1, 0], 0),
    (0, slice(None), ..., [1, 0], 0),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_an_index_takes_what_numpy_takes(index: Any, backend: str) -> None:
    with wk.use_backend(backend):
        found = getitem(wk.tensor(VALUES), index)

    np.testing.assert_array_equal(found.numpy(), VALUES[index])


@pytest.mark.parametrize("backend", BACKENDS)
def test_tensors_are_indices_as_arrays_are(backend: str) -> None:
    with wk.use_backend(backend):
        x, rows, columns = wk.tensor(VALUES), wk.tensor([[1], [0]]), wk.tensor([2, 0])
        found = {
            "one": getitem(x, (0, slice(None), wk.tensor([[2, 0]]), 1)),
            "scalar": getitem(x, (slice(None), wk.tensor(2))),
            "several": getitem(x, (rows, columns, ..., [3])),
            "mask": getitem(x, (..., x[0, 0, 0] > 1.0)),
            "full mask": getitem(x, (x > 17.0) & (x < 20.0)),
        }

    expected = {
        "one": VALUES[0, :, [[2, 0]], 1],
        "scalar": VALUES[:, 2],
        "several": VALUES[np.array([[1], [0]]), np.array([2, 0]), ..., [3]],
        "mask": VALUES[..., VALUES[0, 0, 0] > 1.0],
        "full mask": VALUES[(VALUES > 17.0) & (VALUES < 20.0)],
    }
    for name, one in found.items():
        np.testing.assert_array_equal(one.numpy(), expected[name], err_msg=name)


AT: list[Any] = [
    (0, 1),
    (slice(None), -1, slice(None, None, 2)),
    ([0, 1, 0], [2, 2, 1]),
    VALUES > 50,
    (1, ..., [0, 3]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("index", AT, ids=[0, 1, 2, 3, 4])
def test_at_changes_what_an_assignment_would(index: Any, backend: str) -> None:
    values = np.arange(VALUES[index].size, dtype=np.float32).reshape(VALUES[index].shape) + 0.5
    replaced, added, filled = VALUES.copy(), VALUES.copy(), VALUES.copy()
    replaced[index] = values
    np.add.at(added, index, values)
    filled[index] = 7
    with wk.use_backend(backend):
        x = wk.tensor(VALUES)
        found = [x.at[index].set(values), x.at[index].add(wk.tensor(values)), x.at[index].set(7)]

    for one, expected in zip(found, (replaced, added, filled), strict=True):
        np.testing.assert_array_equal(one.numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), VALUES)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_flow_through_masks_several_indices_and_at(backend: str) -> None:
    matrix = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
    rows, columns = [0, 1, 1, 0], [2, 1, 1, 0]
    with wk.use_backend(backend):
        check_gradient(lambda x: x[x > 0.0] ** 2.0, [matrix])
        check_gradient(lambda x: x[rows, columns] ** 2.0, [matrix])
        check_gradient(lambda x, v: x.at[rows, columns].add(v * v) ** 2.0, [matrix, [1.0, 2, 3, 4]])
        check_gradient(lambda x, v: x.at[1, 1:].set(v * v) ** 2.0, [matrix, np.array([2.0, 3.0])])


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
        (([0, 1], [1, 2, 0]), wk.ShapeError, r"do not broadcast against each other: \[2\], \[3\]"),
        (([0], [3]), wk.IndexOutOfRange, "indices holds 3"),
        (np.array([True]), wk.ShapeError, r"a bool mask has shape \[1\]; want \[2\]"),
        (True, wk.ArgumentError, "True is no index"),
        ((0, np.array(True)), wk.ArgumentError, "a bool mask is a scalar"),
        ([0.5], wk.DTypeError, "an index has dtype float64; want int32 or bool"),
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
def test_a_mask_of_no_axes_takes_the_whole_or_nothing(backend: str) -> None:
    with wk.use_backend(backend):
        for values in (VALUES, VALUES[0, 0, 0, 0]):
            for chosen in (True, False):
                expected = values[np.array(chosen)]
                for mask in (np.array(chosen), wk.tensor(chosen)):
                    found = getitem(wk.tensor(values), mask)
                    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_iterating_ends_after_the_last_slice(backend: str) -> None:
    with wk.use_backend(backend):
        rows = [row.numpy() for row in wk.tensor(VALUES[0, 0])]

    np.testing.assert_array_equal(rows, VALUES[0, 0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_ellipsis_of_no_axis_parts_positions(backend: str) -> None:
    values = np.arange(30).reshape(2, 3, 5)
    rows, cols = np.array([0, 1, 1]), np.array([4, 0, 2])
    with wk.use_backend(backend):
        x = wk.tensor(values)
        indices: list[Any] = [(slice(None), rows, ..., cols), (slice(None), 0, ..., cols)]
        for index in indices:
            np.testing.assert_array_equal(x[index].numpy(), values[index])


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_of_nothing_are_taken(backend: str) -> None:
    with wk.use_backend(backend):
        assert wk.zeros((0, 3))[:, [0, 2]].shape == (0, 2)
        assert wk.grad(lambda x: wk.sum(wk.take(x, [0, 1], axis=1)))(wk.zeros((0, 3))).shape == (
            0,
            3,
        )
        with pytest.raises(wk.IndexOutOfRange):
            wk.take(wk.zeros((0, 3)), [0], axis=0).numpy()


def test_values_of_another_kind_are_not_added() -> None:
    with pytest.raises(wk.DTypeError, match="x has dtype int32, values float32"):
        wk.tensor([1, 2]).at[0].add(0.9)
