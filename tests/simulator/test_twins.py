"""CPU kernels that are made of shaders: the values, attributes, dtypes, and what is refused."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.registry.snapshot import take_snapshot

SMOOTH = """struct Attrs { slope: f32, ends: vec2<f32> }

fn op(x: T, z: T, i: u32) -> T {
  var total = T();
  for (var k = 0u; k < 3u; k++) {
    if (x > T(k)) { total += z * T(attrs.slope); } else { total -= x; }
  }
  return clamp(total, T(attrs.ends.x), T(attrs.ends.y)) + T(i % 2u);
}
"""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = take_snapshot()
    yield
    before.restore()


def register(text: str = SMOOTH, name: str = "Smooth", **options: Any) -> None:
    wk.wgsl_kernel(name, text, cpu="derive", **options)


def test_both_backends_give_the_same() -> None:
    register()

    @wk.signature("Smooth")
    def _shape(x: wk.Spec, z: wk.Spec, /, *, slope: float, ends: tuple[float, ...]) -> wk.Spec:
        return x.like(shape=(4, 5))

    x = np.linspace(-2, 4, 20, dtype=np.float32).reshape(4, 5)
    z = np.linspace(0, 1, 5, dtype=np.float32)
    found = []
    for backend in ("cpu", "webgpu", "simulator"):
        with wk.use_backend(backend):
            found.append(wk.run("Smooth", x, z, slope=0.3, ends=(-3.5, 2.0)).numpy())

    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    np.testing.assert_array_equal(found[1], found[2])


def test_it_runs_in_float64() -> None:
    register("fn op(x: T) -> T {\n  return exp(x) * 0.1;\n}\n", "Grow")
    wk.signature("Grow")(lambda x, /: x.like())

    with wk.use_backend("cpu"):
        found = wk.run("Grow", wk.tensor([1.0], dtype="float64"))

    assert found.dtype == "float64"
    assert abs(found.item() - np.exp(1.0) * 0.1) < 1e-15


def test_library_functions_go_by_name() -> None:
    text = """import wgsl_kernels::lib::hyperbolic::safe_tanh;
fn op(x: f32) -> f32 {
  return safe_tanh(x) + 1.0;
}
"""
    register(text, "Shifted")
    wk.signature("Shifted")(lambda x, /: x.like())

    with wk.use_backend("cpu"):
        found = wk.run("Shifted", wk.tensor([0.5], dtype="float64")).item()

    assert found == np.tanh(0.5) + 1


def test_integers_are_integers() -> None:
    register("fn op(x: i32, z: i32) -> i32 {\n  return x / z + (x << 2u);\n}\n", "Whole")
    wk.signature("Whole")(lambda x, z, /: x.like())

    with wk.use_backend("cpu"):
        assert wk.run("Whole", wk.tensor([-7, 7]), wk.tensor([2, 0])).tolist() == [-31, 35]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("@compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3<u32>) {\n"
         "  store_y(id.x, load_x(id.x));\n}\n",
         wk.ArgumentError, "cpu='derive' takes maps, reductions, scans, windows and products"),
        ("fn op(x: f32) -> f32 {\n  return nothing(x);\n}\n", wk.ShaderError, "nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_told_at_registration(
    text: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        register(text, "Odd")


@pytest.mark.parametrize("word", ["gradient", "cpu"])
def test_other_words_than_derive_are_refused(word: str) -> None:
    options: Any = {word: "by hand"}
    with pytest.raises(wk.ArgumentError, match=f"Odd: {word} is 'by hand'; want 'derive', or None"):
        wk.wgsl_kernel("Odd", "fn op(x: f32) -> f32 {\n  return x;\n}\n", **options)


def on_both(name: str, *xs: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            y = wk.run(name, *[wk.tensor(one) for one in xs])
            found.append((y.dtype, y.tolist()))
    return found


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("fn op_complex(x: vec2<f32>) -> vec2<f32> { return vec2<f32>(-x.y, x.x); }",
         lambda x: x * 1j),
        ("fn op(x: T) -> T { return T(T_wide(x.x), -x.y) * T(2.0, 2.0); }",
         lambda x: 2 * x.conj()),
        ("fn op_complex(x: vec2<f32>) -> f32 { return x.x; }", lambda x: x.real),
    ],
)  # fmt: skip
def test_complex_numbers_are_two_parts(text: str, want: Any) -> None:
    x = np.array([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j], [9, 1j]], np.complex64)
    wanted = want(x)
    text = text.replace("T_wide", "f32")
    wk.signature("Turned")(lambda x, /: x.like(dtype=str(wanted.dtype)))
    register(text, "Turned", dtypes=("complex64",))

    for dtype, found in on_both("Turned", x):
        assert dtype == str(wanted.dtype)
        assert found == wanted.tolist()


def test_an_attribute_of_a_complex_kernel_is_one_number_or_two_parts() -> None:
    text = "struct Attrs { by: T }\nfn op(x: T) -> T {\n  return x + attrs.by;\n}\n"
    wk.signature("Moved")(lambda x, /, *, by=0: x.like())
    register(text, "Moved", dtypes=("complex64",))
    with wk.use_backend("cpu"):
        x = wk.tensor([1 + 2j])
        assert wk.run("Moved", x, by=(3.0, -1.0)).tolist() == [4 + 1j]
        assert wk.run("Moved", x, by=3.0).tolist() == [4 + 2j]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("text", "dtypes"),
    [
        ("fn op(x: T, z: T_z) -> T { return x * T(z / T_z(2)); }", ("float32", "int32")),
        ("fn op(x: T, z: T_z) -> T { return x * T(z); }", ("int32", "float32")),
        ("fn op(x: T, z: T_z) -> T { return x * T(T_wide(x) / T_wide(2)) + T(z); }",
         ("int32", "int32")),
    ],
)  # fmt: skip
def test_each_input_has_its_own_type(text: str, dtypes: tuple[str, str]) -> None:
    register(text, "Mixed")
    xs = [np.array([7, 2**30 + 1, -3], dtypes[0]), np.array([5, 3, 7], dtypes[1])]
    on_cpu, on_device = on_both("Mixed", *xs)

    assert on_cpu == on_device


@pytest.mark.gpu
def test_the_result_has_the_type_that_the_signature_says() -> None:
    register("fn op(x: T) -> T_y {\n  return T_y(x) / T_y(2);\n}\n", "Halves")
    wk.signature("Halves")(lambda x, /: x.like(dtype="float32"))

    assert on_both("Halves", np.array([7, 5])) == [("float32", [3.5, 2.5])] * 2


SUM = "fn init() -> T { return T(0); }\nfn combine(a: T, b: T) -> T { return a + b; }\n"


def test_complex_sums_have_no_derived_cpu_kernel() -> None:
    wk.wgsl_kernel("Running", SUM, form="scan", cpu="derive")
    with wk.use_backend("cpu"), pytest.raises(wk.DTypeError, match="only those of real numbers"):
        wk.run("Running", wk.tensor([1j, 2.0]), axis=0)


@pytest.mark.parametrize("options", [{"form": "scan"}, {"form": "window"}, {}])
def test_complex_numbers_have_no_derived_gradient(options: Any) -> None:
    text = SUM if options else "fn op(x: T) -> T {\n  return x + x;\n}\n"
    wk.wgsl_kernel("Held", text, gradient="derive", **options)

    @wk.cpu_kernel("Held")
    def _(x: Any, **_: Any) -> Any:
        return x

    wk.signature("Held")(lambda x, /, *, axis=0, filter_size=1: x.like())

    with wk.use_backend("cpu"):
        x = wk.tensor(np.ones((1, 2, 2, 1), np.complex64))
        with pytest.raises(wk.GradientNotFound, match="Held: gradient='derive' is of real numbers"):
            wk.grad(lambda x: wk.sum(wk.real(wk.run("Held", x))))(x)


def test_a_product_of_integers_has_no_derived_cpu_kernel() -> None:
    text = """fn a_at(batch: u32, row: u32, k: u32) -> T_x { return x[row * params.depth + k]; }
fn b_at(batch: u32, k: u32, col: u32) -> T_c { return c[col * params.depth + k]; }
"""
    wk.signature("Counts")(lambda x, c, /: x.like(shape=(x.shape[0], c.shape[0])))
    depth = {"params": lambda x_shape: {"depth": x_shape[-1]}, "form": "product"}
    register(text, "Counts", **depth)
    with wk.use_backend("cpu"), pytest.raises(wk.DTypeError, match="sums of floats; its operands"):
        wk.run("Counts", wk.tensor([[2**24 + 1]]), wk.tensor([[1]]))

    register(text + "fn term(a: i32, b: i32, sum: i32) -> i32 { return sum + a; }\n", "Counts",
             override=True, **depth)  # fmt: skip
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend), pytest.raises(wk.ShaderError, match="takes i32 here"):
            wk.run("Counts", wk.tensor([[1.0]]), wk.tensor([[1.0]]))


@pytest.mark.parametrize(
    ("type_", "value"), [("T", 1j), ("f32", 7), ("f32", True), ("i32", True), ("i32", 1j)]
)
def test_a_dtype_that_the_shader_does_not_serve_is_refused(type_: str, value: Any) -> None:
    register(f"fn op(x: {type_}) -> {type_} {{\n  return x * x;\n}}\n", "Squared")
    words = f"Squared: its shader takes .* which is {wk.tensor([value]).dtype}"
    with wk.use_backend("cpu"), pytest.raises(wk.DTypeError, match=words):
        wk.run("Squared", wk.tensor([value]))


def test_a_gradient_beside_complex_numbers_is_derived() -> None:
    text = "fn op(x: f32, z: vec2<f32>) -> f32 {\n  return x * x * z.y;\n}\n"
    wk.signature("Beside")(lambda x, z, /: x.like())
    wk.wgsl_kernel("Beside", text, gradient="derive", cpu="derive")
    with wk.use_backend("cpu"):
        z = wk.tensor([1 + 3j])
        assert wk.grad(lambda x: wk.sum(wk.run("Beside", x, z)))(wk.tensor([2.0])).tolist() == [12]
