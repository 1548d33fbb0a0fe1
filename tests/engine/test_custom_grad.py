"""custom_grad: a function's own gradient, past the registry."""

from __future__ import annotations

from typing import Any

import pytest

import wgsl_kernels as wk


def test_the_given_gradient_is_used_and_the_registry_is_not(backend: str) -> None:
    @wk.custom_grad
    def square(x: wk.Tensor) -> Any:
        return x * x, lambda dy, saved: dy * 100.0

    with wk.override_gradient("Multiply", lambda dy: (None, None)):
        assert wk.value_and_grad(square)(3.0)[1].item() == 100.0
    assert square(3.0).item() == 9.0
    assert square.__name__ == "square"


def test_saved_tensors_arrive_in_order(backend: str) -> None:
    @wk.custom_grad
    def product(a: wk.Tensor, b: wk.Tensor, save: Any) -> Any:
        y = a * b
        save([a, b])
        save([y])
        return y, lambda dy, saved: (dy * saved[1], dy * saved[0] + saved[2] * 0.0)

    assert [one.item() for one in wk.grads(product)(2.0, 3.0)] == [3.0, 2.0]


def test_without_save_saved_is_empty(backend: str) -> None:
    seen: list[list[wk.Tensor]] = []

    @wk.custom_grad
    def same(x: wk.Tensor) -> Any:
        def back(dy: wk.Tensor, saved: list[wk.Tensor]) -> wk.Tensor:
            seen.append(list(saved))
            return dy

        return x * 1.0, back

    wk.grad(same)(1.0)
    assert seen == [[]]


@pytest.mark.parametrize("none", [False, True])
def test_values_and_upstream_gradients_may_be_tuples(backend: str, none: bool) -> None:
    arrived = []

    def both(x: wk.Tensor) -> Any:
        def back(dys: Any, saved: Any) -> Any:
            arrived.append([None if dy is None else dy.item() for dy in dys])
            return [dys[0] * 10.0]

        return (x + 0.0, x * 2.0, x > 0.0), back

    with_rule = wk.custom_grad(both, none=none)
    assert wk.grad(lambda x: with_rule(x)[0])(1.0).item() == 10.0
    assert arrived == [[1.0, None if none else 0.0, None]]


def test_an_input_that_is_the_value_too_is_saved_as_the_input(backend: str) -> None:
    @wk.custom_grad
    def same(x: wk.Tensor, save: Any) -> Any:
        save([x])
        return x, lambda dy, saved: dy * saved[0] * 3.0

    assert wk.grad(same)(2.0).item() == 6.0
    assert wk.grad(wk.grad(same))(2.0).item() == 3.0  # of 3 x; through the rule it were 6 x


def test_an_error_in_grad_func_says_where_it_was(backend: str) -> None:
    @wk.custom_grad
    def failing(x: wk.Tensor) -> Any:
        return x * x, lambda dy, saved: wk.reshape(dy, (2, 3))

    with pytest.raises(
        wk.ShapeError, match=r"^custom_grad: the gradient rule '.*failing.*lambda>' \(.*Reshape: "
    ):
        wk.grad(failing)(1.0)


def test_none_stands_for_no_gradient(backend: str) -> None:
    @wk.custom_grad
    def left(a: wk.Tensor, b: wk.Tensor) -> Any:
        return a * b, lambda dy, saved: (dy, None)

    with pytest.raises(wk.GradientNotFound, match="does not depend on input 1"):
        wk.grads(left)(1.0, 1.0)


def test_a_wrong_count_of_gradients_is_refused(backend: str) -> None:
    @wk.custom_grad
    def one_short(a: wk.Tensor, b: wk.Tensor) -> Any:
        return a * b, lambda dy, saved: [dy]

    with pytest.raises(wk.ArgumentError, match="gave 1 gradients for 2 inputs"):
        wk.grads(one_short)(1.0, 1.0)


@pytest.mark.parametrize("result", [None, 3, (1, 2), (1, 2, 3)])
def test_what_is_no_pair_is_refused(result: Any) -> None:
    with pytest.raises(wk.ArgumentError, match="want"):
        wk.custom_grad(lambda x: result)(1.0)


def test_the_gradient_is_differentiated_again_through_inputs_and_values(backend: str) -> None:
    @wk.custom_grad
    def cube(x: wk.Tensor, save: Any) -> Any:
        y = x * x * x
        save([x, y])
        return y, lambda dy, saved: dy * 3.0 * saved[1] / saved[0]

    second = wk.grad(wk.grad(cube))(2.0).item()
    assert second == pytest.approx(12.0)
    assert wk.grad(wk.grad(wk.grad(cube)))(2.0).item() == pytest.approx(6.0, rel=1e-4)


def test_something_else_that_was_saved_cannot_be_differentiated_twice(backend: str) -> None:
    @wk.custom_grad
    def square(x: wk.Tensor, save: Any) -> Any:
        doubled = x + x
        save([doubled])
        return x * x, lambda dy, saved: dy * saved[0]

    assert wk.grad(square)(3.0).item() == 6.0
    with pytest.raises(wk.GradientNotFound, match="neither input nor value"):
        wk.grad(wk.grad(square))(3.0)


def test_a_saved_constant_may_be_anything(backend: str) -> None:
    constant = wk.tensor(5.0)

    @wk.custom_grad
    def scaled(x: wk.Tensor, save: Any) -> Any:
        save([constant])
        return x * constant, lambda dy, saved: dy * saved[0] * dy

    assert wk.grad(lambda d: wk.grad(scaled)(1.0, dy=d))(3.0).item() == 30.0


def test_a_variable_that_is_read_but_not_passed_is_refused(backend: str) -> None:
    v = wk.variable(2.0, name="hidden")

    @wk.custom_grad
    def f(x: wk.Tensor) -> Any:
        return x * v, lambda dy, saved: dy

    with pytest.raises(wk.ArgumentError, match="'hidden', which is not among its arguments"):
        wk.grad(f)(1.0)
    assert f(3.0).item() == 6.0


def test_a_variable_may_be_passed_or_stopped(backend: str) -> None:
    v = wk.variable(2.0)

    @wk.custom_grad
    def f(x: wk.Tensor, w: wk.Tensor) -> Any:
        return x * w * wk.stop_gradient(v), lambda dy, saved: (dy, dy * 7.0)

    assert wk.variable_grads(lambda: f(wk.tensor(1.0), v))[1][v].item() == 7.0


def test_inner_runs_are_hidden_from_the_tape_but_not_from_other_watchers(backend: str) -> None:
    @wk.custom_grad
    def square(x: wk.Tensor) -> Any:
        return x * x, lambda dy, saved: dy

    seen = wk.profile(lambda: wk.grad(square)(3.0))
    assert "Multiply" in [row.name for row in seen.kernels]


def test_an_input_returned_as_the_value_gets_the_gradient(backend: str) -> None:
    @wk.custom_grad
    def clipped(x: wk.Tensor) -> Any:
        return x, lambda dy, saved: dy * 0.25

    assert wk.grad(lambda x: clipped(x) * 2.0)(1.0).item() == 0.5


def test_a_gradient_that_does_not_take_what_was_saved_is_told_what_it_is_given(
    backend: str,
) -> None:
    square = wk.custom_grad(lambda x: (x * x, lambda dy: dy * 2.0))
    with pytest.raises(TypeError, match=r"1 positional argument .*; want grad_func\(dy, saved\)"):
        wk.grad(square)(3.0)
    failing = wk.custom_grad(lambda x: (x * x, lambda dy, saved: dy + object()))
    with pytest.raises(TypeError) as caught:
        wk.grad(failing)(3.0)
    assert "want grad_func" not in str(caught.value)
