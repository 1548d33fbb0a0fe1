"""The gradient of max pooling on the CPU, and the gradient of that, beside a plain search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wgsl_kernels.backends.cpu.windows.pool_maxima import chosen_cpu, max_pool_gradient_cpu
from wgsl_kernels.engine.values.windows import Sliding, slide

WINDOWS = pytest.mark.parametrize("window", [(1, 1), (2, 2), (3, 3), (2, 3), (4, 1)], ids=str)
STRIDES = pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 2), (5, 4)], ids=str)
PADS = pytest.mark.parametrize(
    "pad", ["valid", "same", 2, ((0, 0), (1, 0), (0, 3), (0, 0))], ids=str
)


def chosen_by_search(sliding: Sliding, x: np.ndarray) -> list[tuple[Any, Any]]:
    """Return each place with the element of the images that it chooses, if any."""
    rows, cols = sliding.rows, sliding.cols
    found = []
    for image, row, col, channel in np.ndindex(sliding.out_shape):
        best = None
        for down in range(rows.window):
            for right in range(cols.window):
                at = (
                    image,
                    row * rows.stride + down - rows.before,
                    col * cols.stride + right - cols.before,
                    channel,
                )
                if not (0 <= at[1] < rows.size and 0 <= at[2] < cols.size):
                    continue
                if best is None or x[at] > x[best] or (np.isnan(x[at]) and not np.isnan(x[best])):
                    best = at
        if best is not None:
            found.append(((image, row, col, channel), best))
    return found


def images(kind: str) -> np.ndarray:
    """Return images with many equal elements, or with NaN and infinities as well."""
    x = np.round(np.random.default_rng(0).standard_normal((3, 9, 8, 2))).astype(np.float32)
    if kind == "extreme":
        x[0, 1:5, 2:5], x[2] = -np.inf, -np.inf
        x[1, 2, 3, 0], x[1, 3, 2, 0], x[1, 5, 5, 1] = np.nan, np.nan, np.inf
    return x


@WINDOWS
@STRIDES
@PADS
@pytest.mark.parametrize("kind", ["equal", "extreme"])
def test_windows_give_to_the_first_of_their_maxima_and_take_from_there(
    window: tuple[int, int], strides: tuple[int, int], pad: Any, kind: str
) -> None:
    x, random = images(kind), np.random.default_rng(1)
    sliding = slide("MaxPool", x.shape, window, strides=strides, pad=pad)
    pairs = chosen_by_search(sliding, x)
    dy = random.integers(-9, 9, sliding.out_shape).astype(np.float32)  # summed exactly
    dx = np.zeros_like(x)
    values, taken = random.standard_normal(x.shape).astype(np.float32), np.zeros_like(dy)
    for place, element in pairs:
        dx[element] += dy[place]
        taken[place] = values[element]

    np.testing.assert_array_equal(max_pool_gradient_cpu(sliding, dy, x), dx)
    np.testing.assert_array_equal(chosen_cpu(sliding, values, x), taken)


def test_a_gradient_that_is_nan_or_infinite_stays_where_it_belongs() -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    sliding = slide("MaxPool", x.shape, (2, 2), strides=2, pad="valid")
    dy = np.array([np.nan, np.inf, -0.0, 2], np.float32).reshape(sliding.out_shape)
    found = max_pool_gradient_cpu(sliding, dy, x).reshape(4, 4)
    expected = np.zeros((4, 4), np.float32)
    expected[1, 1], expected[1, 3], expected[3, 1], expected[3, 3] = dy.reshape(-1)
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize("shape", [(0, 4, 4, 2), (2, 4, 4, 0), (2, 0, 4, 1)], ids=str)
def test_nothing_has_a_gradient_of_nothing(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    sliding = slide("MaxPool", shape, (2, 2), strides=2, pad="same")
    dy = np.ones(sliding.out_shape, np.float32)
    assert max_pool_gradient_cpu(sliding, dy, x).shape == shape
    assert chosen_cpu(sliding, x, x).shape == sliding.out_shape
