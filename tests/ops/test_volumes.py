"""Convolution and pooling of volumes and sequences: geometry, formats, transposes, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.values.windows import slide

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ["cpu", "webgpu"]
EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)
FORMATS = pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
VALID: dict[str, Any] = {"strides": 1, "pad": "valid"}

GEOMETRIES: dict[str, dict[str, Any]] = {
    "valid": {},
    "same with strides": {"pad": "same", "strides": (2, 3, 1)},
    "explicit": {"pad": ((0, 0), (1, 0), (0, 2), (3, 1), (0, 0))},
    "dilated": {"dilations": (2, 1, 3), "pad": "same"},
    "ceil": {"pad": 1, "strides": 3, "dim_rounding_mode": "ceil"},
}
ALL = pytest.mark.parametrize("geometry", GEOMETRIES)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    """Return normal numbers, as float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def windows(x: np.ndarray, size: Any, outside: float, **geometry: Any) -> np.ndarray:
    """Return all windows over volumes, channels last, in float64."""
    sliding = slide("Windows", x.shape, size, **{**VALID, **geometry})
    return sliding.views(sliding.padded(x.astype(np.float64), outside))


def channels_first(x: np.ndarray, geometry: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """Return volumes and the options of their windows in the other format."""
    pad = geometry.get("pad")
    if isinstance(pad, tuple):
        geometry = {**geometry, "pad": (pad[0], pad[-1], *pad[1:-1])}
    return np.moveaxis(x, -1, 1), geometry


@EVERYWHERE
@ALL
@FORMATS
def test_a_convolution_and_its_gradients_are_the_sums_of_their_windows(
    geometry: str, data_format: str, backend: str
) -> None:
    options = GEOMETRIES[geometry]
    channels = (5, 7) if geometry in ("valid", "ceil") else (4, 8)
    x, filter = drawn(2, 4, 6, 5, channels[0]), drawn(2, 3, 2, *channels, seed=1)
    seen = windows(x, filter.shape[:3], 0, **options)
    expected = np.tensordot(seen, filter, 4)
    dy = drawn(*expected.shape, seed=2)
    d_filter = np.tensordot(seen, dy.astype(np.float64), (range(4), range(4)))
    change = drawn(*x.shape, seed=3)
    changed = np.tensordot(windows(change, filter.shape[:3], 0, **options), filter, 4)
    if data_format == "NCDHW":
        x, options = channels_first(x, options)
        expected, dy, change = (np.moveaxis(one, -1, 1) for one in (expected, dy, change))
        changed = np.moveaxis(changed, -1, 1)

    def f(x: wk.Tensor, filter: wk.Tensor) -> wk.Tensor:
        return wk.conv3d(x, filter, data_format=data_format, **options)

    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        inputs = (wk.tensor(x), wk.tensor(filter))
        y, (dx, dw) = wk.value_and_grads(f)(*inputs, dy=wk.tensor(dy))
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(dw.numpy(), d_filter, rtol=1e-4, atol=1e-4)
        # a change of x changes y as the gradient says: the one is linear in the other
        by_gradient = np.vdot(dx.numpy().astype(np.float64), change)
        assert by_gradient == pytest.approx(np.vdot(changed, dy), rel=1e-4, abs=1e-3)


@EVERYWHERE
@ALL
@FORMATS
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_pooling_sees_what_lies_on_the_volume(
    geometry: str, data_format: str, kind: str, backend: str
) -> None:
    options, x = GEOMETRIES[geometry], drawn(2, 5, 6, 7, 4)
    options = {"strides": 1, **options}
    seen = windows(x, (2, 3, 2), np.nan, **options)
    along, inside = (4, 5, 6), ~np.isnan(seen)
    expected = np.where(inside, seen, -np.inf).max(along)
    if kind == "avg":
        count = inside.sum(along)
        expected = np.where(inside, seen, 0).sum(along) / np.where(count, count, np.nan)
    if data_format == "NCDHW":
        x, options = channels_first(x, options)
        expected = np.moveaxis(expected, -1, 1)
    f = wk.avg_pool3d if kind == "avg" else wk.max_pool3d
    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        y = f(wk.tensor(x), (2, 3, 2), data_format=data_format, **options)
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5, atol=1e-6)


@EVERYWHERE
def test_the_gradient_of_a_maximum_goes_to_the_first_of_equals(backend: str) -> None:
    x = np.zeros((1, 3, 4, 4, 1), np.float32)
    x[0, 1, 2, 1], x[0, 1, 2, 3], x[0, 2, 0, 0] = 1, 1, 1
    with wk.use_backend(backend):
        for data_format in ("NDHWC", "NCDHW"):
            shape = (1, 3, 4, 4, 1) if data_format == "NDHWC" else (1, 1, 3, 4, 4)
            given = wk.tensor(x.reshape(shape))
            dx = wk.grad(lambda x, f=data_format: wk.max_pool3d(x, (3, 4, 4), data_format=f))(given)
            assert np.argwhere(dx.numpy().reshape(3, 4, 4)).tolist() == [[1, 2, 1]]


@EVERYWHERE
@pytest.mark.parametrize("f", [wk.avg_pool, wk.max_pool])
def test_pooled_images_may_have_their_channels_first_and_be_views(
    f: Callable[..., wk.Tensor], backend: str
) -> None:
    x = drawn(6, 2, 5, 3)
    with wk.use_backend(backend), wk.config.using(small_ops="device"):
        first = wk.permute_dims(wk.tensor(x), (1, 3, 0, 2))[:, ::-1]  # no two axes are adjacent
        last = wk.permute_dims(wk.tensor(first.numpy()), (0, 2, 3, 1))
        options = {"filter_size": 2, "strides": 1, "dilations": (2, 1), "pad": 1}
        ours, dx = wk.value_and_grad(lambda x: f(x, data_format="NCHW", **options))(first)
        theirs, want = wk.value_and_grad(lambda x: f(x, **options))(last)
        np.testing.assert_array_equal(ours.numpy(), np.moveaxis(theirs.numpy(), -1, 1))
        np.testing.assert_allclose(dx.numpy(), np.moveaxis(want.numpy(), -1, 1), rtol=1e-6)


@EVERYWHERE
def test_transposes_spread_a_filter_over_the_result(backend: str) -> None:
    with wk.use_backend(backend):
        volume = wk.conv3d_transpose(wk.ones((1, 1, 1, 1)), wk.ones((2, 2, 2, 3, 1)), (2, 2, 2, 3))
        line = wk.conv1d_transpose([[[1.0], [10.0]]], [[[1.0]], [[2.0]]], (1, 4, 1), stride=2)
        first = wk.conv1d_transpose(
            [[[1.0, 10.0]]], [[[1.0]], [[2.0]]], (1, 1, 4), stride=2, data_format="NCW"
        )
        assert volume.tolist() == np.ones((2, 2, 2, 3)).tolist()
        assert line.tolist() == [[[1.0], [2.0], [10.0], [20.0]]]
        assert first.tolist() == [[[1.0, 2.0, 10.0, 20.0]]]


@EVERYWHERE
@pytest.mark.parametrize("pad", ["valid", "same", 2, ((0, 0), (1, 2), (0, 0))])
def test_a_sequence_is_convolved_in_either_format(pad: Any, backend: str) -> None:
    x, filter = drawn(2, 9, 3), drawn(3, 3, 4, seed=1)
    sides = pad[1] if isinstance(pad, tuple) else (0, 0) if pad == "valid" else (2, 2)
    padded = np.pad(x.astype(np.float64), ((0, 0), sides, (0, 0)))
    places = [padded[:, at : at + 5 : 2] for at in range(padded.shape[1] - 4)]
    expected = np.stack([np.tensordot(one, filter, 2) for one in places], 1)
    first = (pad[0], pad[2], pad[1]) if isinstance(pad, tuple) else pad
    with wk.use_backend(backend):
        last = wk.conv1d(x, filter, pad=pad, dilation=2)
        turned = wk.conv1d(np.moveaxis(x, 2, 1), filter, pad=first, dilation=2, data_format="NCW")
        one = wk.conv1d(x[0], filter, pad=pad, dilation=2)
        np.testing.assert_allclose(last.numpy(), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            np.moveaxis(turned.numpy(), 1, 2), expected, rtol=1e-4, atol=1e-5
        )
        assert one.shape == expected.shape[1:]


VOLUME, FILTER = wk.ones((1, 3, 3, 3, 2)), wk.ones((2, 2, 2, 2, 1))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: wk.conv3d(VOLUME, wk.ones((2, 2, 2, 3, 1))), r"Conv3D: .* want filter\[3\] == 2"),
        (lambda: wk.conv3d(VOLUME, wk.ones((2, 2, 2, 1))), "Conv3D: filter has shape"),
        (lambda: wk.conv3d(VOLUME, FILTER, data_format="NHWC"), "want 'NDHWC' or 'NCDHW'"),
        (lambda: wk.conv3d(VOLUME, FILTER, strides=(1, 2)), "or depth, height and width"),
        (lambda: wk.conv3d(VOLUME, FILTER, pad=((0, 0),) * 4), "for each of the five axes"),
        (lambda: wk.avg_pool3d(VOLUME, 4), "the window's depth covers 4 elements"),
        (lambda: wk.max_pool3d(wk.ones((3, 3, 2)), 2), "MaxPool3D: x has shape"),
        (lambda: wk.conv1d(wk.ones((1, 4, 2)), FILTER), "conv1d: x has shape"),
        (lambda: wk.conv1d(wk.ones((1, 4, 2)), wk.ones((1, 2, 1)), data_format="NHWC"), "'NCW'"),
        (lambda: wk.pool(VOLUME, 2, "sum"), "pooling_type is 'sum'; want 'avg' or 'max'"),
        (lambda: wk.pool(VOLUME, 2, "max", strides=2, dilations=2), "want one of them to be 1"),
    ],
)
def test_what_cannot_be_is_refused(f: Callable[[], Any], message: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=message):
        f()
