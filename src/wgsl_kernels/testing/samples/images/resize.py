"""Samples of resized images, and of the gradients of that."""

from collections.abc import Callable
from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, exact, sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

Size = tuple[int, int]

BETWEEN = sum_of_terms(12, lambda *inputs: np.asarray(np.max(np.abs(inputs[-1]))))
"""Two differences, products and sums, of the largest element at most, and the shares' quotients."""


def _all_of(images: Array, dy: Array) -> Array:
    return np.asarray(np.sum(np.abs(dy)))


ADDED = sum_of_terms(40, _all_of)


def _resized(
    kernel: str,
    f: Callable[..., Any],
    shape: tuple[int, ...],
    size: Size,
    option: str = "",
    dtype: str = "float32",
) -> Sample:
    attrs = {"size": size} | ({option: True} if option else {})
    bound = BETWEEN if kernel == "ResizeBilinear" else exact() if dtype == "float32" else None
    low, high = (-9, 9) if dtype == "int32" else (-2.0, 2.0)
    return Sample(kernel, f, (shape,), dtype, attrs, low, high, bound)


def _grad(kernel: str, shape: tuple[int, ...], size: Size, option: str = "") -> Sample:
    taken_back = run_of(kernel, "images", "dy")
    batch, _, _, channels = shape
    attrs = {"size": size} | ({option: True} if option else {})
    return Sample(kernel, taken_back, (shape, (batch, *size, channels)), attrs=attrs, bound=ADDED)


ALIGNED, HALF = "align_corners", "half_pixel_centers"
CASES: list[tuple[tuple[int, ...], Size, str]] = [
    ((1, 2, 3, 2), (4, 5), ""),
    ((2, 3, 4, 1), (5, 2), ALIGNED),
    ((1, 4, 3, 3), (3, 7), HALF),
    ((1, 1, 2, 1), (3, 1), ALIGNED),
    ((1, 5, 5, 1), (2, 2), HALF),
    ((1, 7, 3, 2), (1, 9), ""),
]
SAMPLES = [
    *(_resized("ResizeBilinear", wk.resize_bilinear, *case) for case in CASES),
    _resized("ResizeBilinear", wk.resize_bilinear, (1, 3, 2, 1), (4, 4), HALF, "int32"),
    *(_grad("ResizeBilinearGrad", *case) for case in CASES),
    *(_resized("ResizeNearestNeighbor", wk.resize_nearest_neighbor, *case) for case in CASES),
    _resized(
        "ResizeNearestNeighbor", wk.resize_nearest_neighbor, (1, 3, 2, 1), (4, 4), "", "int32"
    ),
    *(_grad("ResizeNearestNeighborGrad", *case) for case in CASES),
]
