"""What a product's file may declare: its slots, how parts are summed, and helpers of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.modules.source import shaders_folder
from wgsl_kernels.backends.webgpu.modules.template_files import find_template
from wgsl_kernels.backends.webgpu.products.slots import INNER_SLOTS, SLOTS
from wgsl_kernels.backends.webgpu.tuning.tuner import forced
from wgsl_kernels.wgsl.derive.linear import accumulates
from wgsl_kernels.wgsl.linking.grammar import parse_source
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.places import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("registries_as_before")]

Array = np.ndarray[Any, Any]
ELEMENTS = """
fn a_at(batch: u32, i: u32, k: u32) -> T_x { return x[i * params.depth + k]; }
fn b_at(batch: u32, k: u32, j: u32) -> T_c { return c[k * params.cols + j]; }
"""
MAX_PLUS = """
fn init() -> f32 { return -3e38; }
fn term(a: f32, b: f32, sum: f32) -> f32 { return max(sum, a + b); }
"""
COMBINE = "fn combine(x: f32, y: f32) -> f32 { return max(x, y); }\n"
X = np.arange(12, dtype=np.float32).reshape(3, 4)
C = np.arange(20, dtype=np.float32).reshape(4, 5) - 7


def register(text: str, fields: Mapping[str, Any] | None = None) -> None:
    """Register a product of x and c, with a bias if it is wanted."""
    wk.signature("Slots")(lambda x, c, bias=None, /: x.like(shape=(x.shape[0], c.shape[1])))
    more = fields or {}
    wk.wgsl_kernel(
        "Slots",
        text,
        form="product",
        params=lambda x_shape: {"depth": x_shape[-1], **more},
        override=True,
    )


def run(x: Array = X, c: Array = C, **others: Array) -> Array:
    """Return what the product makes of arrays."""
    arrays = {"x": x, "c": c, **others}
    with wk.use_backend("webgpu"):
        found = wk.engine().run_kernel("Slots", {n: wk.tensor(a) for n, a in arrays.items()})
        assert isinstance(found, wk.Tensor)
        return found.numpy()


@pytest.mark.parametrize("more", ["", COMBINE], ids=["unbroken", "in parts"])
@pytest.mark.parametrize("depth", [0, 5, 257, 2050])
def test_sums_need_not_add(more: str, depth: int) -> None:
    register(ELEMENTS + MAX_PLUS + more)
    draw = np.random.default_rng(depth)
    x = -1 - draw.random((3, depth), np.float32)
    c = draw.random((depth, 5), np.float32)
    expected = (x[:, :, None] + c).max(1, initial=np.float32(-3e38))
    np.testing.assert_array_equal(run(x, c), expected)
    if depth == 2050:
        inputs = {"x": wk.tensor(x), "c": wk.tensor(c)}
        with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
            rows = str(wk.explain(lambda: wk.engine().run_kernel("Slots", inputs)))
        assert ("a sum is unbroken: it starts at init" in rows) == (not more)


@pytest.mark.parametrize("variant", ["rows_4", "lanes_16", "staged_64"])
def test_every_way_to_sum_takes_each_term_once(variant: str) -> None:
    register(ELEMENTS + MAX_PLUS)
    draw = np.random.default_rng(1)
    x = -1 - draw.random((17, 21), np.float32)
    c = -1 - draw.random((21, 19), np.float32)
    with forced("Slots", variant):
        np.testing.assert_array_equal(run(x, c), (x[:, :, None] + c).max(1))


def test_a_sum_that_must_be_whole_may_not_be_longer_than_a_loop() -> None:
    register(ELEMENTS + MAX_PLUS)
    ones = np.ones((1, 60_000), np.float32)
    with pytest.raises(wk.ArgumentError, match=r"60000, and a sum is unbroken: .* declare combine"):
        run(ones, ones.reshape(-1, 1))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return sum + 1.0;", True),
        ("return exp(a) * b + (sum);", True),
        ("let d = a - b; return fma(d, d, sum);", True),
        ("let t = sum + a; let u = t - b; return u;", True),
        ("return max(sum, a);", False),
        ("return sum + sum * a;", False),
        ("let t = sum; return fma(t, b, sum);", False),
        ("return a - sum;", False),
        ("return fma(a, b, own(sum));", False),
        ("if (a > b) { return sum; } return sum + a;", False),
    ],
)
def test_a_term_adds_where_its_tree_says_so(body: str, expected: bool) -> None:
    text = f"fn term(a: f32, b: f32, sum: f32) -> f32 {{ {body} }}"
    (term,) = parse_source(Text("t.wgsl", text)).module.declarations
    assert isinstance(term, tree.Function)
    assert accumulates(term, ()) == expected
    if "fma(d" in body:
        assert not accumulates(term, {"fma"})


def test_all_that_the_slots_module_declares_is_known() -> None:
    template = find_template("templates/product.wesl", None, shaders_folder(), "<inline>")
    (text,) = [text for path, text in template.texts if path.segments[-1] == "product_slots"]
    nodes = parse_source(text).module.declarations
    declared = {
        one.ident.name for one in nodes if not isinstance(one, (tree.ConstAssert, tree.Broken))
    }
    assert declared == {*SLOTS, *INNER_SLOTS}


@pytest.mark.parametrize(
    "helper",
    [
        "fn b_start(lane: u32, width: u32) -> u32 { return lane * width + 7u; }",
        "fn b_step(x: u32) -> u32 { return 2u; }",
        "fn term4(a: f32, b: vec4<f32>, sum: vec4<f32>) -> vec4<f32> { return sum; }",
        "struct Col { v: f32 }",
        "const a = 1.0;",
        "struct Params { q: f32 }",
        "fn store(i: u32) {}",
        "const x_as_vec4 = 2.0;",
        "alias T_y = i32;",
    ],
)
def test_what_is_no_slot_is_the_file_s_own(helper: str) -> None:
    register(f"{helper}\n{ELEMENTS}")
    np.testing.assert_array_equal(run(), X @ C)


def test_a_helper_of_a_built_in_s_name_is_no_vector_function() -> None:
    own = "fn abs(v: f32) -> f32 { return v + 1.0; }"
    register(
        f"{own}\n{ELEMENTS.replace('return x[i * params.depth + k]', 'return abs(x[i * 4u + k])')}"
    )
    np.testing.assert_array_equal(run(), (X + 1) @ C)


def test_an_optional_input_may_be_left_out() -> None:
    finish = """fn finish(sum: f32, b: u32, i: u32, j: u32) -> f32 {
      if (has_bias) { return sum + READ; }
      return sum;
    }"""
    for read in ("bias[j]", "load_bias(j)"):
        register(ELEMENTS + finish.replace("READ", read))
        np.testing.assert_array_equal(run(), X @ C)
        bias = np.arange(5, dtype=np.float32)
        np.testing.assert_array_equal(run(bias=bias), X @ C + bias)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("batch: u32, i", "batch: i32, i", r":2:9: Slots: 'a_at' takes i32 here; want u32"),
        ("-> T_x", "-> vec2<f32>", r":2:\d+: Slots: 'a_at' returns vec2<f32> here; want a number"),
        (
            "k: u32, j: u32) -> T_c { return c[k",
            "c: u32, j: u32) -> T_c { return c[c",
            r":3:\d+: Slots: the parameter 'c' hides the input",
        ),
        ("\n", "\nfn op(x: T) -> T { return x; }\n", "a product has no 'op'; want a_at"),
        ("\n", "\nfn finish_f16(x: T) -> T { return x; }\n", "a product has no 'finish_f16'; want"),
        ("\n", "\nvar<workgroup> w: f32;\n", "has no variables in 'workgroup'"),
        ("\n", "\nfn term(a: i32, b: i32, sum: i32) -> i32 { return sum; }\n", "want f32"),
        ("return x", "store_y(0u, 1.0); return x", "stores its results itself; return them"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(
    old: str, new: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = ELEMENTS.replace(old, new, 1)

    def define_and_run() -> None:
        register(text)
        run()

    with pytest.raises(wk.ShaderError, match=message):
        define_and_run()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "fields",
    [{"depth": 2**32}, {"wk_zero": 1}, {"_": 1}, {"__a": 1}, {"a-b": 1}, {"v": ((1, 2), (3, 4))}],
    ids=str,
)
def test_fields_that_have_no_place_in_wgsl_are_refused(fields: dict[str, Any]) -> None:
    register(ELEMENTS, fields)
    with pytest.raises(wk.ArgumentError, match=r"^Slots: params= gave"):
        run()
