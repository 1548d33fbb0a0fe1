"""Derived gradients of products: differences, and the rules of products of matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.cli.show import gradient_of
from wgsl_kernels.testing import check_gradient

Array = np.ndarray[Any, Any]

X = """fn a_at(batch: u32, row: u32, k: u32) -> T_x {
  return x[(batch * params.rows + row) * params.depth + k];
}
"""
C = """fn b_at(batch: u32, k: u32, col: u32) -> T_c {
  return c[k * params.cols + col];
}
"""
TURNED = """fn b_at(batch: u32, k: u32, col: u32) -> T_c {
  let line = col * params.depth;
  return T_c(load_c(line + k));
}
"""
BATCHES = """fn b_at(batch: u32, k: u32, col: u32) -> T_c {
  return c[(batch * params.cols + col) * params.c_shape[2] + k];
}
"""
RELU = """fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {
  return max(sum, 0.0);
}
"""
TEXTS = {
    "a product": X + C,
    "of what is above 0": X + C + RELU,
    "by an attribute": f"""{X}{TURNED}
fn finish(sum: T_wide, batch: u32, row: u32, col: u32) -> T_wide {{
  return sum * T_wide(params.scale);
}}
""",
    "of batches with a mask": f"""{X}{BATCHES}
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {{
  return select(sum * params.scale, -2.0, col > row + batch);
}}
""",
    "distances": f"""{X}{TURNED}
fn term(a: f32, b: f32, sum: f32) -> f32 {{
  let d = a - b;
  return fma(d, d, sum);
}}
""",
    "by a gate": f"""{X}{C}
fn gate(b: f32) -> f32 {{ return tanh(params.scale * b); }}
fn term(a: f32, b: f32, sum: f32) -> f32 {{ return sum + a * gate(b); }}
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {{ return sin(sum) + f32(batch); }}
""",
    "with a bias": f"""{X}{C}
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {{
  let bias = f32(bias[col]);
  return (sum + bias) * (sum + bias);
}}
""",
}
ONCE = {"distances", "by a gate"}
"""Terms whose slopes depend on the operand."""


def fields(x_shape: tuple[int, ...], scale: float) -> dict[str, Any]:
    return {"depth": x_shape[-1], "scale": scale}


def register(text: str, path: str = "") -> Callable[..., wk.Tensor]:
    name = "Derived"
    wk.wgsl_kernel(
        name, path or text, form="product", params=fields, gradient="derive", cpu="derive"
    )
    turned = "load_c" in text or "params.c_shape" in text

    def shape(x: wk.Spec, c: wk.Spec) -> tuple[int, ...]:
        return (*x.shape[:-1], c.shape[-2 if turned else -1])

    if "bias" in text:

        @wk.signature(name)
        def _biased(x: wk.Spec, c: wk.Spec, bias: wk.Spec, /, *, scale: float = 0.5) -> wk.Spec:
            return x.like(shape=shape(x, c))
    else:

        @wk.signature(name)
        def _plain(x: wk.Spec, c: wk.Spec, /, *, scale: float = 0.5) -> wk.Spec:
            return x.like(shape=shape(x, c))

    return lambda *xs, **attrs: wk.run(name, *xs, **attrs)


def inputs(text: str, rows: tuple[int, ...] = (2, 3), depth: int = 4, cols: int = 5) -> list[Array]:
    rng = np.random.default_rng(0)
    other: tuple[int, ...] = {True: (depth, cols), False: (cols, depth)}[C in text]
    other = (*rows[:-1], *other) if "params.c_shape" in text else other
    given = [rng.uniform(-1.0, 1.0, (*rows, depth)), rng.uniform(-1.0, 1.0, other)]
    return [*given, rng.uniform(-1.0, 1.0, cols)] if "bias" in text else given


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("rows", [(3,), (2, 3)])
@pytest.mark.parametrize("name", TEXTS)
def test_a_product_has_the_gradients_of_differences(name: str, rows: tuple[int, ...]) -> None:
    text = TEXTS[name] if len(rows) == 2 else TEXTS[name].replace("c_shape[2]", "c_shape[1]")
    f, xs, few = register(text), inputs(text, rows), inputs(text, rows, depth=2, cols=3)

    def slopes(*xs: wk.Tensor) -> wk.Tensor:
        found = wk.grads(lambda *xs: wk.sum(wk.sin(f(*xs))))(*xs)
        return wk.concat([wk.reshape(one, (-1,)) for one in found], axis=0)

    with wk.use_backend("cpu"):
        check_gradient(f, few)
        if name in ONCE:
            words = r"^Derived: its gradient by '[xc]' is derived once: .* second_order=False"
            with pytest.raises(wk.GradientNotFound, match=words):
                check_gradient(slopes, few)
        else:
            check_gradient(slopes, few)
        exact = slopes(*[wk.tensor(one, dtype="float64") for one in xs])
    with wk.use_backend("webgpu"):
        found = slopes(*map(wk.tensor, xs))
    np.testing.assert_allclose(found.numpy(), exact.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(70, 130, 90), (5, 700, 3), (64, 64, 64)])
def test_larger_products_have_the_gradients_of_ops(shape: tuple[int, int, int]) -> None:
    rows, depth, cols = shape
    text = TEXTS["distances"]
    f, xs = register(text), inputs(text, (rows,), depth, cols)

    def by_ops(x: wk.Tensor, c: wk.Tensor) -> wk.Tensor:
        apart = wk.expand_dims(x, axis=1) - c
        return wk.sum(apart * apart, axis=-1)

    with wk.use_backend("webgpu"):
        given = [wk.tensor(one) for one in xs]
        found = wk.grads(lambda x, c: wk.sum(wk.sin(f(x, c))))(*given)
        want = wk.grads(lambda x, c: wk.sum(wk.sin(by_ops(x, c))))(*given)
    for one, other in zip(found, want, strict=True):
        wanted = other.numpy()
        np.testing.assert_allclose(one.numpy(), wanted, atol=2e-4 * np.abs(wanted).max())


@pytest.mark.parametrize("written", ["", "fn term(a: f32, b: f32, sum: f32) -> f32 {\n"
                                         "  return sum + a * b;\n}\n"])  # fmt: skip
def test_a_product_of_matrices_has_the_gradients_of_matmul(backend: str, written: str) -> None:
    text = TEXTS["of what is above 0"] + written
    f, xs = register(text), inputs(text)

    def by_ops(x: wk.Tensor, c: wk.Tensor) -> wk.Tensor:
        return wk.relu(wk.matmul(x, c))

    def slopes(g: Callable[..., wk.Tensor]) -> list[wk.Tensor]:
        return list(wk.grads(lambda x, c: wk.sum(wk.exp(g(x, c))))(*map(wk.tensor, xs)))

    with wk.use_backend(backend):
        found, want = slopes(f), slopes(by_ops)
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_an_input_of_both_operands_has_the_sum_of_both_gradients(backend: str) -> None:
    text = f"""{X}fn b_at(batch: u32, k: u32, col: u32) -> T_x {{
  return x[col * params.depth + k];
}}
"""
    wk.wgsl_kernel(
        "Gram", text, form="product", params=lambda x_shape: {"depth": x_shape[1]},
        gradient="derive", cpu="derive",
    )  # fmt: skip
    wk.signature("Gram")(lambda x, /: x.like(shape=(x.shape[0], x.shape[0])))
    x, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 4, 4)).astype(np.float32)
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(wk.run("Gram", x) * v))(wk.tensor(x))

    np.testing.assert_allclose(found.numpy(), (v + v.T) @ x, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("halves_anywhere")
@pytest.mark.parametrize("name", ["of what is above 0", "distances", "with a bias"])
def test_half_precision_is_derived_by_its_own_types(name: str) -> None:
    f, xs = register(TEXTS[name]), inputs(TEXTS[name])
    found = []
    where: str
    dtype: Any
    for where, dtype in (("cpu", "float64"), ("cpu", "float16"), ("webgpu", "float16")):
        with wk.use_backend(where):
            given = [wk.tensor(one, dtype=dtype) for one in xs]
            slopes = wk.grads(lambda *xs: wk.sum(f(*xs)))(*given)
            assert {one.dtype for one in slopes} == {dtype}
            found.append([one.numpy().astype(np.float64) for one in slopes])

    for other in found[1:]:
        for got, want in zip(other, found[0], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("shape", [((0, 4), (4, 5)), ((3, 0), (0, 5))])
def test_empty_operands_have_gradients_of_zeros(backend: str, shape: Any) -> None:
    f = register(TEXTS["a product"])
    with wk.use_backend(backend):
        found = wk.grads(lambda x, c: wk.sum(f(x, c)))(*[wk.zeros(one) for one in shape])

    assert [one.shape for one in found] == list(shape)
    assert not any(one.numpy().any() for one in found)


def test_sums_that_do_not_add_have_a_cpu_kernel() -> None:
    text = f"""{X}{C}fn init() -> f32 {{ return -3e38; }}
fn term(a: f32, b: f32, sum: f32) -> f32 {{ return max(sum, a + b); }}
"""
    wk.wgsl_kernel("Longest", text, form="product", params=fields, cpu="derive")

    @wk.signature("Longest")
    def _shape(x: wk.Spec, c: wk.Spec, /, *, scale: float = 1.0) -> wk.Spec:
        return x.like(shape=(*x.shape[:-1], c.shape[-1]))

    x, c = inputs(TEXTS["a product"], (3,))
    with wk.use_backend("cpu"):
        found = wk.run("Longest", wk.tensor(x), wk.tensor(c)).numpy()

    np.testing.assert_allclose(found, (x[:, :, None] + c).max(1), rtol=1e-6)


REFUSED = {
    "more than an element": (X.replace("return x[", "return -x[") + C, "a_at does more than"),
    "no strides": (X + C.replace("k * params.cols", "k / 2u"), "no sum of multiples"),
    "packed elements": (
        X + "fn b_vec4(batch: u32, k: u32, col: u32) -> vec4<T_c> {\n  return vec4(c[k]);\n}\n",
        "b_vec4 alone is not followed",
    ),
    "a start": (X + C + "fn init() -> f32 { return 1.0; }\n", "a product with init"),
    "a term that does not add": (
        X + C + "fn term(a: f32, b: f32, sum: f32) -> f32 { return max(sum, a * b); }\n",
        "term is not seen to return sum",
    ),
    "bits": (
        X + C + RELU.replace("max(sum, 0.0)", "bitcast<f32>(bitcast<u32>(sum))"),
        "bitcast takes a number apart",
    ),
    "an element elsewhere": (
        X + C + "fn other(k: u32) -> f32 { return f32(c[k]); }\n"
        + RELU.replace("max(sum, 0.0)", "sum * other(col)"),
        "c is read in a function besides",
    ),
    "a helper that reads at coordinates": (
        X + C + "fn other(k: u32) -> f32 { return f32(load_c_at(vec2<u32>(k))); }\n"
        + RELU.replace("max(sum, 0.0)", "sum * other(col)"),
        "c is read in a function besides",
    ),
    "a derivative of term": (
        X + C + "// @derivative term(a, b, sum) = b, a, 1.0\n"
        "fn term(a: f32, b: f32, sum: f32) -> f32 { return fma(a, b, sum); }\n",
        "a @derivative of term is not followed",
    ),
    "a derivative of a finish that reads": (
        X + C + "// @derivative finish(sum, batch, row, col) = 2.0, 0, 0, 0\n"
        + RELU.replace("max(sum, 0.0)", "sum * bias[col]"),
        "a @derivative of finish is not followed",
    ),
    "a finish of three parameters": (
        X + C + RELU.replace("batch: u32, ", ""), "'finish' takes 3 parameters; want 4."
    ),
    "all fields at once": (
        X + C + RELU.replace("max(sum, 0.0)", "sum * f32(all(params))"),
        "want one of them, as params.depth",
    ),
    "coordinates": (
        X.replace("x[(batch * params.rows + row) * params.depth + k]",
                  "load_x_at(vec2<u32>(row, k))") + C,
        "load_x_at is not followed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_followed_is_refused_at_registration(what: str) -> None:
    text, words = REFUSED[what]
    with pytest.raises(wk.ShaderError) as caught:
        wk.wgsl_kernel("Refused", text, form="product", params=fields, gradient="derive")

    assert words in str(caught.value)
    assert wk.get_kernel("Refused", "webgpu") is None


GIVES_TWICE = f"""// sums of x[i, k] * c[k, j], not of load_x(i) with params.other
{X}
/* c[0] is /* the */ first */ {C}
struct Pair {{ scale: f32 }}
struct Attrs {{ own: f32 }}
// @derivative op(x) = 7.0
fn op(x: f32) -> f32 {{
  let my_params = Pair(1.0);
  return x * my_params.scale;
}}
fn attrs(x: f32) -> f32 {{
  return apply(x) * Attrs(1.0).own;
}}
fn apply(x: f32) -> f32 {{
  return x;
}}
fn term(a: f32, b: f32, sum: f32) -> f32 {{
  let my_params = Pair(2.0);
  return fma(a, b * my_params.scale, sum);
}}
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 {{
  let params = vec2<f32>(1.0, 0.0);
  return attrs(op(sum)) * params.x;
}}
"""


def test_comments_and_names_that_look_like_what_is_followed_are_none(backend: str) -> None:
    f, (x, c) = register(GIVES_TWICE), inputs(GIVES_TWICE, (3,))
    with wk.use_backend(backend):
        given = [wk.tensor(one) for one in (x, c)]
        found = f(*given).numpy()
        slope = wk.grad(lambda x: wk.sum(f(x, given[1])))(given[0]).numpy()

    np.testing.assert_allclose(found, 2 * x @ c, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(slope, np.tile(14 * c.sum(1), (3, 1)), rtol=1e-5, atol=1e-6)


def test_an_input_that_is_read_in_part_is_told_with_its_strides() -> None:
    f = register(X + C.replace("k * params.cols", "2u * k * params.cols"))
    with wk.use_backend("cpu"), pytest.raises(wk.ShapeError, match=r"b_at reads c, .* at strides"):
        f(wk.zeros((3, 4)), wk.zeros((8, 5)))


def test_show_says_what_a_gradient_costs_and_an_edit_changes_it(tmp_path: Any) -> None:
    path, text = tmp_path / "apart.wgsl", TEXTS["distances"]
    path.write_text(text)
    f, xs = register(text, str(path)), inputs(text)
    assert "costs a product" in gradient_of("Derived", "x")
    assert "term_at" in gradient_of("Derived", "c")
    for written in (text, text.replace("fma(d, d, sum)", "sum + sin(d)")):
        path.write_text(written)
        wk.reload_kernels()
        with wk.use_backend("cpu"):
            check_gradient(f, xs)
        with wk.use_backend("webgpu"):
            found = wk.grad(lambda x: wk.sum(f(x, wk.tensor(xs[1]))))(wk.tensor(xs[0])).numpy()
        apart = xs[0][..., None, :] - xs[1]
        want = (2 * apart if written == text else np.cos(apart)).sum(-2)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("asked", "wanted"), [("cpu", "the CPU kernel"), ("gradient", "the gradient")]
)
def test_a_refusal_says_what_was_to_be_derived(asked: Any, wanted: str) -> None:
    text = TEXTS["with a bias"].replace("* (sum + bias)", "* f32(load_bias(col))")
    options: dict[str, Any] = {asked: "derive"}
    words = (
        f"Twice: {wanted} cannot be derived: finish reads bias a second time, .* keep it in a let"
    )
    with pytest.raises(wk.ShaderError, match=words):
        wk.wgsl_kernel("Twice", text, form="product", params=fields, **options)


def test_an_input_that_is_read_in_part_is_refused_in_the_words_of_what_was_asked() -> None:
    """The CPU kernel is derived, and so is the gradient of one that is written by hand."""
    f = register(X + C.replace("k * params.cols", "2u * k * params.cols"))
    xs = [wk.tensor(one) for one in inputs(X + C, (3,))]
    said = "^Derived: the CPU kernel is derived where each"
    with wk.use_backend("cpu"), pytest.raises(wk.ShapeError, match=said):
        f(*xs)
    wk.register_kernel("Derived", "cpu", lambda x, c, scale=0.5: x[:, :2] @ c[:2], override=True)
    wk.wgsl_kernel(
        "Derived", X + C, form="product", params=lambda x_shape: {"depth": 2}, gradient="derive",
        override=True,
    )  # fmt: skip
    said = "^Derived: the gradient that is derived from its shader failed: Derived: the gradient is"
    with wk.use_backend("cpu"), pytest.raises(wk.ShapeError, match=said):
        wk.grad(lambda x: wk.sum(f(x, xs[1])))(xs[0])
