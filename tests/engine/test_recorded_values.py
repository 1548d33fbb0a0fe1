"""Tensors made of tensors that a tape watches, and leaves made of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


MADE: dict[str, tuple[Callable[[wk.Tensor], wk.Tensor], list[float]]] = {
    "a list with a number": (lambda x: wk.tensor([x[0] * 2, 3.0]), [2.0, 0.0]),
    "nested lists": (lambda x: wk.asarray([[x[0], 1], [2, x[1] * x[1]]]), [1.0, 8.0]),
    "lists of rows": (lambda x: wk.tensor([x, [1.0, 2.0], x * x]), [7.0, 9.0]),
    "a tensor in another shape": (lambda x: wk.tensor(x, shape=(2, 1)), [1.0, 1.0]),
    "a scalar that fills": (lambda x: wk.tensor(x[1], shape=(3,)), [0.0, 3.0]),
    "another dtype": (lambda x: wk.tensor([x[0], 1], dtype="float32"), [1.0, 0.0]),
}


@pytest.mark.parametrize("what", MADE)
def test_gradients_go_on_through_what_is_made_of_watched_tensors(what: str) -> None:
    f, want = MADE[what]
    x = wk.tensor([3.0, 4.0])

    assert wk.grad(lambda x: f(x).sum())(x).tolist() == want
    np.testing.assert_array_equal(f(wk.variable(x)).numpy(), f(x).numpy())  # without a tape
    fast = wk.capture(wk.grad(lambda x: f(x).sum()))
    assert [fast(x).tolist() for _ in range(3)] == [want] * 3


def test_variables_are_watched_in_lists_too() -> None:
    v = wk.variable([1.0, 2.0])

    found = wk.variable_grads(lambda: wk.tensor([v[0] * 2, 3.0]).sum() + v.sum())[1]

    assert found[v].tolist() == [3.0, 1.0]


def test_second_gradients_go_on_as_well() -> None:
    f = wk.grad(lambda x: (wk.tensor([x * x, x]) ** 2).sum())
    assert wk.grad(f)(wk.tensor(2.0)).item() == 12 * 4 + 2


def test_ragged_lists_are_refused_under_a_tape_as_without() -> None:
    for f in (lambda f: f, wk.grad):
        with pytest.raises(wk.ShapeError, match="tensor: the values make no array"):
            f(lambda x: wk.tensor([x, [x, x]]).sum())(wk.tensor(2.0))


def test_a_variable_of_a_watched_tensor_is_a_leaf_and_says_so_once_a_line() -> None:
    def f(x: wk.Tensor) -> Any:
        return (wk.variable(x) * x).sum()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        found = [wk.grad(f)(wk.tensor([1.0, 2.0])).tolist() for _ in range(2)]

    assert found == [[1.0, 2.0]] * 2
    assert [str(one.message).partition(":")[0] for one in told] == ["variable"]
    assert "stop_gradient" in str(told[0].message)


def test_without_a_tape_values_are_read_at_once() -> None:
    parts = [wk.tensor(float(one)) for one in range(200)]

    rows = wk.profile(lambda: wk.tensor(parts)).kernels

    assert list(rows) == []


def test_a_gradient_that_is_not_found_names_where_values_were_read() -> None:
    with pytest.raises(wk.GradientNotFound, match=r"were read at .*test_recorded_values.py:\d+"):
        wk.grad(lambda x: wk.tensor(float(x[0] * 2.0)))(wk.tensor([1.0, 2.0]))
