"""Windows over images that a user writes: every way to spread them gives what NumPy gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.lowering import window as lower_window
from wgsl_kernels.engine.values.windows import sliding_by

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(8)

L2 = """// y = square root of the sum of x^2 over the window
fn init() -> f32 { return 0.0; }

fn lift(x: T) -> f32 { return f32(x) * f32(x); }

fn combine(a: f32, b: f32) -> f32 { return a + b; }

fn finish(total: f32) -> T_y { return T_y(sqrt(total)); }
"""
MIN = """// y = the smallest of the window, NaN where one of it is
import wgsl_kernels::lib::safe_math::safe_min;

fn init() -> T { return T(wk_inf()); }

fn combine(a: T, b: T) -> T { return T(safe_min(f32(a), f32(b))); }
"""
SPREAD = """// y = variance of the window, of pairs and a struct
struct Total { n: f32, moments: vec2<f32> }
fn init() -> Total { return Total(); }
fn lift(x: T) -> Total { return Total(1.0, vec2<f32>(x, x * x)); }
fn combine(a: Total, b: Total) -> Total { return Total(a.n + b.n, a.moments + b.moments); }
fn finish(t: Total) -> T_y {
  let mean = t.moments / t.n;
  return mean.y - mean.x * mean.x;
}
"""
SUM = """
fn init() -> T { return T(); }
fn combine(a: T, b: T) -> T { return a + b; }
"""
PLACE = """// y = which element of the window is the largest, the first of equals; -1 of none
struct Best { value: f32, number: i32 }

fn init() -> Best { return Best(-3.4e38, -1); }

fn lift(x: T, i: u32) -> Best { return Best(f32(x), i32(i)); }

fn combine(a: Best, b: Best) -> Best {
  if (b.value > a.value) { return b; }
  return a;
}

fn append(a: Best, x: T, i: u32) -> Best {
  if (f32(x) > a.value) { return Best(f32(x), i32(i)); }
  return a;
}

fn finish(best: Best) -> i32 { return best.number; }
"""
COUNT = """
fn init() -> bool { return false; }
fn lift(x: T) -> bool { return x > T(0); }
fn combine(a: bool, b: bool) -> bool { return a || b; }
fn finish(any: bool, n: u32) -> i32 { return select(-i32(n), i32(n), any); }
"""
ANY = """
fn init() -> bool { return false; }
fn combine(a: bool, b: bool) -> bool { return a || b; }
"""

GEOMETRY: list[Any] = [
    ((1, 5, 5, 1), 2, {}),
    ((2, 9, 7, 3), 3, {"strides": 2, "pad": "same"}),
    ((2, 9, 7, 8), 3, {"strides": 2, "pad": "same"}),
    ((2, 6, 8, 4), 2, {}),
    ((3, 6, 6, 68), (3, 2), {"strides": (1, 3), "pad": "same"}),
    ((1, 12, 11, 8), 3, {"strides": 1, "dilations": (2, 3)}),
    ((1, 12, 11, 3), 3, {"strides": 2, "dilations": 2, "pad": "same"}),
    ((1, 14, 13, 4), (6, 5), {"strides": 1, "pad": ((0, 0), (4, 1), (0, 5), (0, 0))}),
    ((1, 3, 3, 4), 3, {"pad": ((0, 0), (5, 5), (2, 2), (0, 0))}),
    ((2, 7, 7, 4), (7, 7), {}),
    ((1, 7, 8, 4), 3, {"strides": 2, "pad": 1, "dim_rounding_mode": "ceil"}),
    ((2, 3, 6, 7), 3, {"strides": (2, 1), "dilations": 2, "pad": 2, "data_format": "NCHW"}),
    ((2, 4, 5, 6, 4), 2, {}),
    ((1, 4, 5, 4, 3), (2, 3, 2), {"strides": (1, 2, 1), "pad": "same", "dilations": (2, 1, 1)}),
    ((2, 3, 4, 5, 4), (3, 2, 4), {"strides": 1, "pad": ((0, 0), (2, 3), (0, 1), (1, 0), (0, 0))}),
    ((2, 3, 4, 5, 3), (3, 2, 2), {"strides": 1, "pad": 1, "data_format": "NCDHW"}),
]


def seen(x: Any, size: Any, attrs: dict[str, Any], of: Callable[[Any, int], Any]) -> Any:
    """Return ``of(elements, first number's row length)`` for each window and channel."""
    sliding = sliding_by("Seen", x.shape, {"filter_size": size, **attrs})
    first = 2 if sliding.is_channels_first else 1
    every = slice(first, first + len(sliding.axes))
    found = np.empty(sliding.out_shape, np.float64)
    for place in np.ndindex(*found.shape):
        elements = []
        for number, tap in enumerate(np.ndindex(*[axis.window for axis in sliding.axes])):
            moved = zip(sliding.axes, place[every], tap, strict=True)
            at = [i * axis.stride + p * axis.dilation - axis.before for axis, i, p in moved]
            if all(0 <= i < axis.size for i, axis in zip(at, sliding.axes, strict=True)):
                elements.append((number, x[(*place[:first], *at, *place[every.stop :])]))
        found[place] = of(elements, len(elements))
    return found


def first_largest(elements: Any, _n: int) -> int:
    """Return the number of the largest element, -1 of none."""
    return max(elements, key=lambda one: (one[1], -one[0]))[0] if elements else -1


@pytest.mark.parametrize(("shape", "size", "attrs"), GEOMETRY)
@pytest.mark.parametrize("loops", [1 << 15, 4])
def test_every_geometry_sees_what_lies_on_the_image(
    window: Any, monkeypatch: pytest.MonkeyPatch, shape: Any, size: Any, attrs: Any, loops: int
) -> None:
    monkeypatch.setattr(lower_window, "LOOPS", loops)
    monkeypatch.setattr(lower_window, "SMALL", min(loops, lower_window.SMALL))
    x = RNG.integers(-4, 4, shape).astype(np.float32)
    given = wk.tensor(x)

    places = window(PLACE)(given, size, **attrs)
    signs = window(COUNT)(given, size, **attrs)

    assert places.dtype == signs.dtype == "int32"
    np.testing.assert_array_equal(places.numpy(), seen(x, size, attrs, first_largest))
    expected = seen(x, size, attrs, lambda e, n: n if any(v > 0 for _, v in e) else -n)
    np.testing.assert_array_equal(signs.numpy(), expected)


@pytest.mark.parametrize("channels", [1, 4])
def test_a_norm_of_windows_is_near_the_formula_in_float64(window: Any, channels: int) -> None:
    x = RNG.normal(size=(2, 11, 13, channels)).astype(np.float32)
    attrs = {"strides": 2, "pad": "same"}
    y = window(L2)(wk.tensor(x), 5, **attrs).numpy()
    expected = seen(x, 5, attrs, lambda e, _n: np.sqrt(sum(float(v) ** 2 for _, v in e)))
    np.testing.assert_allclose(y, expected, rtol=3e-6)


@pytest.mark.parametrize("channels", [3, 8])
def test_nan_and_infinity_reach_the_windows_that_see_them(window: Any, channels: int) -> None:
    x = RNG.normal(size=(1, 9, 9, channels)).astype(np.float32)
    x[0, 2, 3], x[0, 6, 6], x[0, 7, 1] = np.nan, -np.inf, np.inf
    y = window(MIN)(wk.tensor(x), 3, strides=1, pad=2).numpy()
    expected = seen(
        x, 3, {"strides": 1, "pad": 2}, lambda e, _n: np.min([np.inf, *(v for _, v in e)])
    )
    np.testing.assert_array_equal(y, expected.astype(np.float32))


@pytest.mark.parametrize("channels", [1, 4])
def test_one_text_serves_every_dtype_of_the_device(window: Any, channels: int) -> None:
    run = window(SUM)
    whole = RNG.integers(-9, 9, (2, 6, 7, channels))
    supports = wk.tensor([0.0])._driver.supports
    for dtype in ("float32", "int32", "complex64", "float16"):
        if supports(dtype):
            x = whole.astype(dtype)
            x = x * (1 + 2j) if dtype == "complex64" else x
            y = run(wk.tensor(x), 2).numpy()
            expected = x[:, :, :6].reshape(2, 3, 2, 3, 2, channels).sum((2, 4))
            np.testing.assert_array_equal(y, expected)
    flags = whole > 5
    y = window(ANY)(wk.tensor(flags), 2)
    assert y.dtype == "bool"
    expected = flags[:, :, :6].reshape(2, 3, 2, 3, 2, channels).any((2, 4))
    np.testing.assert_array_equal(y.numpy(), expected)


def test_views_numbers_and_empty_images_are_seen(window: Any) -> None:
    run = window(SUM)
    x = RNG.integers(-9, 9, (2, 9, 6, 8)).astype(np.float32)
    for part in (np.s_[:, 1:, :, 4:], np.s_[1:, ::2, :, 1:4], np.s_[:, :, 2:4, ::2]):
        plain = x[part]
        expected = seen(plain, 2, {"strides": 1}, lambda e, _n: sum(v for _, v in e))
        np.testing.assert_array_equal(run(wk.tensor(x)[part], 2, strides=1).numpy(), expected)
    turned = wk.permute_dims(wk.tensor(x), (0, 3, 1, 2))
    expected = seen(x.transpose(0, 3, 1, 2), 3, {}, lambda e, _n: sum(v for _, v in e))
    np.testing.assert_array_equal(run(turned, 3).numpy(), expected)

    assert run(wk.tensor([[[[3.0]]]]), 1).tolist() == [[[[3.0]]]]
    assert run(wk.tensor(np.zeros((0, 4, 4, 3), np.float32)), 2).shape == (0, 2, 2, 3)
    assert run(wk.tensor(np.zeros((1, 4, 4, 0), np.float32)), 2).shape == (1, 2, 2, 0)
    empty = wk.tensor(np.zeros((1, 0, 4, 4), np.float32))
    assert run(empty, 1, strides=1, pad=1).tolist() == np.zeros((1, 2, 6, 4)).tolist()


@pytest.mark.parametrize("shape", [(2, 6, 6, 8), (2, 6, 6, 3), (1, 9, 8, 4)])
@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("text", [L2, SPREAD, SUM], ids=["norm", "spread", "sum"])
def test_maps_ride_before_and_behind_bit_for_bit(
    window: Any, text: str, shape: Any, size: int
) -> None:
    run = window(text)
    x = wk.tensor(RNG.normal(size=shape).astype(np.float32))

    def f() -> wk.Tensor:
        return wk.tanh(run(wk.exp(x) * 0.3, size, pad="same") - 0.125)

    with wk.config.using(fusion="never"):
        alone = f().numpy()
    with wk.config.using(fusion="always"):
        found = wk.explain(f)

    np.testing.assert_array_equal(found.result.numpy().view(np.int32), alone.view(np.int32))
    assert [row.label for row in found.dispatches] == ["Exp + Multiply + Seen + Sub + Tanh"]


def test_maps_in_front_are_not_computed_for_every_window_that_sees_an_element(window: Any) -> None:
    run = window(L2)
    x = wk.tensor(RNG.normal(size=(1, 9, 9, 4)).astype(np.float32))
    with wk.config.using(fusion="always"):
        found = wk.explain(lambda: run(wk.exp(x), 3, strides=1) + 1.0)
    assert [row.label for row in found.dispatches] == ["Exp", "Seen + Add"]


def test_a_captured_window_replays(window: Any) -> None:
    run = window(MIN)
    fast = wk.capture(lambda x: run(x, 2) + 1.0)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(2, 6, 6, 4)).astype(np.float32)
        expected = x.reshape(2, 3, 2, 3, 2, 4).min((2, 4)) + 1
        np.testing.assert_array_equal(fast(wk.tensor(x)).numpy(), expected)
    fast.dispose()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "fn init() -> f32 { return 0.0; }\n",
            "seen.wgsl:1:4: a window needs fn combine, which is missing; want fn combine(a: A, "
            "b: A) -> A. There is fn init.",
        ),
        (
            SUM.strip() + "\nfn finish(total: i32) -> i32 { return total; }\n",
            "seen.wgsl:3:4: Seen: finish has (i32) -> i32; want fn finish(a: T, n: u32) -> T_y, "
            "since init returns T.",
        ),
        (
            SUM.strip() + "\nfn finish(total: T) -> bool { return true; }\n",
            "seen.wgsl:3:4: Seen: finish has bool for y, which is f32.",
        ),
    ],
)
def test_a_function_that_does_not_fit_is_shown_with_what_was_wanted(
    window: Any, text: str, says: str
) -> None:
    run = window(text)
    wk.signature("Seen", override=True)(lambda x, /, *, filter_size: x.like(shape=(1, 1, 1, 1)))
    with pytest.raises(wk.ShaderError) as caught:
        run(wk.tensor([[[[1.0]]]]), 1)
    assert says in str(caught.value)


def test_attributes_and_shapes_that_do_not_fit_are_refused(window: Any) -> None:
    run = window(SUM)
    with pytest.raises(wk.ShapeError, match=r"Seen: a window moves over images; x is \[3\]; want"):
        run(wk.tensor([1.0, 2.0, 3.0]), 1)
    with pytest.raises(wk.ArgumentError, match=r"Seen: a window needs the attribute filter_size"):
        wk.engine().run_kernel("Seen", {"x": wk.tensor([[[[1.0]]]])}, {})
    with pytest.raises(wk.ArgumentError, match=r"Seen: strides is 0; want 1 or more"):
        run(wk.tensor([[[[1.0]]]]), 1, strides=0)
    with pytest.raises(wk.ShapeError, match=r"the window's height covers 2 elements"):
        run(wk.tensor([[[[1.0]]]]), 2)
    wk.signature("Seen", override=True)(lambda x, /, *, filter_size: x.like())
    with pytest.raises(wk.ShapeError, match=r"the windows give \[1, 1, 1, 1\], the signature says"):
        run(wk.tensor(np.zeros((1, 2, 2, 1), np.float32)), 2)


def test_a_file_that_is_mended_runs_once_it_is_read_again(window: Any, tmp_path: Path) -> None:
    run = window("fn init() -> f32 { return 0.0; }\n")
    with pytest.raises(wk.ShaderError):
        run(wk.tensor([[[[1.0]]]]), 1)
    (tmp_path / "seen.wgsl").write_text(L2)
    assert wk.reload_kernels() == ["Seen"]
    assert run(wk.tensor([[[[3.0]]]]), 1).tolist() == [[[[3.0]]]]
