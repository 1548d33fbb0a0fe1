"""compute_gradient_error and check_gradient: what they find, and what they hold still meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import check_gradient, compute_gradient_error

X = np.array([[0.3, -1.2, 2.0], [0.5, 0.7, -0.1]], np.float32)

both = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


def wrong(x: wk.Tensor) -> wk.Tensor:
    """Return x squared, with a gradient that is off by 0.5 at one element."""

    @wk.custom_grad
    def square(x: wk.Tensor) -> tuple[wk.Tensor, object]:
        off = wk.tensor(np.eye(2, 3, 2) * 0.5)
        return x * x, lambda dy, saved: dy * (2.0 * x + off)

    found = square(x)
    assert isinstance(found, wk.Tensor)
    return found


@both
def test_a_right_gradient_has_a_small_error(backend: str) -> None:
    with wk.use_backend(backend):
        assert compute_gradient_error(lambda x: wk.sin(x) * x, [X]) < 1e-5
        check_gradient(lambda x: wk.sin(x) * x, [X])


@both
def test_a_wrong_gradient_has_its_error(backend: str) -> None:
    with wk.use_backend(backend):
        # The arriving gradient has sizes from 0.5 to 1.5.
        assert 0.25 <= compute_gradient_error(wrong, [X]) <= 0.75


def test_the_worst_element_is_named() -> None:
    with (
        wk.use_backend("cpu"),
        pytest.raises(AssertionError, match=r"input 1 at \[0, 2\]: the gradient is .*numbers") as e,
    ):
        check_gradient(lambda a, b: a * wrong(b), [X, X])
    assert "the tolerance is" in str(e.value)


def test_a_single_input_may_stand_bare() -> None:
    with wk.use_backend("cpu"):
        assert compute_gradient_error(wk.exp, X) < 1e-5
        assert compute_gradient_error(wk.exp, wk.tensor(X)) < 1e-5


def test_the_same_tensor_twice_is_two_inputs() -> None:
    with wk.use_backend("cpu"):
        x = wk.tensor(X)
        assert compute_gradient_error(lambda a, b: a * wk.exp(b), [x, x]) < 1e-4


def test_several_outputs_count_in_any_nesting() -> None:
    with wk.use_backend("cpu"):
        assert compute_gradient_error(lambda x: {"a": wk.exp(x), "b": (x * x, x)}, [X]) < 1e-4
        check_gradient(lambda x: wk.split(x, 3, axis=1), [X])


def test_integer_outputs_and_inputs_are_left_out() -> None:
    index = np.array([1, 0], np.int32)
    with wk.use_backend("cpu"):
        check_gradient(lambda x, i: (wk.gather(x, i), wk.argmax(x)), [X, index])


def test_integers_alone_are_refused() -> None:
    with pytest.raises(wk.ArgumentError, match="no input is a float"):
        compute_gradient_error(lambda x: x, [np.array([1], np.int32)])


@both
def test_complex_gradients_follow_the_convention(backend: str) -> None:
    z = (X + 1j * X[::-1]).astype(np.complex64)
    with wk.use_backend(backend):
        check_gradient(lambda z: z * z, [z])
        check_gradient(lambda z: wk.real(z) * wk.imag(z), [z])


def test_the_conjugate_gradient_of_a_holomorphic_function_is_found_wrong() -> None:
    z = (X + 1j * X[::-1]).astype(np.complex64)

    @wk.custom_grad
    def square(z: wk.Tensor) -> tuple[wk.Tensor, object]:
        return z * z, lambda dy, saved: dy * (z + z)

    with wk.use_backend("cpu"), pytest.raises(AssertionError, match="input 0"):
        check_gradient(square, [z])


def test_captured_tensors_and_constants_are_float64_inside() -> None:
    with wk.use_backend("cpu"):
        captured = wk.tensor(0.1)
        seen = []

        def f(x: wk.Tensor) -> wk.Tensor:
            made = wk.tensor([0.1]), wk.full((1,), 0.1), wk.ones((1,)), wk.random_uniform((1,))
            for one in made:
                seen.append(one.dtype)
                x = x * one
            y = x * captured * 0.1
            seen.append(y.dtype)
            return y

        compute_gradient_error(f, [X])
    assert set(seen[:5]) == {"float32"}
    assert set(seen[5:]) == {"float64"}


def test_captured_variables_keep_their_values_and_dtype() -> None:
    with wk.use_backend("cpu"):
        v = wk.variable([2.0, 3.0, 4.0])
        check_gradient(lambda x: x * v * v, [X])
        assert v.dtype == "float32"
        assert v.tolist() == [2.0, 3.0, 4.0]


def test_an_assigned_variable_is_widened_anew() -> None:
    with wk.use_backend("cpu"):
        v = wk.variable(1.0)

        def f(x: wk.Tensor) -> wk.Tensor:
            v.assign(2.0)
            doubled = x * v
            v.assign(5.0)
            return doubled + x * v

        assert compute_gradient_error(f, [X]) < 1e-5


def test_a_cast_to_float32_is_refused_with_advice() -> None:
    with (
        wk.use_backend("cpu"),
        pytest.raises(wk.ArgumentError, match=r"Cast: x would be rounded to float32.*astype"),
    ):
        compute_gradient_error(lambda x: wk.astype(x, "float32") * 2.0, [X])


def test_a_cast_from_integers_is_none() -> None:
    with wk.use_backend("cpu"):
        mask = wk.tensor([[1, 0, 1], [0, 1, 1]])
        check_gradient(lambda x: x * wk.astype(mask, "float32"), [X])


@both
def test_random_draws_repeat_and_the_key_is_put_back(backend: str) -> None:
    with wk.use_backend(backend):
        wk.random.seed(7)
        before = wk.random.key.numpy()
        # A dropout: were the mask drawn anew, the differences would be far off.
        check_gradient(lambda x: x * wk.astype(wk.random_uniform(x.shape) < 0.5, x.dtype), [X])
        assert (wk.random.key.numpy() == before).all()


def test_a_gradient_inside_the_function_is_differentiated_again() -> None:
    def slope(x: wk.Tensor) -> wk.Tensor:
        found = wk.grad(lambda z: z * z * z)(x)
        assert isinstance(found, wk.Tensor)
        return found

    with wk.use_backend("cpu"):
        check_gradient(slope, [X])


def test_gradients_of_variables_inside_are_found_by_the_variable() -> None:
    with wk.use_backend("cpu"):
        v = wk.variable(3.0)

        def f(x: wk.Tensor) -> wk.Tensor:
            return wk.variable_grads(lambda: wk.sum(x * v * v))[1][v] * x

        check_gradient(f, [X])


def test_a_tape_around_does_not_see_the_evaluations() -> None:
    with wk.use_backend("cpu"):
        x = wk.tensor(X)
        with wk.GradientTape() as tape:
            tape.watch(x)
            compute_gradient_error(wk.exp, [x])
        assert tape._tape.nodes == []


def test_nothing_stays_alive_after_a_check() -> None:
    with wk.use_backend("cpu"):
        wk.random.seed(1)
        captured = wk.tensor([1.0, 2.0, 3.0])
        compute_gradient_error(lambda x: x * captured, [X])
        before = wk.memory()
        compute_gradient_error(lambda x: x * captured, [X])
        after = wk.memory()
    assert (after.num_tensors, after.num_bytes) == (before.num_tensors, before.num_bytes)


def test_the_step_can_be_given() -> None:
    with wk.use_backend("cpu"):
        # The error of extrapolated differences of x**5 is a quarter of the step's fourth power.
        error = compute_gradient_error(lambda x: wk.sum(x * x * x * x * x), [X], eps=0.4)
    assert error == pytest.approx(0.4**4 / 4, rel=0.6)


def test_nan_on_one_side_alone_is_an_infinite_error() -> None:
    @wk.custom_grad
    def broken(x: wk.Tensor) -> tuple[wk.Tensor, object]:
        return x * x, lambda dy, saved: dy * float("nan")

    with wk.use_backend("cpu"):
        assert compute_gradient_error(broken, [X]) == np.inf


def test_a_kernel_without_a_gradient_is_an_error() -> None:
    with wk.use_backend("cpu"), pytest.raises(wk.GradientNotFound):
        compute_gradient_error(lambda x: wk.unique(x)[0], [np.array([1.0, 2.0])])
