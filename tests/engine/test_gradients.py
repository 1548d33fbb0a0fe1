"""The functions that compute gradients, and the tape that users hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.environment import context

if TYPE_CHECKING:
    from collections.abc import Callable


def cube(x: Any) -> Any:
    return x * x * x


def test_grad_sums_over_the_elements_of_the_value(backend: str) -> None:
    assert wk.grad(cube)(wk.tensor([1.0, 2.0])).tolist() == [3.0, 12.0]
    assert wk.grad(cube)([1.0, 2.0], dy=[1.0, 0.5]).tolist() == [3.0, 6.0]
    assert wk.grad(cube)(2.0).item() == 12.0


def test_grads_gives_a_tuple_in_the_order_of_the_inputs(backend: str) -> None:
    f = wk.grads(lambda a, b: a * a * b)

    assert [one.item() for one in f(3.0, 4.0)] == [24.0, 9.0]
    assert [one.item() for one in f(3.0, 4.0, dy=2.0)] == [48.0, 18.0]


def test_values_come_with_gradients(backend: str) -> None:
    value, slope = wk.value_and_grad(cube)(2.0)
    assert (value.item(), slope.item()) == (8.0, 12.0)

    value, (da, db) = wk.value_and_grads(lambda a, b: a - b)(5.0, 3.0)
    assert (value.item(), da.item(), db.item()) == (2.0, 1.0, -1.0)


def test_variable_grads_finds_what_was_read(backend: str) -> None:
    v, w, fixed = wk.variable(3.0), wk.variable(4.0), wk.variable(5.0, trainable=False)
    unread = wk.variable(1.0)
    value, found = wk.variable_grads(lambda: v * v * w * fixed)

    assert value.item() == 180.0
    assert {one: found[one].item() for one in found} == {v: 120.0, w: 45.0}
    assert unread not in found


def test_variable_grads_takes_chosen_variables_alone(backend: str) -> None:
    v, w = wk.variable(3.0), wk.variable(4.0)

    assert list(wk.variable_grads(lambda: v * w, [w])[1]) == [w]
    frozen = wk.variable(2.0, trainable=False)
    assert wk.variable_grads(lambda: v * frozen, [frozen])[1][frozen].item() == 3.0


def test_variable_grads_wants_a_scalar() -> None:
    v = wk.variable([1.0, 2.0])
    with pytest.raises(wk.ShapeError, match=r"f gave shape \[2\]; want a scalar"):
        wk.variable_grads(lambda: v * 2.0)


def test_an_input_used_twice_sums_its_gradients(backend: str) -> None:
    assert wk.grad(lambda x: x * 3.0 + wk.exp(x) * 0.0 + x)(1.0).item() == 4.0


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_gradients_are_differentiated_again(backend: str, order: int) -> None:
    f: Callable[..., wk.Tensor] = lambda x: x * x * x * x  # noqa: E731  wrapped below
    for _ in range(order):
        f = wk.grad(f)
    expected = {1: 4 * 8.0, 2: 12 * 4.0, 3: 24 * 2.0, 4: 24.0}

    assert f(2.0).item() == expected[order]


def test_mixed_derivatives_cross_two_tapes(backend: str) -> None:
    mixed = wk.grad(lambda b: wk.grad(lambda a: a * a * b)(3.0) * b)

    assert mixed(5.0).item() == 2 * 3.0 * 2 * 5.0


def test_an_unconnected_input_raises_and_is_named(backend: str) -> None:
    with pytest.raises(wk.GradientNotFound, match="does not depend on input 1"):
        wk.grads(lambda a, b: a * 2.0)(1.0, 1.0)
    with pytest.raises(wk.GradientNotFound, match="does not depend on input 0"):
        wk.grad(wk.stop_gradient)(1.0)
    with pytest.raises(wk.GradientNotFound, match="does not depend on input 0"):
        wk.grad(lambda x: wk.astype(wk.astype(x, "int32"), "float32"))(1.0)


def test_flat_kernels_give_zeros_not_nothing(backend: str) -> None:
    for f in (wk.floor, wk.ceil, wk.round, wk.sign, wk.zeros_like, wk.ones_like):
        assert wk.grad(f)(wk.tensor([0.3, -1.7])).tolist() == [0.0, 0.0]


def test_integers_and_no_tensors_are_refused(backend: str) -> None:
    with pytest.raises(wk.DTypeError, match="no gradient flows through dtype int32"):
        wk.grad(cube)(2)
    with pytest.raises(wk.ArgumentError, match="f gave None; want a tensor"):
        wk.grad(lambda x: None)(2.0)
    with pytest.raises(wk.ShapeError, match=r"dy has shape \[2\], the value \[\]; want the same"):
        wk.grad(cube)(2.0, dy=[1.0, 1.0])


def test_stop_gradient_makes_a_constant(backend: str) -> None:
    assert wk.grad(lambda x: x * wk.stop_gradient(x))(3.0).item() == 3.0


def test_a_tape_gives_none_for_what_is_unconnected(backend: str) -> None:
    a, b = wk.tensor(2.0), wk.tensor(3.0)
    with wk.GradientTape() as tape:
        tape.watch([a, b])
        y = a * a
    da, db = tape.gradient(y, [a, b])
    assert da.item() == 4.0
    assert db is None


def test_a_tape_answers_in_the_form_of_the_question(backend: str) -> None:
    v, w = wk.variable(2.0), wk.variable(3.0)
    with wk.GradientTape(persistent=True) as tape:
        y = v * w
    assert tape.gradient(y, v).item() == 3.0
    assert [one.item() for one in tape.gradient(y, (v, w))] == [3.0, 2.0]
    assert isinstance(tape.gradient(y, (v, w)), tuple)
    assert tape.gradient(y, {"w": w})["w"].item() == 2.0
    assert tape.gradient([y, y], v, dy=[1.0, 10.0]).item() == 33.0


def test_a_tape_that_is_not_persistent_answers_once(backend: str) -> None:
    v = wk.variable(2.0)
    with wk.GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v).item() == 4.0
    with pytest.raises(wk.ArgumentError, match="persistent=True"):
        tape.gradient(y, v)


def test_a_tape_records_only_inside_its_block(backend: str) -> None:
    x = wk.tensor(2.0)
    with wk.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    z = y * y
    with pytest.raises(wk.GradientNotFound, match="after the tape's block"):
        tape.gradient(z, x)
    assert tape.gradient(y, x).item() == 4.0


def test_tapes_nest_and_may_end_in_any_order(backend: str) -> None:
    x = wk.tensor(3.0)
    outer, inner = wk.GradientTape(), wk.GradientTape()
    outer.__enter__()
    inner.__enter__()
    outer.watch(x)
    inner.watch(x)
    y = x * x
    outer.__exit__(None, None, None)
    z = y * x
    inner.__exit__(None, None, None)

    assert outer.gradient(y, x).item() == 6.0
    assert inner.gradient(z, x).item() == 27.0


def test_a_persistent_tape_differentiates_an_intermediate(backend: str) -> None:
    x = wk.tensor(2.0)
    with wk.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert tape.gradient(z, y).item() == 8.0
    assert tape.gradient(z, [x, y])[0].item() == 32.0


def test_an_assigned_variable_keeps_what_the_tape_read(backend: str) -> None:
    v = wk.variable(3.0)
    with wk.GradientTape() as tape:
        y = v * v
    v.assign(100.0)
    assert tape.gradient(y, v).item() == 6.0


def test_disposed_intermediates_do_not_hurt_the_tape(backend: str) -> None:
    def f(x: wk.Tensor) -> wk.Tensor:
        inner = wk.exp(x)
        y = inner * inner
        inner.dispose()
        return y

    slope = wk.grad(f)(wk.tensor(0.0))
    assert slope.item() == 2.0


def test_the_tape_keeps_no_array_that_its_rules_do_not_name(backend: str) -> None:
    x = wk.tensor(np.ones(1000, np.float32))
    with wk.GradientTape() as tape:
        tape.watch(x)
        shifted = x + 1.0
        shifted.numpy()
        held = wk.memory().num_bytes
        y = wk.sum(shifted)
        wk.evaluate(y)
        del shifted
        assert wk.memory().num_bytes < held
    assert tape.gradient(y, x).numpy().sum() == 1000


def test_lists_of_inputs_get_lists_of_gradients(backend: str) -> None:
    a, b = wk.tensor([1.0, 2.0]), wk.tensor([3.0])
    da, db = wk.grads(lambda a, b: wk.concat([a, b, a]) * wk.tensor([1.0, 2, 3, 4, 5]))(a, b)

    assert (da.tolist(), db.tolist()) == ([5.0, 7.0], [3.0])


def test_outputs_of_which_some_are_unused_send_none(backend: str) -> None:
    slope = wk.grad(lambda x: wk.split(x, 3)[1] * 5.0)(wk.tensor([1.0, 2.0, 3.0]))

    assert slope.tolist() == [0.0, 5.0, 0.0]


def test_gradients_are_summed_over_broadcast_axes(backend: str) -> None:
    da, db = wk.grads(lambda a, b: a * b)(wk.tensor(np.ones((2, 1, 3))), wk.tensor([[2.0], [3.0]]))

    assert (da.shape, db.shape) == ((2, 1, 3), (2, 1))
    assert da.numpy().tolist() == np.full((2, 1, 3), 5.0).tolist()
    assert db.tolist() == [[6.0], [6.0]]


def test_gradients_through_a_promotion_have_the_dtype_of_their_input(backend: str) -> None:
    slope = wk.grad(lambda x: wk.real(x * wk.tensor(2j) * wk.tensor(1j)))(wk.tensor(3.0))

    assert (slope.dtype, slope.item()) == ("float32", -2.0)


def test_backward_runs_on_the_backend_that_is_active(backend: str) -> None:
    with wk.GradientTape() as tape:
        x = wk.tensor([1.0])
        tape.watch(x)
        y = x * x
    with wk.use_backend("cpu"):
        assert tape.gradient(y, x).backend == "cpu"


def test_a_tape_asked_inside_its_block_records_nothing_after_it() -> None:
    x = wk.variable(3.0)
    with wk.GradientTape() as tape:
        y = x * x
        assert tape.gradient(y, x).item() == 6.0
        before = wk.memory().num_buffers
        for _ in range(5):
            (x * x).dispose()
        assert wk.memory().num_buffers == before
    assert context.current().interceptors == ()


def test_a_call_that_fails_does_not_use_up_the_tape() -> None:
    x = wk.variable([3.0])
    with wk.GradientTape() as tape:
        y = x * x
    with pytest.raises(wk.ShapeError, match="dy has shape"):
        tape.gradient(y, x, wk.ones(3))
    assert tape.gradient(y, x).tolist() == [6.0]


def test_a_target_computed_after_the_tape_is_refused_and_a_constant_one_is_not() -> None:
    x, other = wk.variable([3.0]), wk.tensor([2.0])
    with wk.GradientTape(persistent=True) as tape:
        y = x * x
        constant = other * 2.0
    late = x * x

    with pytest.raises(wk.GradientNotFound, match=r"y, of shape \[1\], .* after the tape's block"):
        tape.gradient(late, x)
    with pytest.raises(wk.GradientNotFound, match="inside the block"):
        tape.gradient([y, y + 1.0], x)
    assert tape.gradient(constant, x) is None
    assert tape.gradient(y, x).tolist() == [6.0]
