"""Negative indices in tensors count from the end, as in lists; kernels have TensorFlow.js's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
HELD = pytest.mark.parametrize("held", ["host", "computed"])
X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
ROWS = np.array([[-1, 0], [2, -3]], np.int32)
COLUMNS = np.array([1, -4], np.int32)


def given(values: object, held: str) -> wk.Tensor:
    """Return indices on the host, or such as only the backend knows."""
    found = wk.tensor(values, dtype="int32")
    return found if held == "host" else wk.cumulative_sum(found[..., None], axis=-1)[..., 0]


@BACKENDS
@HELD
def test_tensors_index_as_numpys_arrays_do(backend: str, held: str) -> None:
    with wk.use_backend(backend):
        x, rows, columns = wk.tensor(X), given(ROWS, held), given(COLUMNS, held)
        found = [
            x[rows],
            x[:, columns],
            x[rows, columns],
            x[rows, :, columns],
            x[given(-1, held)],
            x[rows, -1, ::2],
            wk.take(x, columns, axis=1),
            wk.take(x, given([[1, -1], [-4, 0], [3, -2]], held), axis=1, batch_dims=1),
            wk.take_along_axis(x, columns[None, :, None], axis=1),
        ]
        values = [one.numpy() for one in found]
    batches = np.stack([one[at] for one, at in zip(X, [[1, -1], [-4, 0], [3, -2]], strict=True)])
    want = [
        X[ROWS],
        X[:, COLUMNS],
        X[ROWS, COLUMNS],
        X[ROWS, :, COLUMNS],
        X[-1],
        X[ROWS, -1, ::2],
        np.take(X, COLUMNS, 1),
        batches,
        np.take_along_axis(X, np.broadcast_to(COLUMNS[None, :, None], (3, 2, 5)), 1),
    ]
    for one, right in zip(values, want, strict=True):
        np.testing.assert_array_equal(one, right)


@BACKENDS
@HELD
def test_what_they_name_is_changed_and_has_the_gradient(backend: str, held: str) -> None:
    replaced, added, along, several, batch = (np.zeros_like(X) for _ in range(5))
    replaced[[-1, 0]] = 7
    np.add.at(added, np.array([-1, 2, 0]), 1)
    np.add.at(along.transpose(1, 0, 2), COLUMNS, 2)
    np.add.at(several, (COLUMNS % 3, COLUMNS), 1)
    np.add.at(batch, (np.arange(3)[:, None], np.array([[0, -1], [-4, 0], [-2, 2]])), 3)
    with wk.use_backend(backend):
        zeros = wk.zeros(X.shape)
        found = [
            zeros.at[given([-1, 0], held)].set(7.0),
            zeros.at[given([-1, 2, 0], held)].add(1.0),
            wk.grad(lambda x: 2.0 * wk.take(x, given(COLUMNS, held), axis=1))(zeros),
            wk.grad(lambda x: x[given(COLUMNS % 3 - 3, held), given(COLUMNS, held)])(zeros),
            wk.grad(
                lambda x: (
                    3.0 * wk.take(x, given([[0, -1], [-4, 0], [-2, 2]], held), axis=1, batch_dims=1)
                )
            )(zeros),
        ]
        rows = wk.grad(lambda x: wk.take_along_axis(x, given([[-1, -1]], held)))(wk.zeros((1, 3)))
        values = [one.numpy() for one in (*found, rows)]

    right = np.array([[0, 0, 2]], np.float32)
    for one, wanted in zip(values, (replaced, added, along, several, batch, right), strict=True):
        np.testing.assert_array_equal(one, wanted)


@BACKENDS
@HELD
@pytest.mark.parametrize("index", [-4, 3])
def test_what_is_outside_is_named_as_it_was_given(backend: str, held: str, index: int) -> None:
    calls: list[Callable[[wk.Tensor, wk.Tensor], wk.Tensor]] = [
        lambda x, at: x[at],
        lambda x, at: x[at, wk.tensor([0])],
        lambda x, at: x.at[at].add(1.0),
        wk.take,
        lambda x, at: wk.take_along_axis(x, at[:, None, None], axis=0),
        lambda x, at: wk.grad(lambda x: x[at])(x),
    ]
    with wk.use_backend(backend):
        for call in calls:
            with pytest.raises(wk.IndexOutOfRange, match=rf"holds {index},"):
                call(wk.tensor(X), given([index], held)).numpy()


@BACKENDS
@HELD
@pytest.mark.parametrize("kernel", ["GatherV2", "GatherNd", "TakeAlongAxis"])
def test_kernels_refuse_them_unless_asked(backend: str, held: str, kernel: str) -> None:
    name = "params" if kernel == "GatherNd" else "x"
    with wk.use_backend(backend):
        inputs = {name: wk.tensor([[1.0, 2.0]]), "indices": given([[-1]], held)}
        with pytest.raises(wk.IndexOutOfRange, match="holds -1,"):
            np.asarray(wk.engine().run_kernel(kernel, inputs))


@pytest.mark.gpu
def test_counting_from_the_end_costs_no_dispatch(auto_fusion: None) -> None:
    del auto_fusion
    with wk.use_backend("webgpu"):
        x, rows = wk.tensor(X), given([-1, 0, 1], "computed")
        wk.evaluate(x, rows)
        for f in (lambda: x[rows], lambda: wk.take_along_axis(x, rows[:, None, None], axis=0)):
            assert len(wk.profile(f).dispatches) == 1
        backward = wk.profile(lambda: wk.grad(lambda x: wk.take(x, rows))(x))
        kernel = wk.profile(
            lambda: wk.grad(
                lambda x: wk.engine().run_kernel("GatherV2", {"x": x, "indices": rows % 3})
            )(x)
        )

    assert len(backward.dispatches) <= len(kernel.dispatches)


@pytest.mark.gpu
def test_a_captured_function_counts_from_the_end_too() -> None:
    with wk.use_backend("webgpu"):
        fast = wk.capture(lambda x, at: x[at] + x.at[at].add(1.0)[at])
        found = [fast(wk.tensor(X), given(one, "computed")).tolist() for one in (ROWS, -1 - ROWS)]

    assert found == [(2 * X[at] + 2).tolist() for at in (ROWS, -1 - ROWS)]  # each is named twice
