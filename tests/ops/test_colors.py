"""Colors of images: gray and back, and black and white by a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@BACKENDS
def test_gray_is_the_weighted_sum_of_colors_and_back_the_same_for_each(backend: str) -> None:
    image = np.random.default_rng(0).uniform(0, 255, (2, 3, 4, 3)).astype(np.float32)
    with wk.use_backend(backend):
        gray = wk.rgb_to_grayscale(image)
        whole = wk.rgb_to_grayscale([[16, 24, 56], [1, 2, 9]])
        back = wk.grayscale_to_rgb(gray).numpy()

    expected = image @ np.array([0.2989, 0.587, 0.114], np.float32)
    np.testing.assert_allclose(gray.numpy()[..., 0], expected, rtol=1e-6)
    assert whole.tolist() == [[25], [2]]
    assert back.shape == (2, 3, 4, 3)
    assert (back == gray.numpy()).all()


def otsu(levels: np.ndarray) -> int:
    """Return the level after which the classes differ most, one after the other."""
    found, best = -1, 0.0
    for level in range(255):
        dark, bright = levels[levels <= level], levels[levels > level]
        if dark.size and bright.size:
            apart = dark.size * bright.size * (dark.mean() - bright.mean()) ** 2
            if apart > best:
                found, best = level, apart
    return found


@BACKENDS
@pytest.mark.parametrize("inverted", [False, True])
def test_a_threshold_parts_an_image_by_a_number_or_by_its_levels(
    backend: str, inverted: bool
) -> None:
    draw = np.random.default_rng(1)
    image = np.concatenate([draw.normal(60, 9, 90), draw.normal(170, 20, 60)])
    image = image.round().astype(np.int32).reshape(10, 15, 1)
    with wk.use_backend(backend):
        half = wk.threshold(image, inverted=inverted, thresh_value=0.25)
        parted = wk.threshold(image, method="otsu", inverted=inverted)
        flat = wk.threshold(np.full((2, 2, 1), 9, np.int32), method="otsu", inverted=inverted)

    assert parted.dtype == "int32"
    np.testing.assert_array_equal(half.numpy() == 255, (image > 63.75) != inverted)
    np.testing.assert_array_equal(parted.numpy() == 255, (image > otsu(image)) != inverted)
    assert (flat.numpy() == (0 if inverted else 255)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wk.grayscale_to_rgb(np.zeros((2, 2))), "length 1"),
        (lambda: wk.rgb_to_grayscale(np.zeros(3, np.float32)), "two axes at least"),
        (lambda: wk.threshold(np.zeros((2, 2, 2), np.float32)), "one channel, or three"),
        (lambda: wk.threshold(np.zeros((2, 2, 1), np.float32), method="mean"), "method is 'mean'"),
    ],
)
def test_what_has_no_such_colors_is_refused(call: Any, words: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=words):
        call()
