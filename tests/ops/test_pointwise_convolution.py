"""Filters of one place over channels that come first: products of matrices on webgpu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver
from wgsl_kernels.engine.registry import registry
from wgsl_kernels.ops.convolution import conv_kernels

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.gpu

Array = np.ndarray[Any, Any]

SHAPES = [(1, 5, 2, 6, 3), (1, 8, 4, 4, 4), (2, 3, 8, 8, 12), (2, 3, 2, 2, 5), (1, 3, 3, 3, 4)]
"""Images, channels, rows, columns and channels of the result; not all are products of matrices."""


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the results that were computed so."""
    seen: list[tuple[int, ...]] = []
    own = conv_kernels._matrices_webgpu

    def noted(*given: Any) -> Any:
        seen.append(given[3])
        return own(*given)

    monkeypatch.setattr(conv_kernels, "_matrices_webgpu", noted)
    registry.announce_change()  # programs that were made before are made anew
    return seen


def drawn(*shape: int) -> Array:
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def summed(x: Array, filter: Array) -> Array:
    found: Array = np.einsum("nchw,co->nohw", x.astype(np.float64), filter[0, 0])
    return found


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "view",
    [lambda x: x, lambda x: wk.concat([x, x], axis=1)[:, : x.shape[1]], lambda x: x[..., ::-1]],
    ids=["whole", "channels of more", "reversed"],
)
def test_they_sum_the_same(
    shape: tuple[int, ...], view: Callable[[Any], Any], products: list[tuple[int, ...]]
) -> None:
    n, c, h, w, o = shape
    x, filter = drawn(n, c, h, w), drawn(1, 1, c, o)
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        given = view(wk.tensor(x) * 1)
        y = wk.conv2d(given, filter, data_format="NCHW", pad="same")
        np.testing.assert_allclose(y.numpy(), summed(given.numpy(), filter), rtol=1e-5, atol=1e-6)
    is_reversed = given.numpy().tobytes() != x.tobytes()
    fits = h * w % 4 == 0 and (n == 1 or h * w >= conv_kernels.LEAST_PLACES)
    assert products == ([y.shape] if fits and not is_reversed else [])


@pytest.mark.parametrize("images", [1, 2])
def test_groups_are_products_of_their_own(images: int, products: list[tuple[int, ...]]) -> None:
    x, filter = drawn(images, 6, 8, 8), drawn(1, 1, 2, 12)
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        y = wk.conv2d(x, filter, data_format="NCHW", groups=3).numpy()
    parts = [summed(x[:, 2 * g : 2 * g + 2], filter[..., 4 * g : 4 * g + 4]) for g in range(3)]
    np.testing.assert_allclose(y, np.concatenate(parts, axis=1), rtol=1e-5, atol=1e-6)
    assert products == [y.shape]


@pytest.mark.parametrize("options", [{"strides": 2}, {"pad": 1}], ids=str)
def test_windows_that_skip_or_leave_the_image_are_not(
    options: dict[str, Any], products: list[tuple[int, ...]]
) -> None:
    x, filter = drawn(1, 2, 4, 4), drawn(1, 1, 2, 4)
    options = {"strides": 1, "pad": "valid", "data_format": "NCHW", **options}
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        found = wk.conv2d(x, filter, **options).numpy()
    with wk.use_backend("cpu"):
        expected = wk.conv2d(x, filter, **options).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert products == []


def test_bias_and_activation_are_computed_in_the_same_dispatch(
    products: list[tuple[int, ...]],
) -> None:
    x, filter, bias = drawn(1, 4, 4, 4), drawn(1, 1, 4, 8), drawn(8)
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        given = [wk.tensor(one) * 1 for one in (x, filter, bias)]
        wk.evaluate(*given)

        def fused() -> Any:
            images, weights, offsets = given
            return wk.fused_conv2d(
                images, weights, bias=offsets, activation="relu", data_format="NCHW"
            )

        for _ in range(3):
            fused().numpy()
        driver: Any = find_driver("webgpu")
        before = driver.recorded
        found = fused().numpy()
        assert driver.recorded - before == 1
    expected = np.maximum(summed(x, filter) + bias[:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert products


def test_arrays_above_the_limit_are_cut(
    monkeypatch: pytest.MonkeyPatch, products: list[tuple[int, ...]]
) -> None:
    x, filter = drawn(4, 4, 8, 8), drawn(1, 1, 4, 8)
    driver: Any = find_driver("webgpu")
    monkeypatch.setattr(driver.open(), "largest_binding", 2048)
    with wk.use_backend("webgpu"), wk.config.using(small_ops="device"):
        y = wk.conv2d(x, filter, data_format="NCHW").numpy()
    np.testing.assert_allclose(y, summed(x, filter), rtol=1e-5, atol=1e-6)
    assert products == [(1, 8, 8, 8)] * 4
