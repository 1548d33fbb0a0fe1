"""Signatures: which inputs and attributes pass, and what comes out of a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.environment.parameters import takes


@pytest.fixture(autouse=True)
def _on_cpu() -> Any:
    with wk.use_backend("cpu"):
        yield


def declare(rule: Any, kernel: Any, **options: Any) -> None:
    wk.signature("SignatureProbe", **options)(rule)
    wk.cpu_kernel("SignatureProbe")(kernel)


def run(inputs: dict[str, Any], **attrs: Any) -> Any:
    return wk.engine().run_kernel("SignatureProbe", inputs, attrs)


def scaled() -> None:
    def rule(x: wk.Spec, /, *, factor: float, bias: float = 0.0) -> wk.Spec:
        return x

    declare(rule, lambda x, *, factor, bias: x * np.float32(factor) + np.float32(bias))


def test_attributes_have_defaults() -> None:
    scaled()

    assert run({"x": wk.tensor([1.0])}, factor=3.0).tolist() == [3.0]
    assert run({"x": wk.tensor([1.0])}, factor=3.0, bias=1.0).tolist() == [4.0]


def test_a_missing_attribute_is_named() -> None:
    scaled()
    with pytest.raises(wk.ArgumentError, match="SignatureProbe: attribute 'factor' is missing"):
        run({"x": 1.0})


def test_an_unknown_attribute_is_named_with_those_known() -> None:
    scaled()
    with pytest.raises(wk.ArgumentError, match="'weight' is unknown; known: factor, bias"):
        run({"x": 1.0}, weight=1.0)


def test_a_missing_input_is_named() -> None:
    scaled()
    with pytest.raises(wk.ArgumentError, match="input 'x' is missing"):
        run({}, factor=1.0)


def test_an_unknown_input_is_named_with_those_known() -> None:
    scaled()
    with pytest.raises(wk.ArgumentError, match="input 'z' is unknown; known: x"):
        run({"x": 1.0, "z": 1.0}, factor=1.0)


def test_attributes_arrive_as_plain_python() -> None:
    seen = []

    def rule(x: wk.Spec, /, *, axes: Any, size: Any) -> wk.Spec:
        seen.append((axes, size, type(axes[0]), type(size)))
        return x

    declare(rule, lambda x: x)
    run({"x": 1.0}, axes=[np.int64(1), 2], size=np.float32(0.5))
    assert seen == [((1, 2), 0.5, int, float)]


def test_a_tensor_is_no_attribute() -> None:
    scaled()
    with pytest.raises(wk.ArgumentError, match="factor is a tensor, but it is an attribute"):
        run({"x": 1.0}, factor=wk.tensor(1.0))


def test_attributes_that_are_equal_but_not_the_same_run_apart() -> None:
    def rule(x: wk.Spec, /, *, value: Any) -> wk.Spec:
        return x

    declare(rule, lambda x, *, value: np.full(x.shape, np.copysign(1, value), np.float32))
    assert run({"x": 1.0}, value=0.0).item() == 1.0
    assert run({"x": 1.0}, value=-0.0).item() == -1.0


def test_promote_casts_to_the_common_dtype_as_recorded_runs() -> None:
    def rule(a: wk.Spec, b: wk.Spec, /) -> wk.Spec:
        assert a.dtype == b.dtype
        return a

    declare(rule, lambda a, b: a + b, promote=("a", "b"))
    whole, real = wk.tensor([1, 2]), wk.tensor([0.5, 0.5])
    assert run({"a": whole, "b": real}).dtype == "float32"
    assert run({"a": whole, "b": whole}).dtype == "int32"
    assert run({"a": wk.tensor([True, False]), "b": whole}).tolist() == [2, 2]
    assert run({"a": real, "b": wk.tensor([1j, 2j])}).dtype == "complex64"


def test_list_inputs_stand_beside_others() -> None:
    def rule(many: list[wk.Spec], one: wk.Spec, /) -> wk.Spec:
        return one.like(shape=(len(many),))

    declare(rule, lambda many, one: np.array([m.sum() for m in many], np.float32) * one)
    x = wk.tensor([1.0, 2.0])
    assert run({"many": [x, x, wk.tensor(5.0)], "one": wk.tensor(2.0)}).tolist() == [6.0, 6.0, 10.0]
    with pytest.raises(wk.ArgumentError, match="input 'many' wants a list of tensors"):
        run({"many": x, "one": x})


def test_an_input_with_a_default_may_be_absent() -> None:
    def rule(x: wk.Spec, bias: wk.Spec | None = None, /) -> wk.Spec:
        return x

    declare(rule, lambda x, bias: x if bias is None else x + bias)
    x = wk.tensor([1.0])
    assert run({"x": x}).tolist() == [1.0]
    assert run({"x": x, "bias": None}).tolist() == [1.0]
    assert run({"x": x, "bias": wk.tensor([2.0])}).tolist() == [3.0]


def test_a_tuple_or_list_of_specs_gives_a_tuple_whatever_its_length() -> None:
    def rule(x: wk.Spec, /, *, count: int) -> list[wk.Spec]:
        return [x] * count

    declare(rule, lambda x, *, count: (x,) * count)
    for count in (0, 1, 3):
        found = run({"x": 2.0}, count=count)
        assert isinstance(found, tuple)
        assert [one.item() for one in found] == [2.0] * count


def test_a_dict_of_specs_names_the_outputs() -> None:
    def rule(x: wk.Spec, /) -> dict[str, wk.Spec]:
        return {"small": x, "large": x}

    declare(rule, lambda x: (x, x * 10))
    wk.register_gradient("SignatureProbe", lambda dys, large: dys[0] + large)
    small, large = run({"x": 2.0})
    assert (small.item(), large.item()) == (2.0, 20.0)
    slope = wk.grad(lambda x: wk.engine().run_kernel("SignatureProbe", {"x": x})[0])
    assert slope(wk.tensor(2.0)).item() == 21.0


def test_a_wrong_count_shape_or_dtype_from_the_kernel_is_an_error() -> None:
    def rule(x: wk.Spec, /) -> wk.Spec:
        return x

    declare(rule, lambda x: (x, x))
    with pytest.raises(wk.ArgumentError, match="gave 2 outputs, its signature says 1"):
        run({"x": 1.0})
    wk.register_kernel("SignatureProbe", "cpu", lambda x: x[None], override=True)
    with pytest.raises(wk.ShapeError, match=r"gave shape \[1\], its signature says \[\]"):
        run({"x": 1.0})
    wk.register_kernel("SignatureProbe", "cpu", lambda x: x.astype(np.int32), override=True)
    with pytest.raises(wk.DTypeError, match="gave dtype int32, its signature says float32"):
        run({"x": 1.0})


def test_a_length_that_is_not_known_before_is_checked_after() -> None:
    def rule(x: wk.Spec, /) -> wk.Spec:
        return x.like(shape=(None, 2))

    declare(rule, lambda x: np.zeros((int(x), 2), np.float32))
    assert run({"x": 3.0}).shape == (3, 2)
    wk.register_kernel(
        "SignatureProbe", "cpu", lambda x: np.zeros((3, 4), np.float32), override=True
    )
    with pytest.raises(wk.ArgumentError, match=r"gave \[Spec\(\[3, 4\].*signature says"):
        run({"x": 3.0})


def test_without_a_signature_outputs_are_what_the_kernel_returns() -> None:
    wk.register_kernel("SignatureProbe", "cpu", lambda x: (x.astype(np.int32), x.sum()))

    whole, total = run({"x": wk.tensor([1.5, 2.5])})
    assert (whole.dtype, whole.tolist()) == ("int32", [1, 2])
    assert (total.shape, total.item()) == ((), 4.0)


def test_too_many_inputs_are_refused() -> None:
    from wgsl_kernels.engine.execution.run import run as run_positional

    with pytest.raises(wk.ArgumentError, match="Square: got 2 inputs; want x"):
        run_positional("Square", wk.tensor(1.0), wk.tensor(1.0))


def test_inputs_left_out_at_the_end_are_absent() -> None:
    from wgsl_kernels.engine.execution.run import run as run_positional

    def rule(x: wk.Spec, bias: wk.Spec | None = None, /) -> wk.Spec:
        return x

    declare(rule, lambda x, bias: x if bias is None else x + bias)
    for _ in range(2):
        assert run_positional("SignatureProbe", wk.tensor(1.0)).item() == 1.0


def test_attributes_that_a_class_declares_come_before_others_with_defaults() -> None:
    class Window:
        width: int
        pad: str = "none"

    @takes(Window, pad="same")
    def rule(x: wk.Spec, /, *, axis: int, scale: float = 1.0, **window: Any) -> wk.Spec:
        return x.like(shape=(window["width"],)) if window["pad"] == "same" else x

    declare(rule, lambda x, *, width: x[:width])
    x = wk.tensor([1.0, 2.0])
    assert run({"x": x}, axis=0, width=1).tolist() == [1.0]
    with pytest.raises(wk.ArgumentError, match="known: axis, width, pad, scale"):
        run({"x": x}, axis=0, size=1)
    with pytest.raises(wk.ArgumentError, match="attribute 'width' is missing"):
        run({"x": x}, axis=0)
    with pytest.raises(wk.ArgumentError, match="width is 'wide'; want an integer"):
        run({"x": x}, axis=0, width="wide")


def test_a_signature_is_declared_once() -> None:
    with pytest.raises(wk.AlreadyRegistered, match="signature 'Add' is already registered by"):
        wk.signature("Add")(lambda x, /: x)


def test_an_input_may_be_called_kernel() -> None:
    @wk.op("SignatureProbeOfKernel")
    def probe(x: wk.TensorLike, kernel: wk.TensorLike) -> Any:
        """Return x + kernel."""

    wk.cpu_kernel("SignatureProbeOfKernel")(lambda x, kernel: x + kernel)
    assert probe(wk.tensor([1.0, 2.0]), wk.tensor(3.0)).tolist() == [4.0, 5.0]
