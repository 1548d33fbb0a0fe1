"""Maps: every access, dtype and option gives what NumPy gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.webgpu.lab import inline, lab, operand, run_map

from wgsl_kernels.backends.webgpu.composing.compose import Options, compose
from wgsl_kernels.backends.webgpu.composing.text.instance import MAP
from wgsl_kernels.backends.webgpu.composing.text.operands import Operand, allowed_dtypes
from wgsl_kernels.engine.environment.errors import ShaderError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composed import Composed

pytestmark = pytest.mark.gpu

ADD = "fn op(a: T, b: T) -> T { return a + b; }\n"
VEC4 = Options(loop=MAP.given(VEC4=True))
RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


@pytest.mark.parametrize("vec4", [False, True], ids=["scalar", "vec4"])
@pytest.mark.parametrize("size", [1, 3, 4, 5, 255, 1030])
@pytest.mark.parametrize("run_bits", [3, 31])
def test_a_unary_map_covers_every_element(size: int, run_bits: int, *, vec4: bool) -> None:
    x, options = floats(size), Options(loop=MAP.given(VEC4=vec4, RUN_BITS=run_bits))
    y = run_map("fn op(x: T) -> T { return -x; }\n", {"x": x}, x, options=options)
    np.testing.assert_array_equal(y, -x)


def test_a_vec4_map_says_so_and_binds_vectors() -> None:
    def check(composed: Composed) -> None:
        assert composed.vec4
        assert "array<vec4<f32>>" in composed.text

    x = floats(7)
    run_map("fn op(x: T) -> T { return -x; }\n", {"x": x}, x, options=VEC4, check=check)


def test_binary_maps_broadcast_and_take_views() -> None:
    a, b = floats(3, 1, 5), floats(4, 1)
    np.testing.assert_array_equal(run_map(ADD, {"a": a, "b": b}, a + b), a + b)
    wide = floats(6, 8)
    view = wide[::-2, 1::3]
    np.testing.assert_array_equal(
        run_map(ADD, {"a": view, "b": view.T.copy().T}, view + view), view + view
    )


def test_a_row_is_added_to_every_row() -> None:
    a, b = floats(9, 7), floats(7)
    np.testing.assert_array_equal(run_map(ADD, {"a": a, "b": b}, a + b), a + b)


def test_maps_of_rank_six_and_zero() -> None:
    a, b = floats(2, 1, 3, 1, 2, 2), floats(2, 1, 2, 1, 2)
    np.testing.assert_array_equal(run_map(ADD, {"a": a, "b": b}, a + b), a + b)
    scalar = np.array(1.5, np.float32)
    np.testing.assert_array_equal(run_map(ADD, {"a": scalar, "b": scalar}, scalar), scalar * 2)


@pytest.mark.parametrize("options", [Options(), VEC4], ids=["scalar", "vec4"])
def test_a_value_operand_travels_in_the_parameters(options: Options) -> None:
    a = floats(10)
    np.testing.assert_array_equal(run_map(ADD, {"a": a, "b": 0.5}, a, options=options), a + 0.5)
    infinite = run_map(ADD, {"a": a, "b": np.inf}, a, options=options)
    assert np.isposinf(infinite).all()


def test_int_maps_wrap_and_take_negative_values() -> None:
    a = np.array([2**31 - 1, -5, 0], np.int32)
    y = run_map(ADD, {"a": a, "b": -1}, a, dtypes={"b": "int32"})
    np.testing.assert_array_equal(y, a - 1)


@pytest.mark.parametrize("options", [Options(), VEC4], ids=["scalar", "vec4"])
def test_bools_are_loaded_and_stored_as_words(options: Options) -> None:
    a, b = floats(9), floats(9)
    less = run_map(
        "fn op(a: T, b: T) -> bool { return a < b; }\n", {"a": a, "b": b}, a < b, options=options
    )
    np.testing.assert_array_equal(less, a < b)
    negated = run_map("fn op(x: T) -> T { return !x; }\n", {"x": a < b}, a < b, options=options)
    np.testing.assert_array_equal(negated, a >= b)


def test_select_takes_mixed_dtypes_and_a_bool_value() -> None:
    text = "fn op(condition: bool, t: T_t, e: T_e) -> T_y { return select(e, t, condition); }\n"
    t, e = floats(5), floats(5)
    y = run_map(text, {"condition": True, "t": t, "e": e}, t, dtypes={"condition": "bool"})
    np.testing.assert_array_equal(y, t)
    mask = t > 0
    np.testing.assert_array_equal(
        run_map(text, {"condition": mask, "t": t, "e": e}, t), np.where(mask, t, e)
    )


def test_complex_maps_use_op_complex() -> None:
    text = """
fn op(a: T, b: T) -> T { return a * b; }
fn op_complex(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
"""
    a = (floats(6) + 1j * floats(6)).astype(np.complex64)
    y = run_map(text, {"a": a, "b": 1 + 2j}, a, dtypes={"b": "complex64"})
    np.testing.assert_allclose(y, a * (1 + 2j), rtol=1e-6)
    x = floats(6)
    np.testing.assert_array_equal(run_map(text, {"a": x, "b": x}, x), x * x)
    assert "complex64" in allowed_dtypes(inline(text), "a")
    assert "complex64" not in allowed_dtypes(inline(ADD), "a")


def test_the_op_for_the_dtype_is_chosen_and_the_others_left_out() -> None:
    text = """
fn op(a: T, b: T) -> T { return a / b; }
fn op_bool(a: T, b: T) -> T { return a && b; }
fn op_i32(a: i32, b: i32) -> i32 { return a / b - 1; }
"""
    a = floats(4)
    np.testing.assert_array_equal(run_map(text, {"a": a, "b": 2.0}, a), a / 2)
    i = np.array([4, 9], np.int32)
    np.testing.assert_array_equal(
        run_map(text, {"a": i, "b": 2}, i, dtypes={"b": "int32"}), i // 2 - 1
    )
    flags = np.array([True, False])
    np.testing.assert_array_equal(run_map(text, {"a": flags, "b": flags}, flags), flags)


def test_attrs_are_filled_by_name() -> None:
    text = """
struct Attrs {
  alpha: f32, // the slope
  clip: u32,
  steps: vec3<i32>
}
fn op(x: T) -> T {
  let y = select(x, x * attrs.alpha, x < 0);
  return select(y, min(y, f32(attrs.steps.z)), attrs.clip == 1u);
}
"""
    x = floats(33)
    attrs = {"alpha": 0.25, "clip": True, "steps": (0, 4, 1)}
    want = np.minimum(np.where(x < 0, x * np.float32(0.25), x), 1)
    for options in (Options(), VEC4):
        y = run_map(text, {"x": x}, x, attrs=attrs, options=options)
        np.testing.assert_array_equal(y, want)


def test_a_map_without_inputs_gets_the_index() -> None:
    text = (
        "struct Attrs { start: f32, step: f32 }\n"
        "fn op(i: u32) -> T_y { return attrs.start + f32(i) * attrs.step; }\n"
    )
    y = np.zeros(70, np.float32)
    for options in (Options(), VEC4):
        found = run_map(text, {}, y, attrs={"start": 2.0, "step": 0.5}, options=options)
        np.testing.assert_array_equal(found, 2 + np.arange(70, dtype=np.float32) / 2)


def test_hold_stops_the_driver_from_folding_the_same_array() -> None:
    x = np.array([np.nan, np.inf, 1.0, -2.0], np.float32)
    text = "fn op(a: T, b: T) -> T { return a - b; }\n"
    composed = compose(
        "Sub",
        inline(text),
        [operand("a", x), operand("b", x)],
        [operand("y", x)],
        options=Options(held=("b",)),
    )
    assert "let wk_v1 = b[wk_i];" in composed.text
    assert "hold(wk_v1)" in composed.text
    found = lab().run(composed, {"a": x, "b": x, "y": x}, {"y_size": 4})
    y = np.frombuffer(found["y"], np.float32)
    np.testing.assert_array_equal(np.isnan(y), [True, True, False, False])


def test_run_time_nan_and_infinity() -> None:
    text = "fn op(x: T) -> T { if (x > 0) { return wk_inf(); } return wk_nan(); }\n"
    y = run_map(text, {"x": np.array([1, -1], np.float32)}, np.zeros(2, np.float32))
    assert np.isposinf(y[0])
    assert np.isnan(y[1])


def test_names_of_the_author_win_over_the_skeletons() -> None:
    text = (
        "const GROUP = 3.0;\nfn main(x: f32) -> f32 { return x * GROUP; }\n"
        "fn first() {}\nfn y() -> f32 { return 1.0; }\n"
        "fn op(x: T) -> T { return main(x) + y(); }\n"
    )
    x = floats(70)
    np.testing.assert_allclose(run_map(text, {"x": x}, x), x * 3 + 1, rtol=1e-6)


def test_maps_of_float16_enable_it_first() -> None:
    x = floats(11).astype(np.float16)
    text = "fn op(x: T, y_: T) -> T { return x * T(0.5) + y_; }\n".replace("y_", "b")
    composed = compose(
        "Half",
        inline(text),
        [operand("x", x), Operand("b", "float16", 0, "value")],
        [operand("y", x)],
        options=VEC4,
    )
    assert composed.text.startswith("enable f16;\n")
    assert composed.features == {"shader-f16"}
    assert "alias T = f16;" in composed.text
    if lab().has_f16:
        facts = {"y_size": 11, "b_value": 1.0}
        found = lab().run(composed, {"x": x, "y": x}, facts)
        y = np.frombuffer(found["y"], np.float16)[:11]
        np.testing.assert_array_equal(y, x * np.float16(0.5) + np.float16(1))


def test_a_map_whose_parameter_names_no_input_is_refused() -> None:
    x = floats(2)
    with pytest.raises(ShaderError, match=r"op's parameter 'z' names no input; known: x, i\."):
        run_map("fn op(z: T) -> T { return z; }\n", {"x": x}, x)


def test_a_map_of_another_type_is_refused() -> None:
    x = np.zeros(2, np.int32)
    with pytest.raises(ShaderError, match="op has f32 for x, which is i32"):
        run_map("fn op(x: f32) -> f32 { return x; }\n", {"x": x}, x)


def test_equal_kernels_have_equal_texts() -> None:
    def make() -> Composed:
        operands = [operand("a", floats(3)), operand("b", floats(3))]
        return compose("Add", inline(ADD), operands, [operand("y", floats(3))])

    assert make().text == make().text
    assert make().fields == make().fields
