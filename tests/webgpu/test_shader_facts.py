"""Facts of tensors reach maps and reductions too; full control takes lists as parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry import gradients, registry, signature

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu
ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
SUM = """
struct Attrs { bias: f32, x_size: u32 }
fn init() -> f32 { return 0.0; }
fn lift(x: f32) -> f32 { return x; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn finish(total: f32) -> f32 { return total + attrs.bias + f32(attrs.x_size); }
"""


@pytest.fixture(autouse=True)
def _registries_as_before() -> Iterator[None]:
    tables: Any = (registry._kernels, signature._signatures, gradients._rules)
    before = [dict(one) for one in tables]
    with wk.use_backend("webgpu"):
        yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    registry.announce_change()


def run(name: str, x: Any, **attrs: Any) -> Any:
    return wk.engine().run_kernel(name, {"x": wk.tensor(x)}, attrs).tolist()


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("x_shape: vec2<u32>", "attrs.x_shape.y", 3.0),
        ("x_shape: array<vec4<u32>, 2>", "attrs.x_shape[1].z", 2.0),
        ("x_size: u32", "attrs.x_size", 6.0),
        ("y_shape: vec2<u32>", "attrs.y_shape.x", 2.0),
    ],
)
def test_a_map_reads_facts_of_tensors(field: str, value: str, expected: float) -> None:
    wk.signature("Fact")(lambda x, /: x.like())
    text = f"struct Attrs {{ {field} }}\nfn op(x: T) -> T {{ return f32({value}) + 0.0 * x; }}"
    wk.wgsl_kernel("Fact", text)
    assert run("Fact", ROWS) == [[expected] * 3] * 2


def test_params_of_a_map_may_ask_for_shapes() -> None:
    wk.signature("Padded")(lambda x, /, *, pad="same": x.like())
    wk.wgsl_kernel(
        "Padded",
        "struct Attrs { pad_top: f32 }\nfn op(x: T) -> T { return x + attrs.pad_top; }",
        params=lambda pad, x_shape: {"pad_top": x_shape[0] if pad == "same" else 0},
    )
    assert run("Padded", [1.0, 2.0]) == [3.0, 4.0]
    assert run("Padded", [1.0, 2.0], pad="valid") == [1.0, 2.0]


def test_a_reduction_has_params_and_facts() -> None:
    wk.signature("Biased")(lambda x, /, *, axis=None: wk.Spec((), x.dtype))
    wk.wgsl_kernel("Biased", SUM, params=lambda x_shape: {"bias": 100 * x_shape[1]})
    assert run("Biased", ROWS) == 15.0 + 300.0 + 6.0


def test_a_field_that_nothing_fills_lists_no_names_of_the_composer() -> None:
    wk.signature("Zork")(lambda x, /: x.like())
    wk.wgsl_kernel("Zork", "struct Attrs { zork: f32 }\nfn op(x: T) -> T { return attrs.zork; }")
    with pytest.raises(wk.ShaderError, match=r"'zork' matches no attr.*known: ") as caught:
        run("Zork", [1.0, 2.0])
    assert "wk_" not in str(caught.value)


def test_full_control_takes_lists_and_arrays_as_parameters() -> None:
    wk.signature("Scaled")(lambda x, /: x.like())
    shader = """
struct P { k: vec2<f32>, n: vec2<f32> }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&b)) { b[id.x] = a[id.x] * p.k.y + p.n.x; }
}
"""

    @wk.wgsl_kernel("Scaled")
    def _scaled(gpu: Any, x: Any) -> Any:
        y = gpu.empty(x.shape, x.dtype)
        params = {"k": [1.0, 2.0], "n": np.array([3.0, 4.0])}
        gpu.dispatch(shader, {"a": x, "b": y}, params=params, groups=[1])
        return y

    assert run("Scaled", [1.0, 2.0]) == [5.0, 7.0]


def test_results_that_differ_in_dtype_are_a_dtype_error() -> None:
    wk.signature("Kept")(lambda x, /: x.like(dtype="int32"))
    wk.wgsl_kernel("Kept")(lambda gpu, x: x)
    with pytest.raises(wk.DTypeError, match=r"gave \[2\] float32, its signature says \[2\] int32"):
        run("Kept", [1.0, 2.0])


BINDINGS = """
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&y)) { y[id.x] = x[id.x]; }
}
"""


@pytest.mark.parametrize("groups", [(1.5,), (), (1, 1, 1, 1), 5, None, "a"])
def test_a_grid_is_one_to_three_whole_numbers(groups: Any) -> None:
    wk.signature("Grid")(lambda x, /: x.like())
    wk.wgsl_kernel("Grid", BINDINGS, groups=lambda: groups)
    with pytest.raises(wk.ArgumentError, match="want one to three whole numbers"):
        run("Grid", [1.0, 2.0])


def test_a_shader_may_not_write_to_an_input() -> None:
    wk.signature("Greedy")(lambda x, /: x.like())
    wk.wgsl_kernel("Greedy", BINDINGS.replace("storage, read>", "storage, read_write>"))
    with pytest.raises(wk.ShaderError, match="input 'x' is read_write, but tensors never change"):
        run("Greedy", [1.0, 2.0])


@pytest.mark.parametrize("view", [False, True])
def test_full_control_may_not_write_to_an_input(view: bool) -> None:
    wk.signature("Greedy")(lambda x, /: x.like())

    @wk.wgsl_kernel("Greedy")
    def _greedy(gpu: Any, x: Any) -> Any:
        target = gpu.view(x, (2,), (1,), 0) if view else x
        gpu.dispatch(BINDINGS, {"x": gpu.empty((2,), "float32"), "y": target}, groups=(1,))
        return x

    x = wk.tensor([1.0, 2.0]) * 2.0
    with pytest.raises(wk.ArgumentError, match="writes y, which is an input"):
        wk.engine().run_kernel("Greedy", {"x": x})
    assert x.tolist() == [2.0, 4.0]


def test_an_attribute_that_has_no_room_in_32_bits_is_refused() -> None:
    wk.signature("Wide")(lambda x, /, *, k: x.like())
    wk.wgsl_kernel("Wide", "struct Attrs { k: i32 }\nfn op(x: T) -> T { return f32(attrs.k); }")
    assert run("Wide", [0.0, 0.0], k=-3) == [-3.0, -3.0]
    with pytest.raises(wk.ShaderError, match="'k' is i32; k is 1099511627776"):
        run("Wide", [0.0, 0.0], k=1 << 40)


def test_full_control_must_return_arrays() -> None:
    wk.signature("Forgot")(lambda x, /: x.like())
    wk.wgsl_kernel("Forgot")(lambda gpu, x: None)
    with pytest.raises(wk.ArgumentError, match=r"gave a NoneType; want an array, as gpu\.empty"):
        run("Forgot", [1.0])
