"""Convolution on the CPU in several parts: against a sum over the elements of the filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu.windows import convolution
from wgsl_kernels.engine.values.windows import slide

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.windows import Sliding

Array = np.ndarray[Any, Any]

CASES: list[dict[str, Any]] = [
    {"strides": 1, "pad": "same"},
    {"strides": 1, "pad": "valid", "dilations": (1, 2)},
    {"strides": (2, 3), "pad": "same"},
    {"strides": (2, 1), "pad": 2, "dilations": (2, 1), "dim_rounding_mode": "ceil"},
    {"strides": 1, "pad": ((0, 0), (4, 1), (3, 0), (0, 0))},
]


def _by_elements(sliding: Sliding, x: Array, filter: Array) -> Array:
    """Return the convolution of channels-last images, one element of the filter at a time."""
    padded = sliding.padded(x)
    y: Array = np.zeros(sliding.shape_with(filter.shape[3]))
    for down in range(filter.shape[0]):
        for right in range(filter.shape[1]):
            part = padded[:, sliding.rows.places(down), sliding.cols.places(right)]
            y += part @ filter[down, right]
    return y


@pytest.fixture(params=[(1, 1), (60, 1), (1 << 17, 256)], ids=["lines", "images", "whole"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out a line at a time, several images, or all at once."""
    size, places = request.param
    monkeypatch.setattr(convolution, "PART", size * 12)
    monkeypatch.setattr(convolution, "SPREAD", size * 12)
    monkeypatch.setattr(convolution, "PLACES", places)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("window", [(2, 3), (1, 1)])
@pytest.mark.parametrize("geometry", CASES, ids=str)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_parts_make_up_the_convolution_and_its_gradients(
    data_format: str, geometry: dict[str, Any], window: tuple[int, int]
) -> None:
    rng = np.random.default_rng(7)
    x, filter = rng.normal(size=(3, 7, 6, 2)), rng.normal(size=(*window, 2, 4))
    last = slide("Conv2D", x.shape, filter.shape, **geometry)
    expected = _by_elements(last, x, filter)
    dy = np.asarray(rng.normal(size=expected.shape))

    to_front = (0, 3, 1, 2) if data_format == "NCHW" else (0, 1, 2, 3)
    moved = x.transpose(to_front)
    margins = geometry["pad"]
    if data_format == "NCHW" and isinstance(margins, tuple):
        geometry = {**geometry, "pad": tuple(margins[axis] for axis in to_front)}
    sliding = slide("Conv2D", moved.shape, filter.shape, **geometry, data_format=data_format)

    y = convolution.convolved_cpu(sliding, moved, filter)
    np.testing.assert_allclose(y, expected.transpose(to_front), atol=1e-12)

    # Each gradient is the transpose of a linear map: <dy, conv(x, f)> = <dx, x> = <df, f>.
    product = float(np.vdot(dy, expected))
    given = dy.transpose(to_front)
    dx = convolution.input_gradient_cpu(sliding, given, filter)
    other = rng.normal(size=x.shape)
    assert dx.shape == moved.shape
    assert np.vdot(dx, moved) == pytest.approx(product)
    assert np.vdot(dx, other.transpose(to_front)) == pytest.approx(
        np.vdot(dy, _by_elements(last, other, filter))
    )
    df = convolution.filter_gradient_cpu(sliding, moved, given, filter.shape)
    turned = rng.normal(size=filter.shape)
    assert df.shape == filter.shape
    assert np.vdot(df, filter) == pytest.approx(product)
    assert np.vdot(df, turned) == pytest.approx(np.vdot(dy, _by_elements(last, x, turned)))


@pytest.mark.gpu
@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_a_filter_that_is_not_finite_meets_zeros_around_dy(odd: float, data_format: str) -> None:
    rng = np.random.default_rng(2)
    filter = rng.uniform(1, 2, (2, 2, 3, 2)).astype(np.float32)
    filter[1, 0, 2, 1] = odd
    shapes = {"NHWC": ((1, 4, 4, 3), (1, 2, 2, 2)), "NCHW": ((1, 3, 4, 4), (1, 2, 2, 2))}
    input_shape, dy_shape = shapes[data_format]
    dy = rng.uniform(1, 2, dy_shape).astype(np.float32)
    attrs = {"input_shape": input_shape, "strides": 2, "pad": "valid", "data_format": data_format}
    found = []
    for backend in ("cpu", "webgpu"):
        with wk.use_backend(backend):
            inputs = {"dy": wk.tensor(dy), "filter": wk.tensor(filter)}
            one = wk.engine().run_kernel("Conv2DBackpropInput", inputs, attrs)
            assert isinstance(one, wk.Tensor)
            found.append(one.numpy())

    channel = found[0][..., 2] if data_format == "NHWC" else found[0][:, 2]
    assert np.isnan(channel).any()
    assert np.isfinite(found[0]).sum() == found[0].size * 2 // 3
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


@pytest.mark.parametrize("shape", [(1, 3, 8, 8), (1, 8, 8, 4)])
def test_a_filter_of_another_layout_is_answered_with_ours(shape: tuple[int, ...]) -> None:
    read = r"x is read as NHWC, filter as \[height, width, in, out\]"
    with pytest.raises(wk.ShapeError, match=read + r".*permute_dims\(filter, \(2, 3, 1, 0\)\)"):
        wk.conv2d(wk.ones(shape), wk.ones((16, 3, 3, 3)), pad=1)
