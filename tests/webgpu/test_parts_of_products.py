"""Products, scatters and joins above the binding limit: in parts, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers.backends import find_driver

pytestmark = pytest.mark.usefixtures("registries_as_before")

LIMIT, LIMIT_OF_SORTS = 1 << 14, 1 << 18
"""A binding's bytes; counting the digits of what is sorted takes 256 KiB whatever its length."""
DRAW = np.random.default_rng(0)
IDS = DRAW.integers(0, 300, 70000).astype(np.int32)


def _floats(*shape: int) -> Any:
    return DRAW.standard_normal(shape).astype(np.float32)


def _squares(y: wk.Tensor) -> wk.Tensor:
    return wk.sum(y * y)


def _agrees(f: Any, *values: Any) -> None:
    """Compare values and gradients with the cpu backend's: eager, and fused in a replay."""
    places = tuple(n for n, one in enumerate(values) if one.dtype == np.float32)

    def both(*given: Any) -> Any:
        y = f(*given)
        return y, *wk.grad(lambda *xs: _squares(f(*xs)), argnums=places)(*given)

    with wk.use_backend("cpu"):
        want = [one.numpy() for one in both(*map(wk.tensor, values))]
    given = [wk.tensor(one) + 0 for one in values]
    fast = wk.capture(both)
    for fusion, run in (("never", both), ("always", fast), ("always", fast)):
        with wk.config.using(fusion=fusion):
            for one, exact in zip(run(*given), want, strict=True):
                scale = np.max(np.abs(exact))
                assert np.max(np.abs(one.numpy() - exact)) <= 1e-5 * scale
    assert fast.why is None


@pytest.fixture(autouse=True)
def _low_limit(registries_as_before: None, monkeypatch: pytest.MonkeyPatch) -> None:
    driver: Any = find_driver("webgpu")
    monkeypatch.setattr(driver.open(), "largest_binding", LIMIT)


@pytest.fixture
def limit_of_sorts(monkeypatch: pytest.MonkeyPatch) -> None:
    driver: Any = find_driver("webgpu")
    monkeypatch.setattr(driver.open(), "largest_binding", LIMIT_OF_SORTS)


X, W, BIAS = _floats(5, 300), _floats(300, 200), _floats(200)
LARGE = _floats(90, 300)
PRODUCTS = {
    "a table transposed": (lambda x, e: x @ e.T, _floats(2, 7), _floats(3000, 7)),
    "all three": (lambda a, b: a @ b, LARGE, W),
    "stacks": (lambda a, b: a @ b, _floats(1, 40, 50), _floats(3, 50, 60)),
    "a bias behind": (lambda x, w, b: wk.relu(x @ w + b), LARGE, W, BIAS),
    "a dense layer": (
        lambda x, w, b: wk.fused_mat_mul(x, w, bias=b, activation="relu"), X, W, BIAS,
    ),
    "slopes for each": (
        lambda x, w, b, s: wk.fused_mat_mul(
            x, w, bias=b, activation="prelu", prelu_activation_weights=s
        ),
        LARGE, W, BIAS, _floats(90, 200),
    ),
}  # fmt: skip
IMAGES, FILTER = _floats(2, 6, 6, 40), _floats(3, 3, 40, 50)
CONVOLUTIONS = {
    "a filter": (lambda x, f: wk.conv2d(x, f, pad="same"), IMAGES, FILTER),
    "channels first": (
        lambda x, f: wk.conv2d(x, f, strides=2, pad="same", data_format="NCHW"),
        IMAGES.transpose(0, 3, 1, 2).copy(), FILTER,
    ),
    "images": (lambda x, f: wk.conv2d(x, f), _floats(5, 20, 20, 3), _floats(3, 3, 3, 8)),
    "one image": (lambda x, f: wk.conv2d(x, f), _floats(1, 10, 10, 3), _floats(3, 3, 3, 80)),
    "a layer": (
        lambda x, f, b: wk.fused_conv2d(x, f, bias=b, activation="relu"),
        IMAGES, FILTER, _floats(50),
    ),
}  # fmt: skip
MOVES = {
    "rolled": (lambda x: wk.roll(x, (-3, 70), (0, 1)), _floats(200, 300)),
    "joined": (lambda x, y: wk.concat([x, y], axis=1), _floats(200, 300), _floats(200, 33)),
    "stacked": (lambda x, y: wk.stack([x, y], axis=1), _floats(200, 30), _floats(200, 30)),
    "turned": (lambda x: wk.flip(x).T * 2, _floats(200, 30)),
}
SCATTERS = {
    "numbers": (lambda x, i: wk.unsorted_segment_sum(x, i, 300), _floats(70000), IDS),
    "rows": (
        lambda x, i: wk.unsorted_segment_sum(x, i, 300), _floats(35000, 8), IDS[:35000],
    ),
    "as many segments": (
        lambda x, i: wk.unsorted_segment_sum(x, i, 80000),
        _floats(40000), np.arange(0, 80000, 2).astype(np.int32)[::-1].copy(),
    ),
    "weights": (lambda x, i: wk.bincount(i, x, 300), _floats(40000), IDS[:40000]),
    "elements": (
        lambda x, i: wk.scatter_nd(wk.reshape(i, (-1, 2)), x, (300, 300)), _floats(35000), IDS,
    ),
    "added at": (lambda x, i: x.at[i].add(1.5), _floats(300), IDS[:40000]),
    "taken": (lambda x, i: wk.take(x, i, axis=1), _floats(300, 40), IDS[:300] % 40),
}  # fmt: skip


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_go_in_parts(name: str) -> None:
    _agrees(*PRODUCTS[name])


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_go_in_parts(name: str) -> None:
    _agrees(*CONVOLUTIONS[name])


@pytest.mark.parametrize("name", MOVES)
def test_moves_go_in_parts(name: str) -> None:
    _agrees(*MOVES[name])


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.usefixtures("limit_of_sorts")
def test_scatters_go_in_parts(name: str) -> None:
    _agrees(*SCATTERS[name])


def test_whole_numbers_are_exact_in_parts() -> None:
    a = DRAW.integers(-(2**31), 2**31, (20, 300)).astype(np.int32)
    b = DRAW.integers(-(2**31), 2**31, (300, 50)).astype(np.int32)
    with np.errstate(over="ignore"):
        assert np.array_equal((wk.tensor(a) @ wk.tensor(b)).numpy(), a @ b)


def test_halves_are_summed_wide_in_parts() -> None:
    if not find_driver("webgpu").supports("float16"):
        return  # GL has no float16
    a, b = _floats(3, 900).astype(np.float16), _floats(900, 20).astype(np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = (wk.tensor(a) @ wk.tensor(b)).numpy().astype(np.float64)
    assert np.all(np.abs(found - exact) <= 2.0**-10 * np.abs(exact) + 1e-4)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("width", [211, 5, 2])
def test_bytes_are_joined_and_rolled_as_bytes(axis: int, width: int) -> None:
    for rows in (301, 20000 // width):
        x = DRAW.integers(0, 256, (rows, width)).astype(np.uint8)
        y = x[:, :1].copy() if axis else x[:3].copy()
        joined = wk.concat([wk.tensor(x), wk.tensor(y), wk.tensor(x)], axis=axis)
        assert np.array_equal(joined.numpy(), np.concatenate([x, y, x], axis))
        assert np.array_equal(wk.roll(wk.tensor(x), -3, axis).numpy(), np.roll(x, -3, axis))
        stacked = wk.stack([wk.tensor(x), wk.tensor(x)], axis=axis)
        assert np.array_equal(stacked.numpy(), np.stack([x, x], axis))


def test_a_product_of_one_row_too_long_names_the_limit() -> None:
    image, filter_ = wk.zeros((1, 70, 70, 1)), wk.ones((3, 3, 1, 1))
    with pytest.raises(wk.OutOfMemoryError, match="max-storage-buffer-binding-size"):
        wk.conv2d(image, filter_).numpy()
