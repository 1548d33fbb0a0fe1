"""Free kernels: parameters by name, accessors, optional inputs, reports, reserved names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.webgpu.lab import Array, inline, lab, operand, strides_of, values_of

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.composing.text.composed import uniform_head
from wgsl_kernels.backends.webgpu.composing.text.operands import (
    Operand,
    allowed_access,
    allowed_dtypes,
)
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.engine.registry.snapshot import take_snapshot

pytestmark = pytest.mark.gpu

DECLARED = """
struct Params {
  x_shape: vec4<u32>, // padded in front
  x_strides: array<vec4<u32>, 2>,
  x_offset: u32,
  x_size: u32,
  y_shape: vec2<u32>,
  alpha: f32,
  flag: u32,
  steps: vec3<i32>,
  pad_top: i32,
}
@group(0) @binding(5) var<uniform> params: Params;
@group(1) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(0) var<storage, read> x: array<T>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let rows = params.y_shape[0];
  if (id.y >= rows || id.x >= params.y_shape[1]) { return; }
  let at = params.x_offset + id.y * params.x_strides[1].z + id.x * params.x_strides[1].w;
  var v = x[at] * params.alpha + f32(params.steps.z + params.pad_top);
  v += f32(params.flag) + f32(params.x_size) + f32(params.x_shape[0] + params.x_shape[1]);
  y[id.y * params.y_shape[1] + id.x] = v + f32(x_rank);
}
"""
COPY = """
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= SIZE) { return; }
  let c = coords_y(id.x);
  var bias = 0.0;
  if (has_bias) { bias = load_bias(c[1]); }
  store_y(id.x, load_x(id.x) + load_x_at(c) + bias);
}
"""
GATHER = """
struct Params { x_size: u32, y_size: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= params.y_size) { return; }
  let at = load_indices(id.x);
  if (at < 0 || u32(at) >= params.x_size) {
    report_index(at);
    store_y(id.x, 0.0);
    return;
  }
  store_y(id.x, load_x(u32(at)));
}
"""


def test_bindings_are_renumbered_and_every_field_is_filled() -> None:
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    view = base[4::-2, 1::3]
    want = view * np.float32(0.5) + (3 - 2) + 1 + view.size + (1 + 1) + 2
    composed = compose(
        "Probe",
        inline(DECLARED),
        [operand("x", view, "strided")],
        [operand("y", view)],
        attrs=("alpha", "flag", "steps", "pad_top"),
    )
    assert [(b.name, b.number, b.access) for b in composed.bindings] == [
        ("x", 0, "read"),
        ("y", 1, "read_write"),
        ("wk_params", 2, "uniform"),
    ]
    assert composed.workgroup_size == (8, 8, 1)
    facts = {
        "x_shape": view.shape,
        "x_strides": strides_of(view),
        "x_offset": 41,
        "x_size": view.size,
        "y_shape": view.shape,
        "alpha": 0.5,
        "flag": True,
        "steps": (1, 2, 3),
        "pad_top": -2,
    }
    assert set(composed.wanted) == set(facts)
    y = np.zeros(view.shape, np.float32)
    found = lab().run(composed, {"x": base.reshape(-1), "y": y}, facts)
    np.testing.assert_array_equal(values_of(found["y"], y), want)
    assert allowed_access(inline(DECLARED), "x") == {"flat", "strided"}
    assert allowed_access(inline(COPY), "x") == {"flat", "strided", "value"}


def test_a_block_that_comes_with_the_dispatch_changes_nothing_but_its_declaration() -> None:
    x, indices = np.zeros(5, np.float32), np.zeros(4, np.int32)
    inputs = [operand("x", x), operand("indices", indices)]
    composed = compose("Probe", inline(GATHER), inputs, [operand("y", np.zeros(4, np.float32))])
    text = composed.with_immediates()
    assert composed.immediate_size == composed.params_size == 16
    number = next(one.number for one in composed.bindings if one.role == "params")
    assert f"@binding({number})" not in text
    begin = text.index("var<immediate>")
    end = begin + len(uniform_head(number))
    assert text[:begin] == composed.text[:begin]
    assert text[end:] == composed.text[end:]


@pytest.mark.parametrize(
    ("field", "more"),
    [
        ("half: f16", ""),
        ("size: u32", "fn size_in(p: ptr<uniform, P>) -> u32 { return (*p).size; }\n"),
    ],
)
def test_a_block_with_halves_or_pointers_into_it_stays_in_a_buffer(field: str, more: str) -> None:
    text = (
        f"enable f16;\nstruct P {{ {field} }}\n@group(0) @binding(0) var<uniform> p: P;\n{more}"
        "@compute @workgroup_size(1) fn main() { store_y(0u, load_x(0u)); }\n"
    )
    x = np.zeros(3, np.float32)
    attrs = ("half", "size")
    composed = compose("Probe", inline(text), [operand("x", x)], [operand("y", x)], attrs=attrs)
    assert composed.immediate_size == 0


@pytest.mark.parametrize("bias_access", ["flat", "value", "absent"])
@pytest.mark.parametrize("strided", [False, True])
def test_accessors_read_views_values_and_absent_inputs(strided: bool, bias_access: Any) -> None:
    base = np.random.default_rng(1).uniform(-1, 1, (5, 3, 4)).astype(np.float32)
    x = base.transpose(2, 0, 1)[::-1] if strided else base
    bias = np.arange(x.shape[1], dtype=np.float32)
    y = np.zeros(x.shape, np.float32)
    facts = {
        "x_shape": x.shape,
        "x_strides": strides_of(x),
        "x_offset": 3 if strided else 0,
        "y_shape": y.shape,
        "bias_value": 2.5,
    }
    composed = compose(
        "Copy",
        inline(COPY.replace("SIZE", f"{x.size}u")),
        [operand("x", x, "strided" if strided else "flat"), operand("bias", bias, bias_access)],
        [operand("y", y)],
    )
    names = [b.name for b in composed.bindings]
    assert ("bias" in names) == (bias_access == "flat")
    found = lab().run(composed, {"x": base.reshape(-1), "bias": bias, "y": y}, facts)
    added: Any = {"flat": bias[:, None], "value": 2.5, "absent": 0}[bias_access]
    np.testing.assert_array_equal(values_of(found["y"], y), x + x + added)


def test_four_at_a_time_and_rank_zero() -> None:
    text = """
@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) lane: u32) {
  let c = coords_s(0u);
  store4_y(lane * 4u, load4_x(lane * 4u) * load_s_at(c) + f32(s_rank));
}
"""
    x, s = np.arange(14, dtype=np.float32), np.array(2, np.float32)
    for access in ("flat", "strided"):
        inputs = [operand("x", x, access), operand("s", s, access)]
        composed = compose("Four", inline(text), inputs, [operand("y", x)])
        facts = {"x_shape": (14,), "x_strides": (1,), "x_offset": 0, "s_offset": 0, "y_size": 14}
        found = lab().run(composed, {"x": x, "s": s.reshape(1), "y": x}, facts)
        np.testing.assert_array_equal(values_of(found["y"], x), x * 2)


def test_an_array_is_bound_as_vec4_where_all_is_moved_in_fours() -> None:
    text = """
@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) lane: u32) { store4_y(lane * 4u, load4_x(lane * 4u)); }
fn other() -> f32 { return load_x(0u); }
"""
    inputs = [Operand("x", "float32", 1)]
    outputs = [Operand("y", "float32", 1)]
    composed = compose("Four", inline(text), inputs, outputs)
    assert {one.name: one.stride for one in composed.bindings if one.role == "tensor"} == {
        "x": 4,
        "y": 16,
    }


def test_an_absent_input_that_the_text_names_is_bound_to_anything() -> None:
    text = """
@group(0) @binding(0) var<storage, read> bias: array<f32>;
@compute @workgroup_size(1)
fn main() { if (has_bias) { store_y(0u, bias[0]); } else { store_y(0u, 7.0); } }
"""
    y = np.zeros(1, np.float32)
    inputs = [Operand("bias", "float32", 0, "absent")]
    composed = compose("Bias", inline(text), inputs, [operand("y", y)])
    assert [b.is_absent for b in composed.bindings] == [True, False, False]
    assert values_of(lab().run(composed, {"y": y}, {})["y"], y) == 7


def test_bad_indices_are_reported_with_input_and_value() -> None:
    x = np.arange(5, dtype=np.float32)
    indices = np.array([0, 4, -3, 2], np.int32)
    y = np.full(4, 9, np.float32)
    composed = compose(
        "Gather",
        inline(GATHER),
        [operand("x", x), operand("indices", indices)],
        [operand("y", y)],
    )
    assert composed.uses_status
    status = np.zeros(16, np.uint32)
    facts = {"x_size": 5, "y_size": 4, "wk_status_slot": 3}
    arrays = {"x": x, "indices": indices, "y": y, "wk_status": status}
    found = lab().run(composed, arrays, facts)
    np.testing.assert_array_equal(values_of(found["y"], y), [0, 4, 0, 2])
    words = np.frombuffer(found["wk_status"], np.int32)
    assert words[6:8].tolist() == [2, -3]
    assert not words[:6].any()


def test_reports_may_name_their_input() -> None:
    text = "@compute @workgroup_size(1)\nfn main() { report_index_of_b(5); store_y(0u, 1.0); }\n"
    y = np.zeros(1, np.float32)
    composed = compose("Probe", inline(text), [operand("a", y), operand("b", y)], [operand("y", y)])
    found = lab().run(
        composed, {"y": y, "wk_status": np.zeros(4, np.uint32)}, {"wk_status_slot": 0}
    )
    assert np.frombuffer(found["wk_status"], np.int32)[:2].tolist() == [2, 5]
    lone = inline(text.replace("_of_b", ""))
    with pytest.raises(ShaderError, match="no input is called 'indices'"):
        compose("Probe", lone, [operand("a", y)], [operand("y", y)])


def test_reserved_names_take_an_underscore() -> None:
    text = """
struct Params { filter__shape: vec2<u32>, target_: f32 }
@group(0) @binding(0) var<storage, read> filter_: array<T_filter>;
@group(0) @binding(1) var<uniform> params: Params;
@compute @workgroup_size(1)
fn main() {
  store_y(0u, filter_[params.filter__shape[1]] + params.target_ + f32(filter__rank));
}
"""
    w = np.arange(12, dtype=np.float32).reshape(4, 3)
    y = np.zeros(1, np.float32)
    composed = compose(
        "Conv2D", inline(text), [operand("filter", w)], [operand("y", y)], attrs=("target",)
    )
    found = lab().run(composed, {"filter": w, "y": y}, {"filter_shape": w.shape, "target": 0.5})
    assert values_of(found["y"], y) == 3 + 0.5 + 2


def test_overrides_size_the_workgroup_and_its_memory() -> None:
    text = """
override LANES: u32 = 4u;
const TILE = 2u * 8u;
struct Pair { a: f32, b: vec3<f32> }
var<workgroup> tile: array<array<f32, TILE + 1>, TILE>;
var<workgroup> pairs: array<Pair, LANES << 1>;
@compute @workgroup_size(LANES, min(TILE, 2u))
fn main(@builtin(local_invocation_index) lane: u32) {
  tile[lane][0] = f32(lane); pairs[lane].a = 1.0;
  workgroupBarrier();
  if (lane == 0u) { store_y(0u, tile[LANES * 2u - 1u][0] + pairs[0].a); }
}
"""
    y = np.zeros(1, np.float32)
    composed = compose("Probe", inline(text), [], [operand("y", y)], constants={"LANES": 8})
    assert composed.workgroup_size == (8, 2, 1)
    assert composed.workgroup_bytes == 17 * 16 * 4 + 16 * 32
    found = lab().run(composed, {"y": y}, {}, constants={"LANES": 8})
    assert values_of(found["y"], y) == 16


def test_storage_types_of_bool_and_complex() -> None:
    text = """
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read> mask: array<T_mask>;
@compute @workgroup_size(1)
fn main() { store_y(0u, x[0] * f32(mask[0]) + load_mask_value()); }
fn load_mask_value() -> vec2<f32> { return vec2<f32>(hold(1.0), 0.0); }
"""
    x = np.array([1 + 2j], np.complex64)
    mask = np.array([True])
    composed = compose(
        "Probe", inline(text), [operand("x", x), operand("mask", mask)], [operand("y", x)]
    )
    found = lab().run(composed, {"x": x, "mask": mask, "y": x}, {})
    assert values_of(found["y"], x)[0] == 2 + 2j


def test_pairs_are_not_loaded_four_at_a_time() -> None:
    text = "@compute @workgroup_size(1)\nfn main() { store_y(0u, load4_x(0u)[0]); }\n"
    x = np.zeros(4, np.complex64)
    with pytest.raises(ShaderError, match="nothing is called 'load4_x' here"):
        compose("Probe", inline(text), [operand("x", x)], [operand("y", x)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("struct P { alfa: f32 }\n@group(0) @binding(0) var<uniform> p: P;\n",
         "Relu: shader field 'alfa' matches no attr or tensor fact; known: alpha, x_shape, "
         "y_shape.\n  <inline in test:1>:1:12\n    struct P { alfa: f32 }\n               ^"),
        ("struct P { m: mat2x2<f32> }\n@group(0) @binding(0) var<uniform> p: P;\n",
         "a shader field of type mat2x2<f32> cannot be filled"),
        ("@group(0) @binding(0) var<uniform> p: f32;\n", "uniform 'p' is f32; want a struct"),
        ("@group(0) @binding(0) var<storage, read> z: array<f32>;\n",
         "binding 'z' names no input or output; known: x, y."),
        ("@group(0) @binding(0) var<storage, read> x: array<i32>;\n",
         "x is declared array<i32>, but x is float32 (f32)."),
        ("@group(0) @binding(0) var<storage, read> y: array<f32>;\n",
         "output 'y' is read-only; want read_write."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_line(text: str, message: str) -> None:
    x = np.zeros(3, np.float32)
    source = inline(text + "@compute @workgroup_size(1)\nfn main() { store_y(0u, 1.0); }\n")
    with pytest.raises(ShaderError) as caught:
        compose("Relu", source, [operand("x", x)], [operand("y", x)], attrs=("alpha",))
    assert message in str(caught.value)
    assert "<inline in test:1>:" in str(caught.value)


def test_an_output_that_nothing_writes_is_refused() -> None:
    y = np.zeros(1, np.float32)
    with pytest.raises(ShaderError, match="writes no output 'y'; declare the binding, or call"):
        compose("P", inline("@compute @workgroup_size(1)\nfn main() {}\n"), [], [operand("y", y)])


def test_a_size_that_needs_a_constant_says_so() -> None:
    text = "override N: u32;\n@compute @workgroup_size(N)\nfn main() { store_y(0u, 1.0); }\n"
    y = np.zeros(1, np.float32)
    with pytest.raises(ShaderError, match="'N' has no value that is known"):
        compose("P", inline(text), [], [operand("y", y)])


def test_one_of_several_entry_points_can_be_chosen() -> None:
    text = """
@compute @workgroup_size(1) fn one() { store_y(0u, 1.0); }
@compute @workgroup_size(2) fn two() { store_y(0u, 2.0); }
"""
    y: Array = np.zeros(1, np.float32)
    composed = compose("P", inline(text), [], [operand("y", y)], options=Options(entry="two"))
    assert composed.workgroup_size == (2, 1, 1)
    assert values_of(lab().run(composed, {"y": y}, {})["y"], y) == 2
    with pytest.raises(ShaderError, match="has no entry point 'three'; found one, two"):
        compose("P", inline(text), [], [operand("y", y)], options=Options(entry="three"))


def test_written_types_say_which_dtypes_are_served() -> None:
    assert allowed_dtypes(inline(DECLARED), "y") == {"float32"}
    assert "int32" in allowed_dtypes(inline(DECLARED), "x")


@pytest.mark.parametrize("name", ["T", "main", "hold", "T_x", "has_y", "Coords_x"])
@pytest.mark.parametrize("form", ["map", "free"])
def test_an_input_may_be_called_what_the_text_has(form: str, name: str) -> None:
    """Its array then has another name."""
    text = f"fn op({name}: f32) -> f32 {{ return {name} + 1.0; }}\n"
    if form == "free":
        inside = f"if (id.x < 4u) {{ store_y(id.x, load_{name}(id.x) + 1.0); }}"
        text = f"""
        @compute @workgroup_size(4)
        fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ {inside} }}
        """
    before = take_snapshot()
    try:
        wk.signature("Named")(eval(f"lambda {name}, /: {name}.like()"))
        wk.wgsl_kernel("Named", text)
        with wk.use_backend("webgpu"):
            found = wk.engine().run_kernel("Named", {name: wk.tensor([0.0, 1.0, 2.0, 3.0])})
        assert isinstance(found, wk.Tensor)
        assert found.tolist() == [1.0, 2.0, 3.0, 4.0]
    finally:
        before.restore()
