"""Derived gradients of accumulators that write one value in several ways, against differences.

A random accumulator has a gauge ``g``, which says nothing of its value: ``same`` writes it in
another, and ``combine`` ends in one that depends on both of what it combines, or on elements.
"""

import random
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

VALUES = {
    "a sum v + g": """struct R { v: f32, g: f32 }
fn same(a: R, g: f32) -> R { return R(a.v + a.g - g, g); }
fn init() -> R { return R(0.0, 0.0); }
fn single(x: f32) -> R { return R(sin(x), 0.0); }
fn join(a: R, b: R) -> R { return R(a.v + b.v, a.g + b.g); }
fn finish(a: R) -> f32 { return cos(0.1 * (a.v + a.g)); }
""",
    "a product v e^g": """struct R { v: f32, g: f32 }
fn same(a: R, g: f32) -> R { return R(a.v * exp(a.g - g), g); }
fn init() -> R { return R(1.0, 0.0); }
fn single(x: f32) -> R { return R(0.7 + 0.3 * x, 0.0); }
fn join(a: R, b: R) -> R { return R(a.v * b.v, a.g + b.g); }
fn finish(a: R) -> f32 { return a.v * exp(a.g); }
""",
    "a logarithm of a sum, g + log v": """struct R { v: f32, g: f32 }
fn same(a: R, g: f32) -> R { return R(a.v * exp(a.g - g), g); }
fn init() -> R { return R(0.0, 0.0); }
fn single(x: f32) -> R { return R(1.0, x); }
fn join(a: R, b: R) -> R { return R(a.v * exp(a.g - b.g) + b.v, b.g); }
fn finish(a: R) -> f32 { return a.g + log(a.v); }
""",
    "a fraction n / d": """struct R { n: f32, d: f32, g: f32 }
fn same(a: R, g: f32) -> R { return R(a.n * exp(a.g - g), a.d * exp(a.g - g), g); }
fn init() -> R { return R(0.0, 1.0, 0.0); }
fn single(x: f32) -> R { return R(0.1 * x, 1.0 + 0.1 * x * x, 0.0); }
fn join(a: R, b: R) -> R {
  let d = 1.0 / abs(a.d * b.d);
  return R((a.n * b.d + b.n * a.d) * d, a.d * b.d * d, 0.0);
}
fn finish(a: R) -> f32 { return a.n / a.d; }
""",
    "a line (p x + q) e^g": """struct R { p: f32, q: f32, g: f32 }
fn same(a: R, g: f32) -> R { return R(a.p * exp(a.g - g), a.q * exp(a.g - g), g); }
fn init() -> R { return R(1.0, 0.0, 0.0); }
fn single(x: f32) -> R { return R(0.9 * cos(x), x, 0.0); }
fn join(a: R, b: R) -> R { return R(a.p * b.p, b.p * a.q + b.q * exp(-a.g), a.g + b.g); }
fn finish(a: R) -> f32 { return (a.p + a.q) * exp(a.g); }
""",
    "a quaternion q e^g": """struct R { q: vec4<f32>, g: f32 }
fn same(a: R, g: f32) -> R { return R(a.q * exp(a.g - g), g); }
fn init() -> R { return R(vec4<f32>(0.0, 0.0, 0.0, 1.0), 0.0); }
fn single(x: f32) -> R { return R(vec4<f32>(sin(x) * vec3<f32>(0.6, 0.8 * x, 0.3), cos(x)), 0.0); }
fn join(a: R, b: R) -> R {
  let v = a.q.w * b.q.xyz + b.q.w * a.q.xyz + cross(a.q.xyz, b.q.xyz);
  return R(vec4<f32>(v, a.q.w * b.q.w - dot(a.q.xyz, b.q.xyz)), a.g + b.g);
}
fn finish(a: R) -> f32 { return (a.q.x - 2.0 * a.q.z) * inverseSqrt(dot(a.q, a.q)); }
""",
    "moments about g": """struct R { n: f32, s: f32, q: f32, g: f32 }
fn same(a: R, g: f32) -> R {
  let d = a.g - g;
  return R(a.n, a.s + a.n * d, a.q + 2.0 * d * a.s + a.n * d * d, g);
}
fn init() -> R { return R(0.0, 0.0, 0.0, 0.0); }
fn single(x: f32) -> R { return R(1.0, 0.0, 0.0, x * x); }
fn join(a: R, b: R) -> R {
  let c = same(b, a.g);
  return R(a.n + c.n, a.s + c.s, a.q + c.q, a.g);
}
fn finish(a: R, n: u32) -> f32 {
  let mean = a.s / f32(max(n, 1u));
  return a.q / f32(max(n, 1u)) - mean * mean + a.g + mean;
}
""",
}
GAUGES = (
    "0.5 * (a.g + b.g)", "0.4 * a.g - 0.2 * b.g + 0.1", "max(a.g, b.g)", "min(a.g, 0.5 * b.g)",
    "sin(a.g + 2.0 * b.g)", "select(a.g, 0.3 * b.g, a.g < b.g)", "a.g", "b.g", "0.2",
)  # fmt: skip
SHAPES = ((2, 3), (1, 18), (3, 40), (2, 100), (66, 72), (65, 7))


def text_of(name: str, chosen: random.Random) -> str:
    """Return a random accumulation."""
    gauge, first = chosen.choice(GAUGES), chosen.uniform(-0.4, 0.4)
    return f"""{VALUES[name]}fn lift(x: T) -> R {{
  return same(single(f32(x)), {first:.3f} * f32(x) * f32(x));
}}
fn combine(a: R, b: R) -> R {{ return same(join(a, b), {gauge}); }}
"""


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("seed", range(56))
def test_what_an_accumulator_means_decides_its_gradient_not_how_it_is_written(seed: int) -> None:
    chosen, rng = random.Random(seed), np.random.default_rng(seed)
    name = list(VALUES)[seed % len(VALUES)]
    text, attrs, shape = text_of(name, chosen), dict[str, Any](), chosen.choice(SHAPES)
    scans = chosen.random() < 0.7
    if scans:
        attrs["reverse"] = chosen.random() < 0.5
        attrs["exclusive"] = "logarithm" not in name and chosen.random() < 0.4
    wk.wgsl_kernel("Derived", text, form="scan" if scans else None, gradient="derive", cpu="derive")
    if scans:
        wk.signature("Derived")(lambda x, /, *, axis=-1, exclusive, reverse: x.like())
    else:
        wk.signature("Derived")(lambda x, /, *, axis=-1: x.like(shape=x.shape[:-1]))

    def f(x: wk.Tensor) -> wk.Tensor:
        return wk.run("Derived", x, **attrs)

    x = rng.uniform(0.5, 1.4, shape)
    v = rng.uniform(0.5, 1.5, shape)
    dy = rng.uniform(0.5, 1.5, shape if scans else shape[:-1])

    def slope(x: Any) -> Any:
        return wk.grad(lambda x: wk.sum(f(x) * wk.tensor(dy, dtype=x.dtype)))(x)

    def second(x: Any) -> Any:
        return wk.grad(lambda x: wk.sum(slope(x) * wk.tensor(v, dtype=x.dtype)))(x)

    def along(g: Any, w: Any, d: Any, h: float = 1e-5) -> float:
        moved = [(g(wk.tensor(x + one * d, dtype="float64")) * w).numpy() for one in (h, -h)]
        return float((moved[0].sum() - moved[1].sum()) / (2 * h))

    with wk.use_backend("cpu"):
        wide = wk.tensor(x, dtype="float64")
        exact = [slope(wide).numpy(), second(wide).numpy()]
        for g, w, found in ((f, dy, exact[0]), (slope, v, exact[1])):
            for _ in range(3):
                d = rng.uniform(-1.0, 1.0, shape) * (rng.uniform(size=shape) < 0.3)
                numeric = along(g, w, d)
                assert (found * d).sum() == pytest.approx(numeric, rel=2e-5, abs=2e-5), text
    with wk.use_backend("webgpu"):
        for got, want in zip((slope, second), exact, strict=True):
            scale = np.abs(want).max() + 1.0
            found = got(wk.tensor(x, dtype="float32")).numpy()
            np.testing.assert_allclose(found, want, atol=3e-4 * scale, err_msg=text)


@pytest.mark.parametrize(
    "backend", ["cpu", pytest.param("webgpu", marks=pytest.mark.gpu), "simulator"]
)
@pytest.mark.parametrize("shape", [(2, 100), (65, 68)])
def test_a_scan_of_products_with_any_exponent_has_the_gradient_of_products(
    backend: str, shape: tuple[int, int]
) -> None:
    text = VALUES["a product v e^g"].replace("0.7 + 0.3 * x", "1.0 + 0.2 * x")
    text += "fn lift(x: T) -> R { return same(single(x), x * x); }\n"
    text += "fn combine(a: R, b: R) -> R { return same(join(a, b), 0.5 * (a.g + b.g)); }\n"
    wk.wgsl_kernel("Derived", text, form="scan", gradient="derive", cpu="derive")
    wk.signature("Derived")(lambda x, /, *, axis=-1: x.like())
    rng = np.random.default_rng(0)
    x, dy = rng.uniform(-1.0, 1.0, (2, *shape)).astype(np.float32)
    with wk.use_backend(backend):
        found = wk.grad(lambda x: wk.sum(wk.run("Derived", x) * dy))(wk.tensor(x)).numpy()

    factors = 1.0 + 0.2 * x.astype(np.float64)
    passed = np.cumsum((dy * np.cumprod(factors, axis=1))[:, ::-1], axis=1)[:, ::-1]
    want = 0.2 * passed / factors
    np.testing.assert_allclose(found, want, atol=1e-4 * np.abs(want).max())
