"""One tensor for two arguments: each argument has a gradient of its own."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.modes import ALL_MODES

import wgsl_kernels as wk

WAYS = ("auto", "always", "never", "captured")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, backend: str) -> Iterator[Callable[[Any], Any]]:
    """Return what makes a function run eagerly, in a mode of fusion, or as a replay."""
    if request.param == "captured":
        yield _replayed
        return
    with wk.config.using(fusion=request.param):
        yield lambda f: f


def _replayed(f: Callable[..., Any]) -> Callable[..., Any]:
    fast = wk.capture(f)

    def run(*xs: Any) -> Any:
        fast(*xs)
        return fast(*xs)

    return run


def product(a: wk.Tensor, b: wk.Tensor) -> wk.Tensor:
    return wk.sum(a * b * b)


def lists(tensors: Any) -> list[Any]:
    return [one.tolist() for one in tensors]


def test_grads_of_one_tensor_given_twice_are_told_apart(way: Any) -> None:
    x = wk.tensor([1.0, 2.0, 3.0])
    found = way(lambda a, b: wk.grads(product)(a, b))(x, x)
    assert lists(found) == [[1.0, 4.0, 9.0], [2.0, 8.0, 18.0]]
    value, found = way(lambda x: wk.value_and_grads(product)(x, x))(x)
    assert value.item() == 36.0
    assert lists(found) == [[1.0, 4.0, 9.0], [2.0, 8.0, 18.0]]


def test_a_variable_given_twice_is_told_apart(way: Any) -> None:
    v = wk.variable([1.0, 2.0, 3.0])
    found = way(lambda: wk.grads(product)(v, v))()
    assert lists(found) == [[1.0, 4.0, 9.0], [2.0, 8.0, 18.0]]


def test_three_arguments_of_two_tensors_have_three_gradients(way: Any) -> None:
    x, y = wk.tensor([2.0]), wk.tensor([5.0])
    found = way(wk.grads(lambda a, b, c: wk.sum(a * b * b * c * c * c)))(x, y, x)
    assert lists(found) == [[200.0], [160.0], [600.0]]


def test_a_capture_of_one_tensor_serves_two(backend: str) -> None:
    x, y = wk.tensor([1.0, 2.0]), wk.tensor([3.0, 5.0])
    fast = wk.capture(lambda a, b: wk.grads(product)(a, b))
    for _ in range(2):
        assert lists(fast(x, x)) == [[1.0, 4.0], [2.0, 8.0]]
        assert lists(fast(x, y)) == [[9.0, 25.0], [6.0, 20.0]]


def test_a_custom_gradient_of_one_tensor_given_twice_is_told_apart(way: Any) -> None:
    @wk.custom_grad
    def weighted(a: wk.Tensor, b: wk.Tensor, save: Any) -> Any:
        save([a, b])
        return a * b * b, lambda dy, saved: (dy * saved[1] * 10.0, dy * saved[0] * 100.0)

    x = wk.tensor([1.0, 2.0])
    found = way(lambda x: wk.grads(lambda a, b: wk.sum(weighted(a, b)))(x, x))(x)
    assert lists(found) == [[10.0, 20.0], [100.0, 200.0]]
    both = way(wk.grad(lambda x: wk.sum(weighted(x, x))))(x)
    assert both.tolist() == [110.0, 220.0]
    second = wk.grad(lambda x: wk.sum(wk.grads(lambda a, b: wk.sum(weighted(a, b)))(x, x)[1]))
    assert way(second)(x).tolist() == [100.0, 100.0]


def test_gradients_of_one_tensor_given_twice_are_differentiated_again(way: Any) -> None:
    x = wk.tensor([1.0, 2.0])

    def second(x: wk.Tensor) -> Any:
        return [wk.grad(lambda t, i=i: wk.sum(wk.grads(product)(t, t)[i]))(x) for i in range(2)]

    assert lists(way(second)(x)) == [[2.0, 4.0], [4.0, 8.0]]  # of x^2 and 2 x^2
    third = wk.grad(wk.grad(lambda t: wk.sum(wk.grads(product)(t, t)[1])))
    assert way(third)(x).tolist() == [4.0, 4.0]


def test_an_argument_that_the_function_leaves_out_is_named(backend: str) -> None:
    x = wk.tensor([1.0])
    with pytest.raises(wk.GradientNotFound, match="does not depend on input 1"):
        wk.grads(lambda a, b: wk.sum(a * a))(x, x)


OPS = st.sampled_from([wk.add, wk.subtract, wk.multiply, wk.maximum, wk.squared_difference])


@st.composite
def _programs(draw: st.DrawFn) -> tuple[int, list[tuple[Any, int, int]]]:
    """Return a number of arguments and ops, each of two values among arguments and results."""
    count = draw(st.integers(2, 4))
    steps = []
    for index in range(draw(st.integers(1, 6))):
        places = st.integers(0, count + index - 1)
        steps.append((draw(OPS), draw(places), draw(places)))
    return count, steps


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@settings(derandomize=True, max_examples=40 if ALL_MODES else 12, deadline=None, database=None)
@given(_programs(), st.lists(st.integers(-3, 3), min_size=1, max_size=4))
def test_gradients_of_aliased_arguments_add_up(
    backend: str, program: tuple[int, list[tuple[Any, int, int]]], numbers: list[int]
) -> None:
    count, steps = program

    def f(*xs: wk.Tensor) -> wk.Tensor:
        values = [wk.tanh(x * 0.1) for x in xs]
        for op, a, b in steps:
            values.append(op(values[a], values[b]))
        return wk.sum(sum(values[1:], values[0]))

    with wk.use_backend(backend):
        x = wk.tensor(np.asarray(numbers, np.float32))
        apart = [wk.tensor(np.asarray(numbers, np.float32)) for _ in range(count)]
        aliased = wk.grads(f)(*[x] * count)
        one = wk.grad(lambda x: f(*[x] * count))(x)
        assert lists(aliased) == lists(wk.grads(f)(*apart))
        total = np.sum([np.asarray(each, np.float64) for each in lists(aliased)], axis=0)
        np.testing.assert_allclose(total, one.numpy(), rtol=1e-4, atol=1e-4)
