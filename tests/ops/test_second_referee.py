"""Convolution, pooling, normalisation and resizing against SciPy and NumPy on random shapes.

The samples are held to our own CPU kernels; here the values and first derivatives come from
elsewhere: correlations of scipy.signal, filters of scipy.ndimage, interpolation between grid points
by scipy.interpolate. The gradient of a linear op is its transpose, so <A x, y> = <x, A^T y>.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import interpolate, ndimage, signal

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, np.dtype[Any]]
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
ROUNDS = pytest.mark.parametrize("turn", range(6))


def _draw(name: str, turn: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(name.encode()), turn])


def _normal(draw: np.random.Generator, *shape: int) -> Array:
    return draw.standard_normal(shape).astype(np.float32)


def _close(found: Array, expected: Array) -> None:
    size = max(float(np.abs(expected).max(initial=0)), 1.0)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5 * size)


def _is_transposed(f: Callable[[Any], Any], x: Array, draw: np.random.Generator) -> None:
    """Hold the gradient of a linear function to the function itself."""
    y, pullback = wk.vjp(f, wk.tensor(x))
    dy = _normal(draw, *y.shape)
    (dx,) = pullback(wk.tensor(dy))
    wide = [np.asarray(one, np.float64).ravel() for one in (y.numpy(), dy, x, dx.numpy())]
    left, right = wide[0] @ wide[1], wide[2] @ wide[3]
    assert abs(left - right) <= 1e-5 * (np.abs(wide[0]) @ np.abs(wide[1]) + 1.0)


def _correlated(x: Array, filter: Array, strides: tuple[int, ...], rates: tuple[int, ...]) -> Array:
    """Return images correlated with a filter, channel by channel, in float64."""
    *window, channels, outs = filter.shape
    spread = [(size - 1) * rate + 1 for size, rate in zip(window, rates, strict=True)]
    wide = np.zeros((*spread, channels, outs))
    wide[tuple(slice(None, None, rate) for rate in rates)] = filter
    taken = tuple(slice(None, None, stride) for stride in strides)
    images = [
        np.stack(
            [
                sum(
                    signal.correlate(one[..., c], wide[..., c, out], "valid", "direct")[taken]
                    for c in range(channels)
                )
                for out in range(outs)
            ],
            axis=-1,
        )
        for one in x.astype(np.float64)
    ]
    return np.stack(images)


@pytest.mark.sampled(one_in=6)
@BACKENDS
@ROUNDS
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_convolution_is_a_correlation_of_scipys(axes: int, turn: int, backend: str) -> None:
    draw = _draw("conv", 10 * turn + axes)
    window = tuple(int(n) for n in draw.integers(1, 4, axes))
    strided = bool(turn % 2)
    steps = tuple(int(n) for n in draw.integers(1, 3, axes))
    strides, rates = (steps, (1,) * axes) if strided else ((1,) * axes, steps)
    sizes = [
        (size - 1) * rate + 1 + int(draw.integers(0, 5))
        for size, rate in zip(window, rates, strict=True)
    ]
    channels, outs = (int(n) for n in draw.integers(1, 5, 2))
    x, filter = _normal(draw, 2, *sizes, channels), _normal(draw, *window, channels, outs)
    if axes == 1:
        call: Any = lambda a, b: wk.conv1d(a, b, stride=strides[0], dilation=rates[0])  # noqa: E731  # one of three
    else:
        op = wk.conv2d if axes == 2 else wk.conv3d
        call = lambda a, b: op(a, b, strides=strides, dilations=rates)  # noqa: E731  # as above
    with wk.use_backend(backend):
        _close(call(x, filter).numpy(), _correlated(x, filter, strides, rates))
        _is_transposed(lambda a: call(a, filter), x, draw)
        _is_transposed(lambda b: call(x, b), filter, draw)


@pytest.mark.sampled(one_in=6)
@BACKENDS
@ROUNDS
def test_a_depthwise_convolution_is_one_of_each_channel(turn: int, backend: str) -> None:
    draw = _draw("depthwise", turn)
    height, width, channels, many = (int(n) for n in draw.integers(3, 7, 4))
    x, filter = _normal(draw, 1, height, width, channels), _normal(draw, 2, 3, channels, many)
    parts = [
        _correlated(x[..., c : c + 1], filter[:, :, c : c + 1], (1, 1), (1, 1))
        for c in range(channels)
    ]
    with wk.use_backend(backend):
        _close(wk.depthwise_conv2d(x, filter).numpy(), np.concatenate(parts, axis=-1))
        _is_transposed(lambda a: wk.depthwise_conv2d(a, filter), x, draw)


@pytest.mark.sampled(one_in=6)
@BACKENDS
@ROUNDS
@pytest.mark.parametrize("axes", [2, 3])
def test_a_pool_is_a_filter_of_scipys_at_its_strides(axes: int, turn: int, backend: str) -> None:
    draw = _draw("pool", 10 * turn + axes)
    window = tuple(int(n) for n in draw.integers(1, 4, axes))
    strides = tuple(int(n) for n in draw.integers(1, 4, axes))
    sizes = [size + int(draw.integers(0, 5)) for size in window]
    x = _normal(draw, 2, *sizes, 3)
    size: Any = (1, *window, 1)
    origin: Any = [0, *[-(n // 2) for n in window], 0]
    taken = tuple(
        slice(0, length - n + 1, stride)
        for length, n, stride in zip(sizes, window, strides, strict=True)
    )
    at = (slice(None), *taken)
    largest = ndimage.maximum_filter(x, size, origin=origin)[at]
    mean = ndimage.uniform_filter(x.astype(np.float64), size, origin=origin)[at]
    best, average = (wk.max_pool, wk.avg_pool) if axes == 2 else (wk.max_pool3d, wk.avg_pool3d)
    with wk.use_backend(backend):
        np.testing.assert_array_equal(best(x, window, strides=strides).numpy(), largest)
        _close(average(x, window, strides=strides).numpy(), mean)
        _is_transposed(lambda a: average(a, window, strides=strides), x, draw)
        _, pullback = wk.vjp(lambda a: best(a, window, strides=strides), wk.tensor(x))
        (dx,) = pullback(wk.ones(largest.shape))
        reached = dx.numpy() > 0
        assert dx.numpy().sum() == largest.size
        assert np.isin(x[reached], largest).all()


@pytest.mark.sampled(one_in=6)
@BACKENDS
@ROUNDS
def test_a_normalisation_is_numpys_formula_with_its_slope(turn: int, backend: str) -> None:
    draw = _draw("norm", turn)
    rows, columns = (int(n) for n in draw.integers(2, 40, 2))
    x, scale, offset = (_normal(draw, *one) for one in ((rows, columns), (columns,), (columns,)))
    dy = _normal(draw, rows, columns)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    root = np.sqrt(wide.var(axis=1, keepdims=True) + 1e-3)
    unit = centred / root
    slope = dy * scale
    expected = (
        slope
        - slope.mean(axis=1, keepdims=True)
        - unit * (slope * unit).mean(axis=1, keepdims=True)
    ) / root
    mean, variance = wide.mean(axis=0), wide.var(axis=0)
    with wk.use_backend(backend):
        y, pullback = wk.vjp(lambda a: wk.layer_norm(a, scale, offset, epsilon=1e-3), wk.tensor(x))
        _close(y.numpy(), unit * scale + offset)
        _close(pullback(wk.tensor(dy))[0].numpy(), expected)
        centre, spread = mean.astype(np.float32), variance.astype(np.float32)
        found = wk.batch_norm(x, centre, spread, offset, scale, variance_epsilon=1e-3)
        _close(found.numpy(), (wide - mean) / np.sqrt(variance + 1e-3) * scale + offset)


@pytest.mark.sampled(one_in=6)
@BACKENDS
@ROUNDS
@pytest.mark.parametrize("centers", ["corners", "half pixels", "neither"])
def test_a_resized_image_is_interpolated_between_grid_points(
    centers: str, turn: int, backend: str
) -> None:
    draw = _draw("resize", turn)
    before, after = draw.integers(2, 8, 2), draw.integers(2, 12, 2)
    x = _normal(draw, 2, *before, 3)
    places = []
    for old, new in zip(before, after, strict=True):
        k = np.arange(new)
        if centers == "corners":
            at = k * (old - 1) / (new - 1)
        elif centers == "half pixels":
            at = (k + 0.5) * old / new - 0.5
        else:
            at = k * old / new
        places.append(np.clip(at, 0, old - 1))
    points = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1)
    grid = tuple(np.arange(n) for n in before)
    expected = np.stack(
        [interpolate.RegularGridInterpolator(grid, one.astype(np.float64))(points) for one in x]
    )
    attrs = {"align_corners": centers == "corners", "half_pixel_centers": centers == "half pixels"}
    size = tuple(int(n) for n in after)
    with wk.use_backend(backend):
        _close(wk.resize_bilinear(x, size, **attrs).numpy(), expected)
        _is_transposed(lambda a: wk.resize_bilinear(a, size, **attrs), x, draw)
