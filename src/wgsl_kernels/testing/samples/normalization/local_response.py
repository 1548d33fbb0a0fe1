"""Samples of local response normalization, and of its gradient."""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, relative, sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

Shape = tuple[int, ...]

CASES: list[tuple[Shape, dict[str, Any]]] = [
    ((1, 2, 2, 4), {"depth_radius": 1}),
    ((2, 1, 2, 7), {"depth_radius": 2, "bias": 2.0, "alpha": 0.5, "beta": 0.75}),
    ((1, 1, 3, 3), {"depth_radius": 5, "beta": 1.0}),
    ((1, 2, 1, 5), {"depth_radius": 0, "alpha": 0.1}),
    ((1, 1, 1, 70), {"depth_radius": 3, "alpha": 0.1, "beta": 0.25}),
    ((3, 1, 1, 1), {"depth_radius": 2}),
]
NORMALIZED = relative(64 * 2.0**-24)
"""safe_pow 13 ULP, and a sum of squares, whose relative error is not increased by the power."""


def _size(x: Array, y: Array, dy: Array) -> Array:
    """Return what the terms may add up to: y is at most x here, and the norm at least 1."""
    return np.asarray(np.max(np.abs(dy)) * (1 + 4 * np.sum(np.abs(x) * np.abs(y), -1).max()))


def _grad(shape: Shape, attrs: dict[str, Any]) -> Sample:
    full = {"bias": 1.0, "alpha": 1.0, "beta": 0.5} | attrs
    bound = sum_of_terms(64, _size)
    return Sample(
        "LRNGrad", run_of("LRNGrad", "x", "y", "dy"), (shape,) * 3, attrs=full, bound=bound
    )


SAMPLES = [
    *(
        Sample("LRN", wk.local_response_normalization, (shape,), attrs=attrs, bound=NORMALIZED)
        for shape, attrs in CASES
    ),
    *(_grad(shape, attrs) for shape, attrs in CASES),
]
