"""Gradient rules: what their parameters mean, what they may return, and which one is used."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _on_cpu() -> Iterator[None]:
    with wk.use_backend("cpu"):
        yield


def declare(rule: Any, kernel: Any, gradient: Any = None) -> None:
    wk.signature("RuleProbe")(rule)
    wk.cpu_kernel("RuleProbe")(kernel)
    if gradient is not None:
        wk.register_gradient("RuleProbe", gradient)


def run(**inputs: Any) -> Any:
    attrs = {name: inputs.pop(name) for name in list(inputs) if name in ("axis", "scale")}
    return wk.engine().run_kernel("RuleProbe", inputs, attrs)


def product(gradient: Any = None) -> None:
    def rule(a: wk.Spec, b: wk.Spec, /, *, scale: float = 1.0) -> wk.Spec:
        return a

    declare(rule, lambda a, b: a * b, gradient)


def slopes(a: Any = 2.0, b: Any = 3.0) -> list[float]:
    return [one.item() for one in wk.grads(lambda x, y: run(a=x, b=y))(a, b)]


def test_one_gradient_per_input_in_order() -> None:
    product(lambda dy, a, b: (dy * b, dy * a))
    assert slopes() == [3.0, 2.0]


def test_gradients_by_name() -> None:
    product(lambda dy, a, b: {"b": dy * a, "a": dy * b})
    assert slopes() == [3.0, 2.0]


def test_a_name_that_is_no_input_is_refused() -> None:
    product(lambda dy, a: {"c": dy * a})
    with pytest.raises(wk.ArgumentError, match="gave 'c'; the inputs are a, b"):
        slopes()


def test_none_means_no_gradient() -> None:
    product(lambda dy, b: (dy * b, None))
    assert wk.grad(lambda x: run(a=x, b=wk.tensor(3.0)))(2.0).item() == 3.0
    with pytest.raises(wk.GradientNotFound, match="does not depend on input 1"):
        slopes()


def test_a_bare_tensor_serves_a_single_input_only() -> None:
    product(lambda dy: dy)
    with pytest.raises(wk.ArgumentError, match="gave 1 values; want one for each of a, b"):
        slopes()


def test_a_gradient_of_the_wrong_shape_is_refused_with_advice() -> None:
    product(lambda dy, a, b: (wk.reshape(dy * b, (1,)), dy * a))
    with pytest.raises(wk.ShapeError, match=r"shape \[1\], its input \[\].*unbroadcast"):
        slopes()


def test_a_gradient_that_is_no_tensor_is_refused() -> None:
    product(lambda dy: (1.0, dy))
    with pytest.raises(wk.ArgumentError, match=r"gave 1\.0; want a tensor"):
        slopes()


def test_parameters_name_inputs_outputs_attributes_and_facts() -> None:
    seen: dict[str, Any] = {}

    def rule(
        arriving: Any, a: Any, y: Any, scale: Any, b_shape: Any, b_dtype: Any, y_shape: Any
    ) -> Any:
        seen.update(locals())
        return arriving * a, None

    product(rule)
    wk.grad(lambda x: run(a=x, b=wk.tensor(3.0), scale=0.5))(2.0)
    assert (seen["a"].item(), seen["y"].item(), seen["scale"]) == (2.0, 6.0, 0.5)
    assert (seen["b_shape"], seen["b_dtype"], seen["y_shape"]) == ((), "float32", ())


def test_double_starred_parameters_get_the_attributes_that_no_other_names() -> None:
    seen: list[dict[str, Any]] = []

    def rule(a: wk.Spec, b: wk.Spec, /, *, axis: int = 1, scale: float = 1.0) -> wk.Spec:
        return a

    def backward(dy: Any, b: Any, axis: Any, **attrs: Any) -> Any:
        seen.append(attrs)
        return lambda: dy * b * axis, None

    declare(rule, lambda a, b: a * b, backward)
    slope = wk.grad(lambda x: run(a=x, b=wk.tensor(3.0), scale=0.5))
    assert (slope(2.0).item(), seen) == (3.0, [{"scale": 0.5}])
    with wk.override_gradient("RuleProbe", lambda dy, **attrs: (dy * attrs["axis"], None)):
        assert slope(2.0).item() == 1.0


def test_an_input_wins_over_an_output_of_the_same_name() -> None:
    def rule(y: wk.Spec, /) -> wk.Spec:
        return y

    declare(rule, lambda y: y * 10, lambda dy, y, out: dy * y + out * 0.0)
    assert wk.grad(lambda x: run(y=x))(3.0).item() == 3.0


def test_an_attribute_wins_over_an_output_of_the_same_name() -> None:
    def rule(x: wk.Spec, /, *, y: float = 2.0) -> wk.Spec:
        return x

    def f(x: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.engine().run_kernel("RuleProbe", {"x": x}, {"y": 3.0})
        return found

    declare(rule, lambda x, *, y: x * y, lambda dy, y: dy * y)
    assert wk.grad(f)(wk.tensor(1.0)).item() == 3.0


def test_a_parameter_that_names_nothing_is_refused_with_those_known() -> None:
    product(lambda dy, z: dy * z)
    with pytest.raises(
        wk.ArgumentError, match="'z' names nothing of the kernel; known: a, b, y, sc"
    ):
        slopes()


def test_a_list_input_has_a_list_of_gradients() -> None:
    def rule(many: list[wk.Spec], one: wk.Spec | None = None, /) -> wk.Spec:
        return many[0]

    def gradient(dy: Any, many: Any, one: Any) -> Any:
        assert one is None
        return [dy * (index + 1.0) for index in range(len(many))], None

    declare(rule, lambda many, one: np.sum(many, axis=0), gradient)
    found = wk.grads(lambda a, b: run(many=[a, b, a]))(1.0, 1.0)
    assert [one.item() for one in found] == [4.0, 2.0]


def test_a_kernel_without_a_gradient_raises_with_the_way_out() -> None:
    product()
    with pytest.raises(
        wk.GradientNotFound,
        match=r"RuleProbe: no gradient is registered.*for 'a' and 'b'.*@gradient\('RuleProbe'\)",
    ):
        slopes()


def test_a_kernel_that_has_none_on_purpose_says_why() -> None:
    product()
    wk.no_gradient("RuleProbe", because="its outputs are places")
    with pytest.raises(wk.GradientNotFound, match="for 'a' and 'b': its outputs are places"):
        slopes()
    assert wk.get_gradient("RuleProbe") is None


def test_it_does_not_raise_where_nobody_asks() -> None:
    product()
    x = wk.tensor(2.0)
    with wk.GradientTape() as tape:
        tape.watch(x)
        run(a=x, b=x)
        y = x * x
    assert tape.gradient(y, x).item() == 4.0


def test_a_rule_is_looked_up_when_the_kernel_runs() -> None:
    product(lambda dy, a, b: (dy * b, dy * a))
    x = wk.tensor(2.0)
    with wk.GradientTape() as tape:
        tape.watch(x)
        y = run(a=x, b=wk.tensor(3.0))
    wk.register_gradient("RuleProbe", lambda dy: (dy * 100.0, None), override=True)
    assert tape.gradient(y, x).item() == 3.0


def test_override_gradient_holds_for_a_block_and_nests() -> None:
    f = wk.grad(wk.square)
    with wk.override_gradient("Square", lambda dy: dy * 7.0):
        assert f(3.0).item() == 7.0
        with wk.override_gradient("Square", lambda dy, x: dy * x):
            assert f(3.0).item() == 3.0
            assert list(wk.gradients_in_force()) == ["Square"]
        assert f(3.0).item() == 7.0
    assert wk.gradients_in_force() == {}
    assert f(3.0).item() == 6.0


def test_override_gradient_serves_a_kernel_that_has_none() -> None:
    product()
    with wk.override_gradient("RuleProbe", lambda dy, b: (dy * b, None)):
        assert wk.grad(lambda x: run(a=x, b=wk.tensor(3.0)))(2.0).item() == 3.0


def test_override_gradient_holds_in_its_thread_only() -> None:
    found = []
    with wk.override_gradient("Square", lambda dy: dy * 7.0):
        thread = threading.Thread(target=lambda: found.append(wk.grad(wk.square)(3.0).item()))
        thread.start()
        thread.join()
    assert found == [6.0]


def test_an_override_is_for_what_runs_inside_not_for_backward() -> None:
    x = wk.tensor(3.0)
    with wk.GradientTape(persistent=True) as tape:
        tape.watch(x)
        before = wk.square(x)
        with wk.override_gradient("Square", lambda dy: dy * 7.0):
            inside = wk.square(x)
    with wk.override_gradient("Square", lambda dy: dy * 100.0):
        assert tape.gradient(before, x).item() == 6.0
    assert tape.gradient(inside, x).item() == 7.0


@pytest.mark.parametrize("name", ["cpu", "webgpu"])
def test_a_gradient_that_nobody_wants_is_not_computed(name: str) -> None:
    with wk.use_backend(name):
        x = wk.tensor([[1.0, 2.0]])
        weights = wk.variable([[1.0], [1.0]])
        with wk.GradientTape() as tape:
            y = x @ weights
        seen = wk.profile(lambda: tape.gradient(y, weights))
        assert seen.result.tolist() == [[1.0], [2.0]]
        assert [row.name for row in seen.kernels].count("BatchMatMul") == 1
