"""Derived gradients of windows that add: differences, and the rules of pooling and convolution."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.cli.show import gradient_of
from wgsl_kernels.testing import check_gradient

SUM = """fn init() -> f32 { return 0.0; }
fn combine(a: f32, b: f32) -> f32 { return a + b; }
"""
TEXTS = {
    "sums": SUM,
    "roots of means of squares": f"""{SUM}
fn lift(x: T) -> f32 {{ return f32(x) * f32(x); }}
fn finish(a: f32, n: u32) -> T_y {{ return T_y(sqrt(a / f32(max(n, 1u)) + 0.1)); }}
""",
    "weighed elements": f"""struct Attrs {{ weights: vec4<f32> }}
{SUM}
fn lift(x: T, i: u32) -> f32 {{ return sin(f32(x)) * attrs.weights[i]; }}
""",
    "two sums": """struct Sums { one: f32, other: f32 }
fn init() -> Sums { return Sums(0.0, 0.0); }
fn lift(x: T, i: u32) -> Sums { return Sums(f32(x), sin(f32(x)) * f32(i)); }
fn combine(a: Sums, b: Sums) -> Sums { return Sums(a.one + b.one, a.other + b.other); }
fn finish(a: Sums) -> T_y { return T_y(0.1 * a.one * a.other); }
""",
}
WEIGHTS = (0.5, -1.0, 2.0, 0.25)
Shape = tuple[int, ...]
APART: dict[str, Any] = {"filter_size": 2, "strides": (2, 1), "pad": 1, "dilations": 2}
FIRST: dict[str, Any] = {"filter_size": 2, "strides": 1, "data_format": "NCHW"}
MOVES: dict[str, tuple[Shape, Shape, dict[str, Any]]] = {
    "side by side": ((2, 5, 6, 3), (2, 3, 4, 1), {"filter_size": 2}),
    "overlapping": ((1, 4, 5, 2), (1, 3, 3, 2), {"filter_size": 2, "strides": 1, "pad": "same"}),
    "apart": ((2, 7, 6, 2), (1, 5, 4, 1), APART),
    "channels first": ((2, 3, 4, 5), (1, 2, 3, 3), FIRST),
    "volumes": ((1, 3, 4, 5, 2), (1, 2, 3, 3, 1), {"filter_size": (1, 2, 2), "strides": 1}),
    "padding alone": ((1, 2, 2, 1), (1, 2, 2, 1), {"filter_size": 2, "strides": 2, "pad": 2}),
}
"""An input that both backends get, a small one for differences, and how windows move."""


def register(text: str) -> Callable[..., wk.Tensor]:
    wk.wgsl_kernel("Windows", text, form="window", gradient="derive", cpu="derive")
    more = {"weights": WEIGHTS} if "weights" in text else {}

    def f(x: wk.Tensor, **moves: Any) -> wk.Tensor:
        found = wk.engine().run_kernel("Windows", {"x": x}, {**moves, **more})
        assert isinstance(found, wk.Tensor)
        return found

    return f


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("name", TEXTS)
def test_a_window_that_adds_has_the_gradients_of_differences_twice(name: str, moves: str) -> None:
    f = register(TEXTS[name])
    shape, small, attrs = MOVES[moves]
    x, few = (np.random.default_rng(0).uniform(0.5, 1.5, one) for one in (shape, small))

    def slopes(x: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.grad(lambda x: wk.sum(wk.sin(f(x, **attrs))))(x)
        return found

    def second(x: wk.Tensor) -> wk.Tensor:
        found: wk.Tensor = wk.grad(lambda x: wk.sum(slopes(x) * x))(x)
        return found

    with wk.use_backend("cpu"):
        check_gradient(lambda x: f(x, **attrs), [few])
        check_gradient(slopes, [few])
        wide = wk.tensor(x, dtype="float64")
        exact = [g(wide).numpy() for g in (slopes, second)]
    with wk.use_backend("webgpu"):
        for g, want in zip((slopes, second), exact, strict=True):
            found = g(wk.tensor(x)).numpy()
            np.testing.assert_allclose(found, want, atol=2e-5 * (1 + np.abs(want).max()))


@pytest.mark.parametrize("pad", ["valid", "same", 1])
def test_a_mean_has_the_gradient_of_pooling(backend: str, pad: Any) -> None:
    f = register(f"{SUM}fn finish(a: f32, n: u32) -> f32 {{ return a / f32(n); }}\n")
    attrs = {"filter_size": (3, 2), "strides": (2, 1), "pad": pad}
    x = np.random.default_rng(0).uniform(0.5, 1.5, (2, 6, 5, 4)).astype(np.float32)
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(wk.exp(f(x, **attrs))))(wk.tensor(x)).numpy()
        want = wk.grad(lambda x: wk.sum(wk.exp(wk.avg_pool(x, **attrs))))(wk.tensor(x)).numpy()

    np.testing.assert_allclose(found, want, rtol=2e-5)


@pytest.mark.parametrize("dilation", [1, 2])
def test_weighed_elements_have_the_gradient_of_a_convolution(backend: str, dilation: int) -> None:
    f = register(TEXTS["weighed elements"].replace("sin(f32(x))", "f32(x)"))
    x = np.random.default_rng(0).uniform(0.5, 1.5, (2, 6, 5, 3)).astype(np.float32)
    weights = np.tile(np.reshape(WEIGHTS, (2, 2, 1, 1)), (1, 1, 3, 1)).astype(np.float32)

    def own(x: wk.Tensor) -> wk.Tensor:
        return f(x, filter_size=2, strides=1, pad="same", dilations=dilation)

    def theirs(x: wk.Tensor) -> wk.Tensor:
        given = wk.tensor(weights)
        return wk.depthwise_conv2d(x, given, strides=1, pad="same", dilations=dilation)

    with wk.use_backend(backend):
        found, want = (
            wk.grad(lambda x, g=g: wk.sum(wk.exp(g(x))))(wk.tensor(x)).numpy()
            for g in (own, theirs)
        )
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("halves_anywhere")
def test_half_precision_is_derived_by_its_own_types() -> None:
    f = register(TEXTS["roots of means of squares"])
    x = np.linspace(0.5, 1.5, 48).reshape(1, 4, 6, 2)
    found = []
    where: str
    dtype: Any
    for where, dtype in (("cpu", "float64"), ("cpu", "float16"), ("webgpu", "float16")):
        with wk.use_backend(where):
            g = wk.grad(lambda x: wk.sum(f(x, filter_size=3, strides=1)))
            dx = g(wk.tensor(x, dtype=dtype))
            assert dx.dtype == dtype
            found.append(dx.numpy().astype(np.float64))

    np.testing.assert_allclose(found[1], found[0], atol=5e-3)
    np.testing.assert_allclose(found[2], found[0], atol=5e-3)


def test_a_signature_names_the_input_and_its_attributes(backend: str) -> None:
    wk.wgsl_kernel("Windows", TEXTS["two sums"], form="window", gradient="derive", cpu="derive")

    @wk.signature("Windows")
    def _shape(image: wk.Spec, /, *, filter_size: int) -> wk.Spec:
        batch, rows, cols, channels = image.shape
        return image.like(shape=(batch, rows // filter_size, cols // filter_size, channels))

    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    with wk.use_backend(backend):
        dx = wk.grad(lambda x: wk.sum(wk.run("Windows", x, filter_size=2)))(wk.tensor(x)).numpy()

    corner = x[0, :2, :2, 0].ravel().astype(np.float64)
    others = (np.sin(corner) * range(4)).sum()
    want = 0.1 * (others + corner.sum() * np.cos(corner) * range(4))
    np.testing.assert_allclose(dx[0, :2, :2, 0].ravel(), want, rtol=1e-4, atol=1e-5)


def test_a_window_that_does_not_add_is_refused_with_the_reason() -> None:
    text = SUM.replace("a + b", "max(a, b)")
    with pytest.raises(wk.ShaderError, match="takes windows that add") as caught:
        wk.wgsl_kernel("Refused", text, form="window", gradient="derive")

    assert ":2:4" in str(caught.value)
    assert wk.get_kernel("Refused", "webgpu") is None
    wk.wgsl_kernel("Largest", text, form="window", cpu="derive")
    with wk.use_backend("cpu"):
        x = {"x": wk.reshape(wk.arange(16.0), (1, 4, 4, 1))}
        y = wk.engine().run_kernel("Largest", x, {"filter_size": 2})
        assert isinstance(y, wk.Tensor)
        assert y.numpy().ravel().tolist() == [5.0, 7.0, 13.0, 15.0]


def test_show_says_what_the_gradient_of_a_window_costs() -> None:
    register(TEXTS["sums"])

    assert "one pass over the places of the window" in gradient_of("Windows", "x")


@pytest.mark.parametrize("form", ["scan", "window"])
def test_without_a_signature_the_one_input_is_x(backend: str, form: Any) -> None:
    wk.wgsl_kernel("Plain", SUM, form=form, gradient="derive", cpu="derive")
    attrs: dict[str, Any] = {"axis": 1} if form == "scan" else {"filter_size": 2, "strides": 1}
    x = wk.tensor(np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1))

    def by_name(x: wk.Tensor) -> Any:
        return wk.engine().run_kernel("Plain", {"x": x}, attrs)

    with wk.use_backend(backend):
        plain = wk.grad(lambda x: wk.sum(wk.run("Plain", x, **attrs)))(x)
        named = wk.grad(lambda x: wk.sum(by_name(x)))(x)

    counts = np.arange(3, 0, -1)[:, None] if form == "scan" else np.outer([1, 2, 1], [1, 2, 2, 1])
    for found in (plain, named):
        np.testing.assert_array_equal(found.numpy()[0, ..., 0], np.broadcast_to(counts, (3, 4)))


def test_a_reduction_without_a_signature_wants_one(backend: str) -> None:
    wk.wgsl_kernel("Plain", SUM, cpu="derive")
    words = "Plain: a reduce shader needs a signature"
    with wk.use_backend(backend), pytest.raises(wk.ArgumentError, match=words):
        wk.run("Plain", wk.ones((2, 3)), axis=1)
