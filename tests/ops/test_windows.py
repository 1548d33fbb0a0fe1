"""Convolution and pooling: geometry, formats, ties and NaN, and refusals."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.products.tilings import LANES
from wgsl_kernels.backends.webgpu.tuning.tuner import forced
from wgsl_kernels.engine.values.windows import slide

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ["cpu", "webgpu"]
EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normal numbers, as float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def convolved(x: np.ndarray, filter: np.ndarray, **geometry: Any) -> np.ndarray:
    """Return an NHWC convolution, one window after another, in float64."""
    sliding = slide("Conv2D", x.shape, filter.shape, **{"strides": 1, "pad": "valid", **geometry})
    rows, cols = sliding.rows, sliding.cols
    padded = sliding.padded(x.astype(np.float64))
    y = np.zeros(sliding.shape_with(filter.shape[3]))
    for i in range(rows.out):
        for j in range(cols.out):
            top, left = i * rows.stride, j * cols.stride
            window = padded[
                :,
                top : top + rows.window * rows.dilation : rows.dilation,
                left : left + cols.window * cols.dilation : cols.dilation,
            ]
            y[:, i, j] = np.tensordot(window, filter, 3)
    return y


GEOMETRIES: dict[str, dict[str, Any]] = {
    "valid": {},
    "same": {"pad": "same"},
    "same with strides": {"pad": "same", "strides": (3, 2)},
    "number": {"pad": 2, "strides": 2},
    "explicit": {"pad": ((0, 0), (0, 2), (3, 1), (0, 0))},
    "dilated": {"dilations": (2, 3), "pad": "same"},
    "ceil": {"pad": 1, "strides": 3, "dim_rounding_mode": "ceil"},
    "round": {"pad": 0, "strides": 4, "dim_rounding_mode": "round"},
}
ALL = pytest.mark.parametrize("geometry", GEOMETRIES)


@EVERYWHERE
@ALL
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_convolution_in_every_geometry_and_format(
    geometry: str, data_format: str, backend: str
) -> None:
    options = GEOMETRIES[geometry]
    x, filter = drawn(2, 9, 8, 5), drawn(3, 2, 5, 7, seed=1)
    expected = convolved(x, filter, **options)
    if data_format == "NCHW":
        x, expected = np.moveaxis(x, 3, 1), np.moveaxis(expected, 3, 1)
        if isinstance(options.get("pad"), tuple):
            n, h, w, c = options["pad"]
            options = {**options, "pad": (n, c, h, w)}
    with wk.use_backend(backend):
        y = wk.conv2d(wk.tensor(x), wk.tensor(filter), data_format=data_format, **options)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(one_in=30)
@ALL
@pytest.mark.parametrize("variant", ["rows_4", "rows_8", "staged_64", *LANES])
@pytest.mark.parametrize("channels", [20, 21])
@pytest.mark.parametrize("out_channels", [72, 7])
def test_all_three_products_agree_with_the_cpu_in_every_variant(
    geometry: str, variant: str, channels: int, out_channels: int
) -> None:
    x, filter = drawn(3, 9, 8, channels), drawn(3, 2, channels, out_channels, seed=1)

    def everything() -> list[np.ndarray]:
        def f(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
            return wk.conv2d(x, filter, **GEOMETRIES[geometry])

        inputs = (wk.tensor(x), wk.tensor(filter))
        dy = wk.tensor(drawn(*f(*inputs).shape, seed=2))
        y, gradients = wk.value_and_grads(f)(*inputs, dy=dy)
        return [y.numpy(), *(one.numpy() for one in gradients)]

    with wk.use_backend("cpu"):
        expected = everything()
    with wk.use_backend("webgpu"), ExitStack() as every:
        for kernel in ("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"):
            every.enter_context(forced(kernel, variant))
        found = everything()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@EVERYWHERE
def test_convolution_reads_views_as_they_are(backend: str) -> None:
    x, filter = drawn(8, 5, 2, 9), drawn(2, 2, 5, 3, seed=1)
    turned = x.transpose(2, 0, 3, 1)[:, ::-1, 2:]
    with wk.use_backend(backend):
        view = wk.permute_dims(wk.tensor(x), (2, 0, 3, 1))[:, ::-1, 2:]
        y = wk.conv2d(view, wk.tensor(filter))
        np.testing.assert_allclose(y.numpy(), convolved(turned, filter), rtol=1e-4, atol=1e-5)


@EVERYWHERE
def test_one_image_needs_no_batch(backend: str) -> None:
    x, filter = drawn(5, 4, 2), drawn(2, 2, 2, 3, seed=1)
    with wk.use_backend(backend):
        assert wk.conv2d(x, filter).shape == (4, 3, 3)
        assert wk.max_pool(x, 2).shape == (2, 2, 2)
        assert wk.avg_pool(x, 2).shape == (2, 2, 2)
        y = wk.conv2d_transpose(x, drawn(2, 2, 3, 2), (10, 8, 3), strides=2)
        assert y.shape == (10, 8, 3)


@EVERYWHERE
def test_the_transpose_is_the_convolution_turned_round(backend: str) -> None:
    x, y, filter = drawn(2, 9, 8, 3), drawn(2, 5, 4, 6, seed=1), drawn(3, 3, 3, 6, seed=2)
    options: dict[str, Any] = {"strides": 2, "pad": "same"}
    with wk.use_backend(backend):
        forth = wk.conv2d(wk.tensor(x), wk.tensor(filter), **options).numpy()
        back = wk.conv2d_transpose(wk.tensor(y), wk.tensor(filter), x.shape, **options).numpy()
        assert np.vdot(forth, y) == pytest.approx(np.vdot(x, back), rel=1e-4)


def test_a_long_sum_over_channels_and_lines_is_whole() -> None:
    with wk.use_backend("webgpu"):
        ones = wk.tensor(np.ones((1, 3, 3, 40_000), np.float32))
        filter = wk.tensor(np.ones((2, 2, 40_000, 1), np.float32))
        assert np.all(wk.conv2d(ones, filter).numpy() == 160_000)
        fused = wk.fused_conv2d(ones, filter, bias=[1.0], activation="relu")
        assert np.all(fused.numpy() == 160_001)
        wide = wk.tensor(np.ones((3, 200, 200, 1), np.float32))
        attrs = {"filter_shape": (1, 1, 1, 1)}
        found = wk.engine().run_kernel("Conv2DBackpropFilter", {"x": wide, "dy": wide}, attrs)
        assert found.numpy().item() == 120_000


@pytest.mark.gpu
@pytest.mark.parametrize("cut", [0, 1])
def test_four_channels_are_pooled_as_one_is(cut: int) -> None:
    whole = np.random.default_rng(5).integers(-3, 3, (2, 9, 8, 8)).astype(np.float32)
    whole[0, 2:4, 3, :5] = np.nan
    for f in (wk.max_pool, wk.avg_pool):
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for backend in ("cpu", "webgpu"):
            with wk.use_backend(backend):
                x = wk.tensor(whole)[:, cut:, :, cut * 4 :]  # a view, its channels in fours
                y, dx = wk.value_and_grad(lambda x, f=f: f(x, 3, strides=2, pad="same"))(x)
                found.append((y.numpy(), dx.numpy()))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-6)


@EVERYWHERE
def test_ties_and_nan_send_the_gradient_to_the_first(backend: str) -> None:
    x = np.array([[1, 2, 2], [2, np.nan, 0], [0, np.nan, 0]], np.float32).reshape(1, 3, 3, 1)
    with wk.use_backend(backend):
        y, dx = wk.value_and_grad(lambda x: wk.max_pool(x, 2, strides=1))(wk.tensor(x))
        assert np.all(np.isnan(y.numpy()))
        assert dx.numpy().reshape(3, 3).tolist() == [[0, 0, 0], [0, 4, 0], [0, 0, 0]]
        ties = wk.tensor(np.full((1, 3, 3, 1), -np.inf, np.float32))
        dx = wk.grad(lambda x: wk.max_pool(x, 2, strides=1, pad="same"))(ties)
        assert dx.numpy().reshape(3, 3).tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 1]]


SMALL: list[tuple[tuple[int, ...], Any, dict[str, Any]]] = [
    ((2, 9, 7, 8), 2, {}),
    ((2, 9, 7, 8), 3, {"strides": 2, "pad": "same"}),
    ((3, 6, 6, 68), (3, 2), {"strides": (1, 3), "pad": "same"}),
    ((1, 8, 130, 12), 2, {"strides": 1, "pad": ((0, 0), (1, 0), (0, 1), (0, 0))}),
    ((1, 4, 4, 4), 5, {"strides": 1, "pad": 2}),
    ((1, 8, 8, 4), 6, {"strides": 1, "pad": "same"}),  # no longer small
    ((1, 3, 3, 4), 3, {"pad": ((0, 0), (5, 5), (2, 2), (0, 0))}),  # windows in padding alone
]


@pytest.mark.parametrize(("shape", "window", "geometry"), SMALL)
def test_maxima_of_channels_in_fours(
    shape: tuple[int, ...], window: Any, geometry: dict[str, Any]
) -> None:
    x = drawn(*shape)
    flat = x.reshape(-1)
    flat[::37], flat[5::41], flat[6::43] = np.nan, -np.inf, np.inf
    flat[7::53] = np.array(0xFFC00001, np.uint32).view(np.float32)  # NaN with a sign
    found = []
    for backend in BACKENDS:
        with wk.use_backend(backend):
            found.append(wk.max_pool(wk.tensor(x), window, **geometry).numpy())
    np.testing.assert_array_equal(found[0], found[1])


@EVERYWHERE
def test_windows_in_padding_alone_are_empty(backend: str) -> None:
    x = np.ones((1, 2, 2, 1), np.float32)
    with wk.use_backend(backend):
        high = wk.max_pool(wk.tensor(x), 1, strides=1, pad=1)
        mean, dx = wk.value_and_grad(lambda x: wk.avg_pool(x, 1, strides=1, pad=1))(wk.tensor(x))
        assert high.numpy()[0, 0, 0, 0] == -np.inf
        assert np.isnan(mean.numpy()[0, 0, 0, 0])
        assert dx.numpy().tolist() == x.tolist()
        whole = wk.max_pool(wk.tensor(x.astype(np.int32)), 1, strides=1, pad=1)
        assert whole.numpy()[0, 0, 0, 0] == -(2**31)


@pytest.mark.parametrize("variant", ["rows_4", "staged_64", "lanes_32"])
@pytest.mark.parametrize("channels", [4, 5])
def test_fused_convolution_in_every_variant(channels: int, variant: str) -> None:
    x, filter, bias = drawn(2, 5, 6, channels), drawn(2, 2, channels, 12, seed=1), drawn(12)
    with wk.use_backend("webgpu"), forced("FusedConv2D", variant):
        y = wk.fused_conv2d(wk.tensor(x), filter, bias=bias, activation="relu")
        expected = np.maximum(convolved(x, filter) + bias, 0)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-4)


@EVERYWHERE
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
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
def test_fused_convolution_is_the_steps_in_one(
    activation: str, apply: Callable[[Any, Any], Any], data_format: str, backend: str
) -> None:
    x, filter, bias = drawn(2, 5, 6, 3), drawn(2, 2, 3, 4, seed=1), drawn(4, seed=2)
    slopes = np.abs(drawn(4, seed=3))
    expected = apply(convolved(x, filter) * 3 + bias, slopes)
    if data_format == "NCHW":
        x, expected = np.moveaxis(x, 3, 1), np.moveaxis(expected, 3, 1)
    with wk.use_backend(backend):
        y = wk.fused_conv2d(
            wk.tensor(x * 3),
            wk.tensor(filter),
            bias=wk.tensor(bias),
            activation=activation,
            prelu_activation_weights=slopes if activation == "prelu" else None,
            data_format=data_format,
        )
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-4)


REFUSALS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: wk.conv2d(drawn(1, 4, 4, 2), drawn(2, 2, 3, 1)),
        wk.ShapeError,
        r"Conv2D: channels differ: x is \[1, 4, 4, 2\] \(NHWC\), filter is \[2, 2, 3, 1\]; want "
        r"filter\[2\] == 2",
    ),
    (
        lambda: wk.conv2d(drawn(1, 2, 9, 1), drawn(3, 3, 1, 1)),
        wk.ShapeError,
        "Conv2D: the window's height covers 3 elements, the padded image has 2; want a smaller",
    ),
    (
        lambda: wk.conv2d(drawn(1, 4, 9, 1), drawn(3, 3, 1, 1), dilations=(1, 5)),
        wk.ShapeError,
        "the window's width covers 11 elements, the padded image has 9",
    ),
    (
        lambda: wk.conv2d(drawn(4, 4), drawn(3, 3, 1, 1)),
        wk.ShapeError,
        r"Conv2D: x has shape \[4, 4\], rank 2; want rank 4",
    ),
    (
        lambda: wk.conv2d(drawn(1, 4, 4, 1), drawn(3, 3, 1, 1), strides=0),
        wk.ArgumentError,
        "Conv2D: strides is 0; want 1 or more",
    ),
    (
        lambda: wk.conv2d(drawn(1, 4, 4, 1), drawn(3, 3, 1, 1), strides=(1, 2, 3)),
        wk.ArgumentError,
        r"Conv2D: strides is \(1, 2, 3\); want one whole number, or height and width",
    ),
    (
        lambda: wk.conv2d(drawn(1, 4, 4, 1), drawn(3, 3, 1, 1), pad="full"),  # type: ignore[arg-type]  # a wrong name
        wk.ArgumentError,
        "Conv2D: pad is 'full'; want 'valid', 'same' or numbers",
    ),
    (
        lambda: wk.conv2d(drawn(1, 4, 4, 1), drawn(3, 3, 1, 1), pad=cast("int", 1.5)),
        wk.ArgumentError,
        "Conv2D: pad is 1.5; want 'valid', 'same', a whole number",
    ),
    (
        lambda: wk.conv2d(drawn(1, 4, 4, 1), drawn(3, 3, 1, 1), pad=((1, 0),) * 4),
        wk.ArgumentError,
        r"\(0, 0\) for batch and channels",
    ),
    (
        lambda: wk.conv2d(drawn(1, 4, 4, 1), drawn(3, 3, 1, 1), data_format="NWHC"),
        wk.ArgumentError,
        "Conv2D: data_format is 'NWHC'; want 'NHWC' or 'NCHW'",
    ),
    (
        lambda: wk.max_pool(drawn(1, 4, 4, 1), 2, dim_rounding_mode="ceil"),
        wk.ArgumentError,
        "MaxPool: pad is 'valid' with dim_rounding_mode 'ceil'; want numbers",
    ),
    (
        lambda: wk.max_pool(drawn(1, 4, 4, 1), 2, pad=0, dim_rounding_mode="up"),
        wk.ArgumentError,
        "MaxPool: dim_rounding_mode is 'up'; want None, 'floor', 'round' or 'ceil'",
    ),
    (
        lambda: wk.avg_pool(wk.ones((1, 4, 4, 1), "int32"), 2),
        wk.DTypeError,
        "AvgPool: x has dtype int32; want float32",
    ),
    (
        lambda: wk.avg_pool(drawn(1, 4, 4, 1), 0),
        wk.ArgumentError,
        "AvgPool: filter_size is 0; want 1 or more",
    ),
    (
        lambda: wk.conv2d_transpose(drawn(1, 3, 3, 1), drawn(2, 2, 1, 1), (1, 9, 9, 1)),
        wk.ShapeError,
        r"Conv2DBackpropInput\): dy has shape \[1, 3, 3, 1\]; the convolution gives \[1, 8, 8, 1\]",
    ),
    (
        lambda: wk.conv2d_transpose(drawn(1, 3, 3, 1), drawn(2, 2, 1, 1), (4, 4)),
        wk.ArgumentError,
        r"Conv2DBackpropInput\): input_shape is \(4, 4\); want four lengths",
    ),
    (
        lambda: wk.fused_conv2d(drawn(1, 4, 4, 1), drawn(2, 2, 1, 3), bias=drawn(2)),
        wk.ShapeError,
        r"FusedConv2D: bias is \[2\], the convolution gives \[1, 3, 3, 3\] \(NHWC\); want one num",
    ),
    (
        lambda: wk.fused_conv2d(drawn(1, 4, 4, 1), drawn(2, 2, 1, 3), activation="gelu"),
        wk.ArgumentError,
        "FusedConv2D: activation is 'gelu'; want one of linear, relu",
    ),
    (
        lambda: wk.fused_conv2d(drawn(1, 4, 4, 1), drawn(2, 2, 1, 3), activation="prelu"),
        wk.ArgumentError,
        "activation is 'prelu', prelu_activation_weights is absent; want both or neither",
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
