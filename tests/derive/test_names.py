"""What is derived goes by what names mean: one may hide another, or stand for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.cli.show import gradient_of
from wgsl_kernels.testing import check_gradient

Array = np.ndarray[Any, Any]
X = np.array([0.6, 1.4, 2.2])
G = "fn g(a: f32, b: f32) -> f32 { "
DERIVATIVE = "const K = 3.0;\n// @derivative g(a) = K\n"
HIDING: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "a block": ("fn op(x: f32) -> f32 { { let x = x * x; return x; } }", lambda x: x**2),
    "a branch": (
        "fn op(x: f32) -> f32 { var r = x; if (x > 0.0) { let x = sin(x) / x; r = x; } return r; }",
        lambda x: np.sin(x) / x,
    ),
    "a loop": (
        """fn op(x: f32) -> f32 {
          var s = x;
          for (var k = 0; k < 3; k++) { let x = s * x; s += x; }
          return s;
        }""",
        lambda x: x * (1 + x) ** 3,
    ),
    "a switch": (
        """fn op(x: f32) -> f32 {
          var r = x;
          switch (i32(floor(x * 0.0))) { case 0: { let x = x * r; r = x; } default: { } }
          return r;
        }""",
        lambda x: x**2,
    ),
    "a vector": (
        """fn op(x: f32) -> f32 {
          var a = vec2(x, 2.0);
          { var a = a * a; a.x *= x; a[1] += a.x; return a.y; }
        }""",
        lambda x: x**3 + 4,
    ),
    "a parameter": (
        f"{G} if (a > 0.0) {{ let b = b * a; return b; }} return b; }}\n"
        "fn op(x: f32) -> f32 { return g(x, x * x); }",
        lambda x: x**3,
    ),
    "a constant": (
        "const K = 3.0;\n"
        "fn op(x: f32) -> f32 { var s = K * x; { let K = K * x; s += K * x; } return s * K; }",
        lambda x: 9 * x + 9 * x**2,
    ),
    "a constant by a parameter": (
        f"const a = 3.0;\n{G} return a * b; }}\n"
        "fn op(x: f32) -> f32 { return g(x, x) * a; }",
        lambda x: 3 * x**2,
    ),
    "a constant that a derivative names": (
        f"{DERIVATIVE}fn g(a: f32) -> f32 {{ return 3.0 * a; }}\n"
        "fn op(x: f32) -> f32 { let K = x * x; return g(K); }",
        lambda x: 3 * x**2,
    ),
    "a number by a counter": (
        """fn op(x: f32) -> f32 {
          let k = x * x;
          var s = k;
          for (var k = 0u; k < 3u; k++) { s += x * f32(k); }
          for (var x = 0; x < 2; x++) { s *= 2.0; }
          return s;
        }""",
        lambda x: 4 * (x**2 + 3 * x),
    ),
    "functions of WGSL's by locals": (
        "fn op(x: f32) -> f32 { let select = 2.0; let f32 = 3.0; return max(x, 0.5) * select; }",
        lambda x: 2 * x,
    ),
    "a function of WGSL's that derivatives call": (
        "fn sign(x: f32) -> f32 { return 3.0 * x; }\n"
        "fn op(x: f32) -> f32 { return abs(x) * x + sign(x); }",
        lambda x: x**2 + 3 * x,
    ),
    "a function of WGSL's that has a derivative": (
        "fn step(x: f32) -> f32 { return x * x; }\nfn op(x: f32) -> f32 { return step(x); }",
        lambda x: x**2,
    ),
    "a function of the library": (
        "fn safe_log(x: f32) -> f32 { return log(x) * x; }\n"
        "fn op(x: f32) -> f32 { return safe_log(x); }",
        lambda x: np.log(x) * x,
    ),
    "a size by a local constant": (
        """const N = 2;
        fn op(x: f32) -> f32 {
          const N = 4;
          var a: array<f32, N>;
          a[3] = x * x;
          a[1] = 5.0;
          return a[3];
        }""",
        lambda x: x**2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HIDING)
def test_values_and_two_derivatives_are_those_of_the_map(name: str, backend: str) -> None:
    text, wanted = HIDING[name]
    wk.signature("Hiding")(lambda x, /: x.like())
    wk.wgsl_kernel("Hiding", text, gradient="derive", cpu="derive")
    first = wk.grad(lambda x: wk.sum(wk.run("Hiding", x)))
    with wk.use_backend(backend):
        x = wk.tensor(X, dtype="float32")
        found = wk.run("Hiding", x), first(x), wk.grad(lambda x: wk.sum(first(x)))(x)
        values, slopes, bends = (one.numpy() for one in found)
    h = 1e-4
    np.testing.assert_allclose(values, wanted(X), rtol=1e-5)
    np.testing.assert_allclose(slopes, (wanted(X + h) - wanted(X - h)) / (2 * h), rtol=1e-4)
    twice = (wanted(X + h) - 2 * wanted(X) + wanted(X - h)) / h**2
    np.testing.assert_allclose(bends, twice, rtol=1e-3, atol=1e-4)


SUM = """fn init() -> f32 { return 0.0; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn safe_exp(x: f32) -> f32 { return x * x; }
fn lift(x: f32) -> f32 { var r = x; { let x = x * x; r += safe_exp(x); } return r; }
"""
PRODUCT = """fn a_at(batch: u32, row: u32, k: u32) -> T_x { return x[row * params.depth + k]; }
fn b_at(batch: u32, k: u32, col: u32) -> T_c { return c[col * params.depth + k]; }
fn safe_exp(x: f32) -> f32 { { let x = x * x; return x; } }
fn term(a: f32, b: f32, sum: f32) -> f32 { return sum + safe_exp(a) * b; }
fn finish(sum: f32, batch: u32, row: u32, col: u32) -> f32 { return safe_exp(sum); }
"""
Rule = Callable[..., Any]
FORMS: dict[str, tuple[str, dict[str, Any], Rule, tuple[int, ...], dict[str, Any]]] = {
    "reduction": (
        SUM,
        {},
        lambda x, /, *, axis=-1: x.like(shape=x.shape[:-1]),
        (2, 5),
        {"axis": -1},
    ),
    "scan": (SUM, {"form": "scan"}, lambda x, /, *, axis=-1: x.like(), (2, 5), {"axis": -1}),
    "chain": (
        SUM.replace("return a + b;", "{ let a = a * b; return a; }").replace("0.0", "1.0"),
        {"form": "scan"},
        lambda x, /, *, axis=-1: x.like(),
        (2, 4),
        {"axis": -1},
    ),
    "product": (
        PRODUCT,
        {"form": "product", "params": lambda x_shape: {"depth": x_shape[-1]}},
        lambda x, c, /: x.like(shape=(x.shape[0], c.shape[0])),
        (2, 3),
        {},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_derived_where_names_hide_others(form: str, backend: str) -> None:
    text, how, rule, shape, attrs = FORMS[form]
    wk.signature("Hiding")(rule)
    wk.wgsl_kernel("Hiding", text, gradient="derive", cpu="derive", **how)
    x = np.linspace(0.4, 1.2, int(np.prod(shape))).reshape(shape)
    given = (x, x[::-1] + 0.25) if form == "product" else (x,)
    check(backend, given, **attrs)


def test_a_window_is_derived_where_names_hide_others(backend: str) -> None:
    wk.wgsl_kernel("Hiding", SUM, form="window", gradient="derive", cpu="derive")
    check(backend, (np.linspace(0.4, 1.2, 24).reshape(1, 4, 3, 2),), filter_size=2)


def check(backend: str, given: tuple[Array, ...], **attrs: Any) -> None:
    """Hold values against those of the simulator, gradients against differences."""

    def values(on: str) -> Array:
        with wk.use_backend(on):
            xs = [wk.tensor(one, dtype="float32") for one in given]
            found: Array = wk.run("Hiding", *xs, **attrs).numpy()
            return found

    np.testing.assert_allclose(values(backend), values("simulator"), rtol=1e-5)
    with wk.use_backend(backend):
        check_gradient(lambda *xs: wk.run("Hiding", *xs, **attrs), given)


def test_types_may_have_other_names(backend: str) -> None:
    text = "alias F = T;\nalias G = F;\nfn op(x: G) -> F { let s = x * x; return F(2.0) * s; }\n"
    wk.signature("Named")(lambda x, /: x.like())
    wk.wgsl_kernel("Named", text, gradient="derive", cpu="derive")

    def f(x: wk.Tensor) -> wk.Tensor:
        return wk.run("Named", x)

    with wk.use_backend(backend):
        x = wk.tensor([1.5], dtype="float32")
        assert f(x).tolist() == [4.5]
        assert wk.grad(lambda x: wk.sum(f(x)))(x).tolist() == [6.0]


def test_a_derived_text_says_where_each_function_is_from(tmp_path: Path) -> None:
    (tmp_path / "lib.wesl").write_text("// One.\n\nfn twice(x: f32) -> f32 { return 2.0 * x; }\n")
    own = tmp_path / "own.wesl"
    own.write_text("import super::lib::twice;\nfn op(x: f32) -> f32 { return twice(x) * x; }\n")
    wk.wgsl_kernel("Named", own, gradient="derive")
    notes = [one for one in gradient_of("Named", "x").splitlines() if "the tangent of" in one]
    assert [one.partition("tangent of ")[2] for one in notes] == [
        f"twice, {tmp_path / 'lib.wesl'}:3:1.",
        f"op, {own}:2:1.",
    ]
