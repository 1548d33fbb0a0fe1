"""Gradients of reductions, scans and normalizations from their text, against differences."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.cli.show import gradient_of
from wgsl_kernels.testing import check_gradient

Array = np.ndarray[Any, Any]

COMBINES = {
    "sum": """fn init() -> f32 { return 0.0; }
fn lift(x: T) -> f32 { return LIFT; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn finish(a: f32, n: u32) -> T_y { return T_y(sin(a / f32(max(n, 1u)))); }
""",
    "product": """fn init() -> f32 { return 1.0; }
fn lift(x: T) -> f32 { return 0.6 + 0.3 * (LIFT); }
fn combine(a: f32, b: f32) -> f32 { return a * b; }
""",
    "affine": """struct Map { slope: f32, shift: f32 }
fn init() -> Map { return Map(1.0, 0.0); }
fn lift(x: T) -> Map { return Map(0.8 * (LIFT), x); }
fn combine(a: Map, b: Map) -> Map {
  return Map(a.slope * b.slope, b.slope * a.shift + b.shift);
}
fn finish(a: Map) -> T_y { return T_y(a.slope + a.shift); }
""",
    "logsumexp": """struct Total { largest: f32, sum: f32 }
fn init() -> Total { return Total(-3.4e38, 0.0); }
fn lift(x: T) -> Total { return Total(LIFT, 1.0); }
fn combine(a: Total, b: Total) -> Total {
  let largest = max(a.largest, b.largest);
  return Total(largest, a.sum * exp(a.largest - largest) + b.sum * exp(b.largest - largest));
}
fn finish(a: Total) -> T_y { return T_y(a.largest + log(a.sum)); }
""",
    "best": """struct Best { value: f32, index: u32 }
fn init() -> Best { return Best(-3.4e38, 0u); }
fn lift(x: T, i: u32) -> Best { return Best(LIFT, i); }
fn combine(a: Best, b: Best) -> Best {
  if (b.value > a.value) { return b; }
  return a;
}
fn finish(a: Best) -> T_y { return T_y(a.value * a.value + f32(a.index)); }
""",
    "moments": """struct Moments { n: f32, mean: f32, m2: f32 }
fn init() -> Moments { return Moments(0.0, 0.0, 0.0); }
fn lift(x: T) -> Moments { return Moments(1.0, LIFT, 0.0); }
fn combine(a: Moments, b: Moments) -> Moments {
  let n = a.n + b.n;
  if (n == 0.0) { return a; }
  let d = b.mean - a.mean;
  return Moments(n, a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n);
}
fn finish(a: Moments, n: u32) -> T_y { return T_y(a.m2 / f32(n) + a.mean); }
""",
    "complex product": """fn init() -> vec2<f32> { return vec2<f32>(1.0, 0.0); }
fn lift(x: T) -> vec2<f32> { return vec2<f32>(cos(x), 0.7 * (LIFT)); }
fn combine(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
fn finish(a: vec2<f32>) -> T_y { return T_y(a.x + 0.5 * a.y); }
""",
    "rotation": """fn init() -> mat2x2<f32> { return mat2x2<f32>(1.0, 0.0, 0.0, 1.0); }
fn lift(x: T) -> mat2x2<f32> { return mat2x2<f32>(cos(x), LIFT, -sin(x), 0.9); }
fn combine(a: mat2x2<f32>, b: mat2x2<f32>) -> mat2x2<f32> { return b * a; }
fn finish(a: mat2x2<f32>) -> T_y { return T_y(a[0][0] + a[1][0] * a[0][1]); }
""",
    "several sums": """struct Sums { one: f32, square: f32, weights: f32 }
fn init() -> Sums { return Sums(0.0, 0.0, 0.0); }
fn lift(x: T, i: u32) -> Sums { return Sums(LIFT, x * x, 1.0 / f32(i + 1u)); }
fn combine(a: Sums, b: Sums) -> Sums {
  return Sums(a.one + b.one, a.square + b.square, a.weights + b.weights);
}
fn finish(a: Sums) -> T_y { return T_y(a.one * a.one / (1.0 + a.square) + a.weights); }
""",
    "either in four": """fn init() -> vec4<f32> { return vec4<f32>(0.0); }
fn lift(x: T, i: u32) -> vec4<f32> { return vec4<f32>(LIFT, x, x * x, f32(i)); }
fn combine(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a + b; }
fn finish(a: vec4<f32>) -> T_y { return T_y(a.x * a.y + a.z); }
""",
}
SOFT = COMBINES["logsumexp"].replace("LIFT", "f32(x)").split("fn finish")[0]
NORMALIZED = {
    "softmax": f"""{SOFT}struct Row {{ top: f32, scale: f32 }}
fn settle(a: Total) -> Row {{ return Row(a.largest, 1.0 / a.sum); }}
fn apply(x: T, row: Row) -> T_y {{ return T_y(exp(f32(x) - row.top) * row.scale); }}
""",
    "shares": """struct Attrs { power: f32 }
fn init() -> f32 { return 0.5; }
fn lift(x: T) -> f32 { return pow(x, attrs.power); }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
fn settle(a: f32, n: u32) -> f32 { return f32(n) / a; }
fn apply(x: T, gain: T, scale: f32, i: u32) -> T_y { return T_y(x * gain * scale * f32(i + 1u)); }
""".replace("return 0.5; }", "return 0.0; }"),
    "by a product": """fn init() -> f32 { return 1.0; }
fn lift(x: T) -> f32 { return x; }
fn combine(a: f32, b: f32) -> f32 { return a * b; }
fn apply(x: T, total: f32, gain: T) -> T_y { return T_y(x * gain + total * x); }
""",
}


def rest(x: wk.Spec, axis: Any) -> tuple[int, ...]:
    axes = [one % x.ndim for one in (axis if isinstance(axis, tuple) else (axis,))]
    return tuple([length for at, length in enumerate(x.shape) if at not in axes])


def register(text: str, form: Any = None, name: str = "Derived") -> Callable[..., wk.Tensor]:
    wk.wgsl_kernel(name, text, form=form, gradient="derive", cpu="derive")
    if form is not None:

        @wk.signature(name)
        def _scan(
            x: wk.Spec, /, *, axis: Any = -1, exclusive: bool = False, reverse: bool = False
        ) -> wk.Spec:
            return x.like()
    else:

        @wk.signature(name)
        def _reduced(x: wk.Spec, /, *, axis: Any = -1) -> wk.Spec:
            return x.like(shape=rest(x, axis))

    return lambda x, **attrs: wk.run(name, x, **attrs)


def lifted(seed: int) -> str:
    """Return a smooth random function of x, as WGSL."""
    chosen = random.Random(seed)
    a, b = chosen.uniform(0.3, 1.2), chosen.uniform(-0.5, 0.5)
    return chosen.choice((
        f"{a:.3f} * x + {b:.3f}", f"sin({a:.3f} * x) + {b:.3f}", f"x * x * {a:.3f} - x",
        f"tanh(x * {a:.3f})", f"exp({b:.3f} * x)", f"x / (1.0 + {a:.3f} * x * x)",
        f"sqrt(1.0 + {a:.3f} * x * x)", "x",
    ))  # fmt: skip


def near(f: Callable[[Array], Array], x: Array, at: Array, h: float = 1e-6) -> Array:
    """Return central differences of a sum at some places."""
    found = np.zeros(len(at))
    for n, place in enumerate(at):
        step = np.zeros(x.size)
        step[place] = h
        step = step.reshape(x.shape)
        found[n] = (f(x + step).sum() - f(x - step).sum()) / (2 * h)
    return found


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("seed", range(100))
def test_a_random_accumulation_agrees_with_differences_twice(seed: int) -> None:
    chosen = random.Random(seed)
    name = list(COMBINES)[seed % len(COMBINES)]
    text = COMBINES[name].replace("LIFT", lifted(seed))
    scans = chosen.random() < 0.5
    attrs: dict[str, Any] = {"axis": chosen.choice((0, 1, -1))}
    if scans:
        attrs["reverse"] = chosen.random() < 0.5
        attrs["exclusive"] = name in ("product", "affine", "rotation") and chosen.random() < 0.5
    f = register(text, "scan" if scans else None)
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.3, 1.3, (chosen.choice((2, 5, 19)), chosen.choice((3, 18, 40))))

    def values(dtype: Any, at: Array) -> tuple[Any, Any, Any]:
        given = wk.tensor(at, dtype=dtype)
        y = f(given, **attrs)
        dy = wk.tensor(np.random.default_rng(1).uniform(0.5, 1.5, y.shape), dtype=dtype)
        v = wk.tensor(np.random.default_rng(2).uniform(0.5, 1.5, x.shape), dtype=dtype)
        slope = wk.grad(lambda x: wk.sum(f(x, **attrs) * dy))
        second = wk.grad(lambda x: wk.sum(slope(x) * v))
        return (y * dy, lambda: slope(given) * v, lambda: (slope(given), second(given)))

    with wk.use_backend("cpu"):
        exact = [one.numpy() for one in values("float64", x)[2]()]
        places = rng.choice(x.size, 4, replace=False)
        first = near(lambda at: values("float64", at)[0].numpy(), x, places)
        again = near(lambda at: values("float64", at)[1]().numpy(), x, places)
    np.testing.assert_allclose(exact[0].ravel()[places], first, rtol=2e-5, atol=2e-5, err_msg=text)
    np.testing.assert_allclose(exact[1].ravel()[places], again, rtol=2e-5, atol=2e-5, err_msg=text)
    for where in ("cpu", "webgpu"):
        with wk.use_backend(where):
            for got, want in zip(values("float32", x)[2](), exact, strict=True):
                scale = np.abs(want).max() + 1.0
                np.testing.assert_allclose(got.numpy(), want, atol=2e-4 * scale, err_msg=text)


@pytest.mark.parametrize("name", NORMALIZED)
def test_a_normalization_has_the_gradients_of_differences(name: str) -> None:
    f, slopes, given = normalization(name, (2, 5))
    with wk.use_backend("cpu"):
        check_gradient(f, given)
        check_gradient(slopes, given)


@pytest.mark.parametrize("name", NORMALIZED)
@pytest.mark.parametrize("shape", [(3, 7), (2, 80), (65, 4)])
def test_a_normalization_has_one_second_gradient_on_both_backends(name: str, shape: Any) -> None:
    _, slopes, given = normalization(name, shape)

    def second(*xs: Any) -> wk.Tensor:
        return wk.sum(slopes(*xs))

    with wk.use_backend("cpu"):
        exact = wk.grads(second)(*[wk.tensor(one, dtype="float64") for one in given])
    with wk.use_backend("webgpu"):
        found = wk.grads(second)(*map(wk.tensor, given))
    for got, want in zip(found, exact, strict=True):
        scale = np.abs(want.numpy()).max()
        np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-3 * scale)


def normalization(name: str, shape: tuple[int, int]) -> tuple[Any, Any, list[Array]]:
    """Register a normalization; return it, the squares of its slopes, and what both take."""
    wk.wgsl_kernel("Shares", NORMALIZED[name], gradient="derive", cpu="derive")
    attrs = {"power": 1.5} if name == "shares" else {}
    if name == "softmax":
        wk.signature("Shares")(lambda x, /, *, axis=-1: x.like())
    elif attrs:
        wk.signature("Shares")(lambda x, gain, /, *, axis=-1, power=1.0: x.like())
    else:
        wk.signature("Shares")(lambda x, gain, /, *, axis=-1: x.like())
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.7, 1.2, shape)]
    given += [] if name == "softmax" else [rng.uniform(0.5, 1.5, shape[-1])]

    def f(*xs: Any) -> wk.Tensor:
        return wk.run("Shares", *xs, **attrs)

    def slopes(*xs: Any) -> wk.Tensor:
        found = wk.grads(lambda *a: wk.sum(wk.log(f(*a))))(*xs)
        return wk.concat([wk.reshape(one * one, (-1,)) for one in found], axis=0)

    return f, slopes, given


def test_several_axes_and_long_rows_are_reduced(backend: str) -> None:
    f = register(COMBINES["product"].replace("LIFT", "x"))
    rng = np.random.default_rng(0)
    x = rng.uniform(1.0, 1.6, (3, 300, 2)).astype(np.float32)
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(f(x, axis=(0, 1))))(wk.tensor(x)).numpy()
    factors = 0.6 + 0.3 * x.astype(np.float64)
    want = 0.3 * factors.prod((0, 1), keepdims=True) / factors

    np.testing.assert_allclose(found, want, rtol=5e-4)


def test_ties_of_a_maximum_go_to_the_first(backend: str) -> None:
    f = register(
        "fn init() -> f32 { return -3.4e38; }\nfn lift(x: T) -> f32 { return x; }\n"
        "fn combine(a: f32, b: f32) -> f32 { return max(a, b); }\n"
    )
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(f(x)))(wk.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]))

    assert found.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("form", [None, "scan"])
@pytest.mark.parametrize("apart", ["min(a, b) - max(a, b)", "-abs(a - b)", "-abs(b - (a))"])
def test_what_is_smooth_by_way_of_the_larger_has_its_slope_at_ties(apart: str, form: Any) -> None:
    f = register(
        "fn init() -> f32 { return -1e30; }\nfn combine(a: f32, b: f32) -> f32 {\n"
        f"  return max(a, b) + log(1.0 + exp({apart}));\n}}\n",
        form,
    )
    with wk.use_backend("cpu"):
        found = wk.grad(lambda x: wk.sum(f(x)))(wk.zeros((1, 3)))

    want = [1.0 + 1 / 2 + 1 / 3, 1 / 2 + 1 / 3, 1 / 3] if form == "scan" else [1 / 3] * 3
    np.testing.assert_allclose(found.numpy(), [want], rtol=1e-6)


def test_a_product_keeps_the_gradient_at_zeros(backend: str) -> None:
    f = register("fn init() -> T { return T(1.0); }\n"
                 "fn combine(a: T, b: T) -> T { return a * b; }\n")  # fmt: skip
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(f(x)))(wk.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 3.0]]))

    assert found.tolist() == [[0.0, 6.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.usefixtures("halves_anywhere")
@pytest.mark.parametrize("form", [None, "scan"])
def test_half_precision_is_derived_by_its_own_types(form: Any) -> None:
    f = register(COMBINES["moments"].replace("LIFT", "f32(x)"), form)
    x = np.linspace(0.5, 1.5, 12).reshape(2, 6)
    found = []
    where: str
    dtype: Any
    for where, dtype in (("cpu", "float64"), ("cpu", "float16"), ("webgpu", "float16")):
        with wk.use_backend(where):
            dx = wk.grad(lambda x: wk.sum(f(x)))(wk.tensor(x, dtype=dtype))
            assert dx.dtype == dtype
            found.append(dx.numpy().astype(np.float64))

    np.testing.assert_allclose(found[1], found[0], atol=5e-3)
    np.testing.assert_allclose(found[2], found[0], atol=5e-3)


def test_a_kernel_of_integers_has_a_cpu_kernel_too() -> None:
    wk.wgsl_kernel(
        "Total",
        "fn init() -> T { return T(0); }\nfn combine(a: T, b: T) -> T { return a + b; }\n",
        cpu="derive",
    )
    wk.signature("Total")(lambda x, /, *, axis=-1: x.like(shape=rest(x, axis)))
    with wk.use_backend("cpu"):
        assert wk.run("Total", wk.tensor([[1, 2], [3, 4]]), axis=0).tolist() == [4, 6]


SUMS = {
    "sums": "",
    "sums of cubes by a factor": """struct Attrs { by: f32 }
fn lift(x: T) -> f32 { return x * x * x * attrs.by; }
fn finish(a: f32) -> f32 { return -0.5 * a; }
""",
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_that_adds_has_the_gradients_of_differences(
    name: str, exclusive: bool, reverse: bool
) -> None:
    head = "fn init() -> f32 { return 0.0; }\nfn combine(a: f32, b: f32) -> f32 { return a + b; }\n"
    wk.wgsl_kernel("Sums", head + SUMS[name], form="scan", gradient="derive", cpu="derive")

    @wk.signature("Sums")
    def _scan(
        x: wk.Spec, /, *, axis: int = 1, exclusive: bool = False, reverse: bool = False,
        by: float = 1.5,
    ) -> wk.Spec:  # fmt: skip
        return x.like()

    x, v = np.random.default_rng(0).uniform(0.5, 1.5, (2, 2, 7, 3))

    def f(x: wk.Tensor) -> wk.Tensor:
        return wk.run("Sums", x, axis=1, exclusive=exclusive, reverse=reverse)

    def slopes(x: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.grad(lambda x: wk.sum(f(x) * f(x) * wk.tensor(v, dtype=x.dtype)))(x)
        return found

    with wk.use_backend("cpu"):
        check_gradient(f, [x])
        check_gradient(slopes, [x])
        exact = wk.grad(lambda x: wk.sum(slopes(x) * x))(wk.tensor(x, dtype="float64"))
    with wk.use_backend("webgpu"):
        found = wk.grad(lambda x: wk.sum(slopes(x) * x))(wk.tensor(x))
        dispatches = wk.profile(lambda: wk.evaluate(wk.grad(lambda x: wk.sum(f(x)))(wk.tensor(x))))
    np.testing.assert_allclose(found.numpy(), exact.numpy(), rtol=2e-4, atol=1e-4)
    assert "Cumsum" in str(dispatches)
    assert "costs a scan" in gradient_of("Sums", "x")


def test_empty_rows_have_empty_gradients(backend: str) -> None:
    f = register(COMBINES["product"].replace("LIFT", "x"))
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(f(x)))(wk.zeros((3, 0)))

    assert found.shape == (3, 0)


def test_show_says_what_a_gradient_costs() -> None:
    register(COMBINES["moments"].replace("LIFT", "x"))
    register(COMBINES["sum"].replace("LIFT", "x").split("fn finish")[0], name="Plain")

    assert "costs 3 passes" in gradient_of("Derived", "x")
    assert "costs one pass over the elements" in gradient_of("Plain", "x")


REFUSED = {
    "integers": (
        "fn init() -> i32 { return 0; }\nfn lift(x: f32) -> i32 { return bitcast<i32>(x); }\n"
        "fn combine(a: i32, b: i32) -> i32 { return max(a, b); }\n"
        "fn finish(a: i32) -> f32 { return f32(a); }\n",
        "holds no float",
    ),
    "bits": (
        "fn init() -> f32 { return 0.0; }\n"
        "fn combine(a: f32, b: f32) -> f32 { return bitcast<f32>(bitcast<u32>(a)) + b; }\n",
        "bitcast takes a number apart",
    ),
    "results": (
        "fn init() -> f32 { return 0.0; }\n"
        "fn combine(a: f32, b: f32) -> f32 { return a + b; }\n"
        "fn finish(a: f32) -> i32 { return i32(a); }\n",
        "wants floats; its result: i32",
    ),
    "a main": (
        "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
        "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
        "@compute @workgroup_size(1)\nfn main() { y[0] = x[0]; }\n",
        "no atomics that are deterministic",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_followed_is_refused_at_registration(what: str) -> None:
    text, words = REFUSED[what]
    with pytest.raises(wk.ShaderError) as caught:
        wk.wgsl_kernel("Refused", text, gradient="derive")

    assert words in str(caught.value)
    assert wk.get_kernel("Refused", "webgpu") is None


def test_an_edited_reduction_gives_another_gradient(tmp_path: Any) -> None:
    path = tmp_path / "powers.wgsl"
    text = COMBINES["product"].replace("LIFT", "x")
    path.write_text(text)
    f = register(str(path))
    slope = wk.grad(lambda x: wk.sum(f(x)))
    before = slope(wk.tensor([[1.0, 2.0]])).tolist()

    path.write_text(text.replace("0.6 + 0.3 * (x)", "x"))
    assert "Derived" in wk.reload_kernels()
    assert before != [[2.0, 1.0]]
    for where in ("cpu", "webgpu"):
        with wk.use_backend(where):
            assert slope(wk.tensor([[1.0, 2.0]])).tolist() == [[2.0, 1.0]]
