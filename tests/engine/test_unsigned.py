"""Kernels without a signature: their inputs go by name, whatever the order they come in."""

from __future__ import annotations

from typing import Any

import pytest

import wgsl_kernels as wk

DIFFERENCE = "fn op(a: T, w: T) -> T {\n  return a - w;\n}"


@pytest.fixture(autouse=True)
def _a_kernel_on_both_backends(backend: str) -> None:
    wk.cpu_kernel("Difference")(lambda a, w: a - w)
    wk.wgsl_kernel("Difference", DIFFERENCE)


def run(**inputs: Any) -> wk.Tensor:
    found = wk.engine().run_kernel("Difference", inputs)
    assert isinstance(found, wk.Tensor)
    return found


def test_inputs_go_by_name() -> None:
    assert run(a=wk.tensor([5.0]), w=wk.tensor([1.0])).tolist() == [4.0]
    assert run(w=wk.tensor([1.0]), a=wk.tensor([5.0])).tolist() == [4.0]


def test_a_rule_gives_gradients_in_the_kernels_order() -> None:
    wk.gradient("Difference")(lambda dy: (dy * 1.0, dy * -1.0))
    found = wk.grads(lambda w, a: run(w=w, a=a))(wk.tensor([1.0]), wk.tensor([5.0]))
    assert [one.tolist() for one in found] == [[-1.0], [1.0]]


def test_a_function_takes_inputs_of_other_names_in_the_order_given() -> None:
    wk.register_kernel("Twice", "cpu", lambda x: x * 2)
    with wk.use_backend("cpu"):
        found = wk.engine().run_kernel("Twice", {"value": wk.tensor([2.0])})
    assert found.tolist() == [4.0]


@pytest.mark.gpu
def test_a_shader_refuses_a_name_that_it_does_not_have() -> None:
    with (
        wk.use_backend("webgpu"),
        pytest.raises(wk.ArgumentError, match="Difference: input 'z' is unknown; known: a, w"),
    ):
        run(z=wk.tensor([1.0]), a=wk.tensor([5.0]))


def test_a_rule_of_several_outputs_gets_a_tuple_and_their_names() -> None:
    wk.cpu_kernel("Both")(lambda x: (x * 2, x * 3))

    @wk.gradient("Both")
    def _both_grad(dys: Any, y1: wk.Tensor, y0_shape: Any) -> wk.Tensor:
        assert (y1.tolist(), y0_shape) == ([3.0], (1,))
        assert dys[1].tolist() == [0.0]
        return wk.multiply(dys[0], 2.0)

    with wk.use_backend("cpu"):
        first = wk.grad(lambda x: wk.engine().run_kernel("Both", {"x": x})[0])
        assert first(wk.tensor([1.0])).tolist() == [2.0]


def test_beside_an_input_y_the_output_is_out() -> None:
    wk.cpu_kernel("Scale")(lambda y: y * 2)
    wk.wgsl_kernel("Scale", "fn op(y: T) -> T {\n  return y * 2;\n}")
    wk.gradient("Scale")(lambda dy, out, y: dy * out / y)
    found = wk.grad(lambda y: wk.engine().run_kernel("Scale", {"y": y}))(wk.tensor([3.0]))
    assert found.tolist() == [2.0]
