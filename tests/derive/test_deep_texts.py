"""Texts within the limits of docs/wgsl.md, which have more in each other than Python takes."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.simulator.module import ModuleCompiler
from wgsl_kernels.simulator.places import RefusedError
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.places import Text

Array = np.ndarray[Any, Any]
X = np.array([0.51, 0.75, 1.5], np.float32)


def op(body: str) -> str:
    return f"fn op(x: T) -> T {{ {body} }}\n"


def loops(count: int, leave: str) -> str:
    """Return loops in loops, each of one round, which reads a variable of the outermost."""
    heads = [f"for (var k{n} = 0; k{n} < 1; k{n}++) {{ var t{n} = s;" for n in range(count)]
    ends = [f"s += t{n}; {leave} }}" for n in reversed(range(count))]
    return op(f"var s = x; {' '.join(heads)} s += x; {' '.join(ends)} return s;")


def after_loops(x: Array, count: int) -> Array:
    total = 2 * x
    for _ in range(count):
        total = total + x
    return total


def chain(count: int) -> str:
    calls = [f"fn g{n}(x: T) -> T {{ return g{n - 1}(x) + 0.25 * x; }}" for n in range(1, count)]
    return "\n".join(("fn g0(x: T) -> T { return x; }", *calls, op(f"return g{count - 1}(x);")))


BRANCHES = " ".join(f"else if (x > {3 - n / 100}) {{ s += {n}.0; }}" for n in range(60))
RETURNS = " ".join(f"if (x < {n / 50}) {{ return x * {n}.0; }}" for n in range(60))
SKIPS = " ".join(
    f"s += x; if (x < {n / 20}) {{ {'break' if n % 2 else 'continue'}; }}" for n in range(20)
)
DEEP: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "operands": (op(f"return x{' + x' * 900};"), lambda x: 901 * x),
    "factors": (op(f"return x * (1.0{' + 0.25 * x' * 300});"), lambda x: x * (1 + 75 * x)),
    "parentheses": (op(f"return {'(' * 490}x{')' * 490};"), lambda x: x),
    "prefixes": (op(f"return {'-(' * 240}x{')' * 240};"), lambda x: x),
    "calls": (op(f"return {'abs(' * 400}x{')' * 400};"), lambda x: x),
    "else-ifs": (op(f"var s = x; if (x > 3.0) {{ return x; }} {BRANCHES} return s;"), lambda x: x),
    "returns": (
        op(f"{RETURNS} return x;"),
        lambda x: np.where(x < 1.18, x * (np.floor(x * 50) + 1), x),
    ),
    "skipped rounds": (
        op(f"var s = 0.0 * x; for (var k = 0; k < 3; k++) {{ {SKIPS} }} return s;"),
        lambda x: x * np.where(x < 0.95, np.where(x < 0.7, 12, 51), 60),
    ),
    "branches": (op(f"var s = x; {'if (s > 0.0) { ' * 120}s = x * x;{'}' * 120} return s;"),
                 lambda x: x * x),
    "loops": (loops(40, ""), lambda x: after_loops(x, 40)),
    "loops that are left": (loops(40, "if (x > 9.0) { return x; }"), lambda x: after_loops(x, 40)),
    "functions": (chain(700), lambda x: x * (1 + 699 / 4)),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["cpu", "simulator"])
@pytest.mark.parametrize("what", DEEP)
def test_deep_texts_are_derived_and_simulated(what: str, backend: str) -> None:
    text, wanted = DEEP[what]
    before = sys.getrecursionlimit()
    wk.signature("Deep")(lambda x, /: x.like())
    wk.wgsl_kernel("Deep", text, gradient="derive", cpu="derive")
    with wk.use_backend(backend):
        x = wk.tensor(X)
        values = wk.run("Deep", x).numpy()
        slopes = wk.grad(lambda x: wk.sum(wk.run("Deep", x)))(x).numpy()

    wide, h = X.astype(np.float64), 1e-4
    np.testing.assert_allclose(values, wanted(wide), rtol=1e-4)
    np.testing.assert_allclose(
        slopes, (wanted(wide + h) - wanted(wide - h)) / (2 * h), rtol=1e-3, atol=1e-3
    )
    assert sys.getrecursionlimit() == before


def test_statements_in_too_many_others_are_refused_at_their_function() -> None:
    many = "if (x > 0.0) { return 1.0; } " * 7
    text = f"fn f(x: f32) -> f32 {{ {f'if (x > 0.0) {{ {many}' * 60}{'}' * 60} return x; }}"
    compiler = ModuleCompiler(parse(Text("deep.wgsl", text)), {})
    with pytest.raises(RefusedError, match="in too many others to be run on NumPy") as caught:
        compiler.function("f")
    assert caught.value.begin == text.index("f(x")


@pytest.mark.parametrize("form", [None, "window", "product"])
def test_deep_texts_of_other_forms_are_derived(form: Any) -> None:
    deep = f"a{' + a' * 600}"
    sums = "fn init() -> f32 { return 0.0; }\nfn combine(a: f32, b: f32) -> f32 { return a + b; }\n"
    maps = "".join(f"fn {one}(a: f32) -> f32 {{ return {deep}; }}\n" for one in ("lift", "finish"))
    text, x, attrs = f"{sums}{maps}", np.ones((1, 2, 2, 1)), {"axis": -1}
    how: dict[str, Any] = {"form": form}
    if form == "product":
        text = f"""fn a_at(b: u32, row: u32, k: u32) -> T_x {{ return x[row * params.depth + k]; }}
fn b_at(b: u32, k: u32, col: u32) -> T_x {{ return x[col * params.depth + k]; }}
fn term(a: f32, b: f32, sum: f32) -> f32 {{ return sum + ({deep}) * b; }}
"""
        x, how = np.ones((2, 2)), {"form": form, "params": lambda x_shape: {"depth": x_shape[-1]}}
        wk.signature("Deep")(lambda x, /: x.like(shape=(x.shape[0], x.shape[0])))
    elif form is None:
        wk.signature("Deep")(lambda x, /, *, axis=-1: x.like(shape=x.shape[:-1]))
    wk.wgsl_kernel("Deep", text, gradient="derive", cpu="derive", **how)
    given: dict[str, Any] = {None: attrs, "window": {"filter_size": 2}, "product": {}}[form]
    with wk.use_backend("cpu"):
        slopes = wk.grad(lambda x: wk.sum(wk.run("Deep", x, **given)))(wk.tensor(x)).numpy()

    np.testing.assert_allclose(slopes, 601 * 4 if form == "product" else 601**2)
