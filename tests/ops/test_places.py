"""Rows that indices name, beyond the samples: out of range, given twice, found on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
X = np.arange(24, dtype=np.float32).reshape(4, 3, 2)


@BACKENDS
def test_of_several_updates_the_last_counts_and_alone_has_a_gradient(backend: str) -> None:
    indices = wk.tensor([[1], [2], [1], [1]])
    with wk.use_backend(backend):
        before, updates = wk.ones((4,)), wk.tensor([3.0, 4.0, 5.0, 6.0])
        y, (dx, dupdates) = wk.value_and_grads(
            lambda x, u: wk.sum(wk.tensor_scatter_update(x, indices, u) * [1.0, 2.0, 3.0, 4.0])
        )(before, updates)

    assert y.item() == 1 + 2 * 6 + 3 * 4 + 4
    assert dx.tolist() == [1, 0, 0, 4]
    assert dupdates.tolist() == [0, 3, 0, 2]


@BACKENDS
def test_scattered_bools_are_joined_by_or(backend: str) -> None:
    with wk.use_backend(backend):
        y = wk.scatter_nd([[0], [0], [2]], [True, True, False], (3,))

    assert y.dtype == "bool"
    assert y.tolist() == [True, False, False]


@BACKENDS
@pytest.mark.parametrize(
    "call",
    [
        lambda at: wk.gather_nd(X, at),
        lambda at: wk.scatter_nd(at, wk.ones((2,)), (4, 3)),
        lambda at: wk.tensor_scatter_update(wk.ones((4, 3)), at, wk.ones((2,))),
        lambda at: wk.sparse_to_dense(at, [1.0, 2.0], (4, 3)),
        lambda at: wk.take_along_axis(wk.ones((2, 3)), at),
    ],
)
def test_an_index_out_of_range_that_a_device_finds_is_told_when_it_is_read(
    call: Callable[[wk.Tensor], wk.Tensor], backend: str
) -> None:
    with (
        wk.use_backend(backend),
        pytest.raises(wk.IndexOutOfRange, match=r"indices holds 5"),
    ):
        call(wk.tensor([[0, 2], [1, 2]]) + wk.tensor([[0, 0], [0, 3]])).numpy()


@BACKENDS
def test_movements_are_numpys(backend: str) -> None:
    with wk.use_backend(backend):
        pairs: list[tuple[wk.Tensor, Any]] = [
            (wk.tril(X, k=-1), np.tril(X, -1)),
            (wk.triu(X, k=1), np.triu(X, 1)),
            (wk.moveaxis(X, (0, 2), (1, 0)), np.moveaxis(X, (0, 2), (1, 0))),
            (wk.repeat(X, 3, axis=1), np.repeat(X, 3, 1)),
            (wk.repeat(X, wk.tensor([2, 0, 1]), axis=1), np.repeat(X, [2, 0, 1], 1)),
            (wk.repeat(X, 2), np.repeat(X, 2)),
            (wk.roll(X, 5), np.roll(X, 5)),
            (wk.gather_nd(X, [3, 1]), X[3, 1]),
            (wk.gather_nd(X, wk.zeros((2, 0), dtype="int32")), np.stack([X, X])),
            (wk.take_along_axis(X, [[[1], [0], [1]]], axis=2), None),
        ]
        for ours, right in pairs[:-1]:
            np.testing.assert_array_equal(ours.numpy(), right)
        along = pairs[-1][0].numpy()

    at = np.broadcast_to(np.array([[[1], [0], [1]]]), (4, 3, 1))
    np.testing.assert_array_equal(along, np.take_along_axis(X, at, 2))


def test_a_capture_of_scattered_rows_takes_the_indices_that_it_is_given() -> None:
    with wk.use_backend("webgpu"):
        fast = wk.capture(lambda at, x: wk.scatter_nd(at, x, (3,)) + wk.gather_nd(x, at))
        for rows in ([[0], [1], [1]], [[2], [2], [0]], [[1], [0], [2]]):
            x = np.array([1.0, 2.0, 4.0], np.float32)
            want = np.zeros(3, np.float32)
            np.add.at(want, np.array(rows)[:, 0], x)
            y = fast(wk.tensor(rows), wk.tensor(x))
            np.testing.assert_array_equal(y.numpy(), want + x[np.array(rows)[:, 0]])
        assert fast.why is None


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wk.gather_nd(1.0, [[0]]), wk.ShapeError, r"params has shape \[\]"),
        (lambda: wk.scatter_nd([[0]], [1.0, 2.0], (3,)), wk.ShapeError, "want updates of"),
        (lambda: wk.pad([1, 2], [(-1, 0)], mode="wrap"), wk.ShapeError, "a pair of lengths of at"),
        (lambda: wk.pad(wk.zeros(0), 1, mode="edge"), wk.ShapeError, "has no elements to copy"),
        (lambda: wk.pad([1, 2], 1, mode="odd"), wk.ArgumentError, "mode is 'odd'; want 'reflect'"),
        (
            lambda: wk.pad([1, 2], 1, mode="edge", constant_value=3),
            wk.ArgumentError,
            "constant_value is 3 and mode 'edge'; want mode 'constant'",
        ),
        (lambda: wk.broadcast_args([2], [3]), wk.ShapeError, "s0 is .2. and s1 .3."),
        (lambda: wk.roll([1, 2], (1, 2), axis=0), wk.ArgumentError, "one number for each axis"),
        (lambda: wk.repeat([1, 2], [1, 2, 3]), wk.ShapeError, "repeats has 3 numbers"),
        (lambda: wk.repeat([1, 2], -1), wk.ArgumentError, "repeats is -1"),
        (lambda: wk.moveaxis(X, 0, (1, 2)), wk.ArgumentError, "as many"),
        (lambda: wk.band_part(X, 4, 0), wk.ArgumentError, "num_lower is 4"),
        (lambda: wk.sparse_to_dense([[0]], 1.5, (2, 2)), wk.ShapeError, "an index of 2 numbers"),
    ],
)
def test_bad_input_is_named(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
