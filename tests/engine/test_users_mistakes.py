"""What users write in signatures, `groups=` and `params=` is answered with errors of ours."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

COPY = """
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&x)) { y[id.x] = x[id.x]; }
}
"""
MAP = "fn op(x: f32) -> f32 {\n  return x * 2.0;\n}\n"


def _run(name: str, x: Any) -> Any:
    return wk.engine().run_kernel(name, {"x": x})


@pytest.mark.parametrize("gives", [None, (3,), "y", {"y": 3}, [None]])
def test_a_signature_that_gives_no_specs_is_named(backend: str, gives: Any) -> None:
    wk.signature("Odd")(lambda x, /: gives)
    wk.cpu_kernel("Odd")(lambda x: x)
    wk.wgsl_kernel("Odd", MAP)
    with pytest.raises(wk.ArgumentError, match=r"Odd: its signature \(.*\) gives .*want a Spec"):
        _run("Odd", [1.0, 2.0])
    assert backend in ("cpu", "webgpu")


@pytest.mark.usefixtures("backend")
def test_a_length_below_0_is_refused_with_the_kernels_name() -> None:
    wk.signature("Odd")(lambda x, /: x.like(shape=(-1,)))
    wk.cpu_kernel("Odd")(lambda x: x)
    wk.wgsl_kernel("Odd", MAP)
    with pytest.raises(wk.ShapeError, match=r"Odd: .* gives the shape \[-1\]; want lengths of 0"):
        _run("Odd", [1.0])


@pytest.mark.usefixtures("backend")
def test_a_list_of_numbers_is_one_tensor_without_a_signature_too() -> None:
    wk.cpu_kernel("Twice")(lambda x: x * 2)
    wk.wgsl_kernel("Twice", MAP)
    assert _run("Twice", [1.0, 2.0]).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("word", ["groups", "params"])
@pytest.mark.parametrize("given", [5, (1, 1, 1), "abc"])
def test_what_is_no_function_is_refused_at_registration(word: str, given: Any) -> None:
    with pytest.raises(wk.ArgumentError, match=f"Odd: {word} is .*want a function"):
        wk.wgsl_kernel("Odd", COPY, **{word: given})


@pytest.mark.gpu
@pytest.mark.parametrize("given", [None, [1], {1: 1}])
def test_params_that_are_no_fields_are_refused(given: Any) -> None:
    wk.signature("Odd")(lambda x, /: x.like())
    wk.wgsl_kernel("Odd", COPY, params=lambda: given)
    with wk.use_backend("webgpu"), pytest.raises(wk.ArgumentError, match="Odd: params= gave"):
        _run("Odd", np.ones(5, np.float32))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("element", ["T", "vec4<T>", "vec2<T>"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_one_number_of_the_host_is_read_by_a_main_of_ones_own(
    shape: tuple[int, ...], element: str, dtype: Any
) -> None:
    wk.signature("Copied")(lambda x, /: x.like())
    read = "x[id.x]" if element == "T" else "x[0][id.x]"
    text = COPY.replace("read> x: array<T>", f"read> x: array<{element}>")
    wk.wgsl_kernel("Copied", text.replace("= x[id.x]", f"= {read}"), dtypes=(dtype,))
    with wk.use_backend("webgpu"):
        if not wk.tensor([0.0])._driver.supports(dtype):
            return
        assert _run("Copied", wk.tensor(np.full(shape, 3), dtype=dtype)).tolist() == (
            3 if shape == () else [3]
        )


@pytest.mark.gpu
def test_an_initial_value_of_any_size_is_refused_by_its_dtype() -> None:
    wk.signature("Odd")(lambda x, /: x.like(dtype="int32"))
    wk.wgsl_kernel("Odd", COPY.replace("y: array<T>", "y: array<i32>"), init={"y": 10**400})
    with wk.use_backend("webgpu"), pytest.raises(wk.ArgumentError, match="int32 goes from"):
        _run("Odd", wk.tensor([1, 2]))


def test_a_model_with_a_captured_step_is_copied_and_pickled(backend: str) -> None:
    model = _Model()
    model.step(wk.tensor([1.0]))
    twins = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for twin in twins:
        assert twin.step(wk.tensor([1.0])).tolist() == [2.0]
        assert twin.w.tolist() == [2.0]
    assert model.w.tolist() == [1.0]
    assert backend in ("cpu", "webgpu")


class _Model:
    """A model that holds its captured step, which holds the model."""

    def __init__(self) -> None:
        self.w = wk.variable([0.0])
        self.step = wk.capture(self._step)

    def _step(self, x: wk.Tensor) -> wk.Tensor:
        self.w.assign(self.w + x)
        return self.w + 0.0
