"""Depthwise convolution: geometry, formats, every shader, large windows, NaN, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu.windows import depthwise as depthwise_cpu
from wgsl_kernels.engine.values.windows import slide
from wgsl_kernels.ops.convolution import depthwise_launch

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ["cpu", "webgpu"]
EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)
SOFTWARE_OR_NOT = pytest.mark.parametrize("is_software", [True, False])
GEOMETRIES: dict[str, dict[str, Any]] = {
    "valid": {},
    "same": {"pad": "same"},
    "same with strides": {"pad": "same", "strides": (3, 2)},
    "number": {"pad": 3, "strides": 2},
    "explicit": {"pad": ((0, 0), (0, 2), (3, 1), (0, 0))},
    "dilated": {"dilations": (2, 3), "pad": "same"},
    "dilated with strides": {"dilations": (1, 2), "strides": (2, 3), "pad": 2},
    "dilated as strides": {"dilations": 2, "strides": (2, 4), "pad": "same"},
    "ceil": {"pad": 1, "strides": 3, "dim_rounding_mode": "ceil"},
}
ALL = pytest.mark.parametrize("geometry", GEOMETRIES)
FILTERS = pytest.mark.parametrize(
    "filter_shape", [(3, 2, 8, 1), (2, 3, 5, 1), (1, 7, 4, 1), (1, 1, 4, 1), (3, 4, 3, 2)], ids=str
)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normal numbers, as float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def convolved(x: np.ndarray, filter: np.ndarray, **geometry: Any) -> np.ndarray:
    """Return an NHWC convolution, one element of the window after another, in float64."""
    options = {"strides": 1, "pad": "valid", **geometry}
    sliding = slide("DepthwiseConv2dNative", x.shape, filter.shape, **options)
    rows, cols = sliding.rows, sliding.cols
    padded = sliding.padded(x.astype(np.float64))
    y = np.zeros((*sliding.out_shape, filter.shape[3]))
    for down in range(rows.window):
        for right in range(cols.window):
            seen = padded[:, rows.places(down), cols.places(right)]
            y += seen[..., np.newaxis] * filter[down, right]
    return y.reshape(*y.shape[:3], -1)


def everything(
    x: np.ndarray, filter: np.ndarray, **geometry: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the result and both gradients."""

    def f(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
        return wk.depthwise_conv2d(x, filter, **geometry)

    inputs = (wk.tensor(x), wk.tensor(filter))
    dy = wk.tensor(drawn(*f(*inputs).shape, seed=2))
    y, (dx, d_filter) = wk.value_and_grads(f)(*inputs, dy=dy)
    return y.numpy(), dx.numpy(), d_filter.numpy()


@EVERYWHERE
@ALL
@FILTERS
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_it_is_right_in_every_geometry_and_format(
    geometry: str, filter_shape: tuple[int, ...], data_format: str, backend: str
) -> None:
    options = GEOMETRIES[geometry]
    x, filter = drawn(2, 9, 11, filter_shape[2]), drawn(*filter_shape, seed=1)
    expected = convolved(x, filter, **options)
    if data_format == "NCHW":
        x, expected = np.moveaxis(x, 3, 1), np.moveaxis(expected, 3, 1)
        if isinstance(options.get("pad"), tuple):
            n, h, w, c = options["pad"]
            options = {**options, "pad": (n, c, h, w)}
    with wk.use_backend(backend):
        y = wk.depthwise_conv2d(wk.tensor(x), wk.tensor(filter), data_format=data_format, **options)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)


@ALL
@FILTERS
@pytest.mark.parametrize(
    ("is_software", "iterations"), [(True, 60_000), (False, 60_000), (False, 4)]
)
def test_gradients_agree_with_the_cpu_in_all_shaders_and_in_parts(
    geometry: str,
    filter_shape: tuple[int, ...],
    is_software: bool,
    iterations: int,
    follow_rules: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, filter = drawn(3, 9, 11, filter_shape[2]), drawn(*filter_shape, seed=1)
    with wk.use_backend("cpu"):
        expected = everything(x, filter, **GEOMETRIES[geometry])
    follow_rules(is_software)
    monkeypatch.setattr(depthwise_launch, "ITERATIONS", iterations)
    with wk.use_backend("webgpu"):
        found = everything(x, filter, **GEOMETRIES[geometry])
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("filter_shape", [(3, 2, 8, 1), (3, 4, 3, 2)])
def test_the_cpu_gives_the_same_block_by_block(
    filter_shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, filter = drawn(3, 9, 11, filter_shape[2]), drawn(*filter_shape, seed=1)
    with wk.use_backend("cpu"):
        expected = everything(x, filter, strides=(1, 2), pad="same")
        monkeypatch.setattr(depthwise_cpu, "BLOCK", 700)
        found = everything(x, filter, strides=(1, 2), pad="same")
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@EVERYWHERE
@pytest.mark.parametrize("channels", [8, 5])
def test_it_reads_views_as_they_are(channels: int, backend: str) -> None:
    x, filter = drawn(9, 5, channels, 2, seed=3), drawn(2, 2, channels, 1, seed=1)
    turned = x.transpose(3, 0, 1, 2)[:, ::-1, 1:]
    with wk.use_backend(backend):
        view = wk.permute_dims(wk.tensor(x), (3, 0, 1, 2))[:, ::-1, 1:]
        y = wk.depthwise_conv2d(view, wk.tensor(filter))
        np.testing.assert_allclose(y.numpy(), convolved(turned, filter), rtol=1e-4, atol=1e-5)


@EVERYWHERE
def test_one_image_needs_no_batch(backend: str) -> None:
    x, filter = drawn(5, 4, 2), drawn(2, 2, 2, 3, seed=1)
    with wk.use_backend(backend):
        assert wk.depthwise_conv2d(x, filter).shape == (4, 3, 6)
        assert wk.fused_depthwise_conv2d(x, filter, bias=1.0).shape == (4, 3, 6)
        assert wk.separable_conv2d(x, filter, drawn(1, 1, 6, 7)).shape == (4, 3, 7)


@EVERYWHERE
@pytest.mark.parametrize(
    ("x_shape", "filter_shape", "pad"),
    [
        ((0, 5, 5, 4), (3, 3, 4, 1), "same"),
        ((2, 5, 5, 0), (3, 3, 0, 1), "same"),
        ((2, 5, 5, 4), (3, 3, 4, 0), "same"),
        ((2, 5, 5, 4), (0, 3, 4, 1), "valid"),
        ((2, 0, 5, 4), (2, 2, 4, 1), 2),
    ],
)
def test_sums_of_nothing_are_zero(
    x_shape: tuple[int, ...], filter_shape: tuple[int, ...], pad: Any, backend: str
) -> None:
    x, filter = np.ones(x_shape, np.float32), np.ones(filter_shape, np.float32)
    with wk.use_backend(backend):
        y, dx, d_filter = everything(x, filter, pad=pad)
        assert not y.any()
        assert (dx.shape, d_filter.shape) == (x_shape, filter_shape)
        assert not dx.any()
        assert not d_filter.any()
        ends: dict[str, Any] = {"bias": [-2.0], "activation": "leakyrelu"}
        fused = wk.fused_depthwise_conv2d(wk.tensor(x), wk.tensor(filter), pad=pad, **ends)
        assert np.all(fused.numpy() == np.float32(-0.4))


def test_windows_larger_than_a_driver_loops_are_seen_whole() -> None:
    ones = np.ones((1, 700, 300, 1), np.float32)
    with wk.use_backend("webgpu"):
        x, filter = wk.tensor(ones), wk.tensor(ones[0, ..., np.newaxis])
        assert wk.depthwise_conv2d(x, filter).item() == 210_000
        fused = wk.fused_depthwise_conv2d(x, filter, bias=[1.0], activation="relu")
        assert fused.item() == 210_001


@SOFTWARE_OR_NOT
@pytest.mark.parametrize("filter_shape", [(3, 3, 4, 1), (3, 3, 2, 2)])
@pytest.mark.parametrize("strides", [1, 2])
def test_nan_and_infinity_go_where_they_do_on_the_cpu(
    strides: int,
    filter_shape: tuple[int, ...],
    is_software: bool,
    follow_rules: Callable[[bool], None],
) -> None:
    follow_rules(is_software)
    x, filter = drawn(1, 7, 9, filter_shape[2]), drawn(*filter_shape, seed=1)
    x[0, 3, 4, 0], x[0, 0, 8, 1] = np.nan, np.inf
    finite = filter.copy()
    filter[0, 0, 1, 0] = -np.inf
    for weights in (finite, filter):
        found = []
        for backend in BACKENDS:
            with wk.use_backend(backend):
                found.append(everything(x, weights, strides=strides, pad="same"))
        for theirs, ours in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("backend", "is_software"), [("cpu", True), ("webgpu", True), ("webgpu", False)]
)
@pytest.mark.parametrize(("data_format", "multiplier"), [("NHWC", 1), ("NHWC", 2), ("NCHW", 1)])
@pytest.mark.parametrize(
    ("activation", "apply"),
    [
        ("linear", lambda z, slopes: z),
        ("relu", lambda z, slopes: np.maximum(z, 0)),
        ("relu6", lambda z, slopes: np.clip(z, 0, 6)),
        ("elu", lambda z, slopes: np.where(z < 0, np.expm1(z), z)),
        ("sigmoid", lambda z, slopes: 1 / (1 + np.exp(-z))),
        ("leakyrelu", lambda z, slopes: np.where(z < 0, 0.2 * z, z)),
        ("prelu", lambda z, slopes: np.where(z < 0, slopes * z, z)),
    ],
)
def test_the_fused_kernel_is_the_steps_in_one(
    activation: str,
    apply: Callable[[Any, Any], Any],
    multiplier: int,
    data_format: str,
    is_software: bool,
    backend: str,
    follow_rules: Callable[[bool], None],
) -> None:
    if backend == "webgpu":
        follow_rules(is_software)
    x, filter = drawn(2, 5, 7, 4), drawn(2, 2, 4, multiplier, seed=1)
    bias, slopes = drawn(4 * multiplier, seed=2), np.abs(drawn(4 * multiplier, seed=3))
    expected = apply(convolved(x, filter) * 3 + bias, slopes)
    if data_format == "NCHW":
        x, expected = np.moveaxis(x, 3, 1), np.moveaxis(expected, 3, 1)
    with wk.use_backend(backend):
        y = wk.fused_depthwise_conv2d(
            wk.tensor(x * 3),
            wk.tensor(filter),
            bias=wk.tensor(bias),
            activation=activation,
            prelu_activation_weights=slopes if activation == "prelu" else None,
            data_format=data_format,
        )
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-4)


@EVERYWHERE
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_a_separable_convolution_mixes_the_channels_of_a_depthwise_one(
    data_format: str, backend: str
) -> None:
    x, filter, mix = drawn(2, 7, 8, 3), drawn(3, 3, 3, 2, seed=1), drawn(1, 1, 6, 5, seed=2)
    expected = convolved(x, filter, strides=2, pad="same") @ mix[0, 0]
    if data_format == "NCHW":
        x, expected = np.moveaxis(x, 3, 1), np.moveaxis(expected, 3, 1)
    options: dict[str, Any] = {"strides": 2, "pad": "same", "data_format": data_format}
    with wk.use_backend(backend):
        y = wk.separable_conv2d(wk.tensor(x), wk.tensor(filter), wk.tensor(mix), **options)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-4)


@EVERYWHERE
def test_dilations_may_be_left_out_as_none(backend: str) -> None:
    x, filter = drawn(1, 4, 4, 2), drawn(2, 2, 2, 1, seed=1)
    with wk.use_backend(backend):
        inputs = {"x": wk.tensor(x), "filter": wk.tensor(filter)}
        attrs = {"strides": 1, "pad": "valid", "dilations": None}
        y = wk.engine().run_kernel("DepthwiseConv2dNative", inputs, attrs)
        assert isinstance(y, wk.Tensor)
        np.testing.assert_allclose(y.numpy(), convolved(x, filter), rtol=1e-5, atol=1e-6)


def _backprop(which: str, **attrs: Any) -> Callable[[], Any]:
    inputs = {"Filter": ("x", "dy"), "Input": ("dy", "filter")}[which]
    shapes = {"x": (1, 4, 4, 2), "filter": (3, 3, 2, 2), "dy": (1, 2, 2, 3)}
    kernel = f"DepthwiseConv2dNativeBackprop{which}"
    return lambda: wk.engine().run_kernel(
        kernel, {name: wk.tensor(drawn(*shapes[name])) for name in inputs}, attrs
    )


REFUSALS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: wk.depthwise_conv2d(drawn(1, 4, 4, 2), drawn(2, 2, 3, 1)),
        wk.ShapeError,
        r"^depthwise_conv2d \(kernel DepthwiseConv2dNative\): channels differ: x is \[1, 4, 4, 2\] "
        r"\(NHWC\), filter is \[2, 2, 3, 1\]; want filter\[2\] == 2\. x is read as NHWC, filter as "
        r"\[height, width, in, multiplier\]: .*\(filter, \(2, 3, 0, 1\)\)",
    ),
    (
        lambda: wk.depthwise_conv2d(drawn(4, 4), drawn(2, 2, 1, 1)),
        wk.ShapeError,
        r"^depthwise_conv2d \(kernel DepthwiseConv2dNative\): x has shape \[4, 4\], rank 2; "
        "want rank 4",
    ),
    (
        lambda: wk.depthwise_conv2d(wk.ones((1, 4, 4, 1), "int32"), wk.ones((2, 2, 1, 1), "int32")),
        wk.DTypeError,
        r"^depthwise_conv2d \(kernel DepthwiseConv2dNative\): x has dtype int32; want float32",
    ),
    (
        lambda: wk.depthwise_conv2d(drawn(1, 2, 9, 1), drawn(3, 3, 1, 1)),
        wk.ShapeError,
        r"^depthwise_conv2d \(kernel DepthwiseConv2dNative\): the window's height covers 3 "
        "elements, the padded image has 2",
    ),
    (
        lambda: wk.depthwise_conv2d(drawn(1, 4, 4, 1), drawn(3, 3, 1, 1), dilations=0),
        wk.ArgumentError,
        r"^depthwise_conv2d \(kernel DepthwiseConv2dNative\): dilations is 0; want 1 or more",
    ),
    (
        lambda: wk.fused_depthwise_conv2d(drawn(1, 4, 4, 1), drawn(2, 2, 1, 3), bias=drawn(2)),
        wk.ShapeError,
        r"^FusedDepthwiseConv2D: bias is \[2\], the convolution gives \[1, 3, 3, 3\] \(NHWC\)",
    ),
    (
        lambda: wk.fused_depthwise_conv2d(drawn(1, 4, 4, 1), drawn(2, 2, 1, 3), activation="gelu"),
        wk.ArgumentError,
        "^FusedDepthwiseConv2D: activation is 'gelu'; want one of linear, relu",
    ),
    (
        _backprop("Filter", filter_shape=(3, 3, 2, 2)),
        wk.ShapeError,
        r"^DepthwiseConv2dNativeBackpropFilter: dy has shape \[1, 2, 2, 3\]; the convolution gives "
        r"\[1, 2, 2, 4\]\.$",
    ),
    (
        _backprop("Filter", filter_shape=(3, 3)),
        wk.ArgumentError,
        r"^DepthwiseConv2dNativeBackpropFilter: filter_shape is \(3, 3\); want four lengths",
    ),
    (
        _backprop("Input", input_shape=(1, 4, 4, 3)),
        wk.ShapeError,
        r"^DepthwiseConv2dNativeBackpropInput: channels differ: x is \[1, 4, 4, 3\]",
    ),
    (
        lambda: wk.separable_conv2d(
            drawn(1, 4, 4, 1), drawn(2, 2, 1, 3), drawn(2, 1, 3, 1), pad="same"
        ),
        wk.ShapeError,
        r"^separable_conv2d: pointwise_filter has shape \[2, 1, 3, 1\]; want \[1, 1, channels",
    ),
]


@EVERYWHERE
@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: case[2][:40])
def test_refusals_name_what_is_wrong(
    case: tuple[Callable[[], Any], type[Exception], str], backend: str
) -> None:
    run, kind, message = case
    with wk.use_backend(backend), pytest.raises(kind, match=message):
        run()
