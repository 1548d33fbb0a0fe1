"""Samples of grey-scale dilation, of its gradients, and of where its sums come from."""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, sum_of_terms, ulp
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

Shape = tuple[int, ...]

CASES: list[tuple[Shape, Shape, Shape, dict[str, Any]]] = [
    ((1, 4, 4, 1), (2, 2, 1), (1, 3, 3, 1), {"strides": 1, "pad": "valid"}),
    ((2, 3, 4, 2), (2, 3, 2), (2, 3, 4, 2), {"strides": 1, "pad": "same"}),
    ((1, 5, 4, 3), (2, 2, 3), (1, 2, 2, 3), {"strides": (2, 2), "pad": "valid"}),
    ((1, 5, 5, 1), (2, 2, 1), (1, 3, 3, 1), {"strides": 1, "pad": "valid", "dilations": 2}),
    ((1, 3, 3, 2), (1, 1, 2), (1, 2, 2, 2), {"strides": 2, "pad": "same"}),
    ((1, 4, 3, 1), (3, 2, 1), (1, 2, 3, 1), {"strides": (2, 1), "pad": "same", "dilations": 1}),
]


def _magnitude(x: Array, filter: Array, dy: Array) -> Array:
    return np.asarray(np.sum(np.abs(dy)))


ADDED = sum_of_terms(32, _magnitude)


def _taken_back(*inputs: wk.Tensor, kernel: str, **attrs: Any) -> Any:
    return run_of(kernel, "x", "filter", "dy")(*inputs, **attrs)


PLACES = run_of("Dilation2DPlaces", "x", "filter")

SAMPLES = [
    *(
        Sample("Dilation2D", wk.dilation2d, (x, filter), attrs=attrs, bound=ulp(1))
        for x, filter, _, attrs in CASES
    ),
    *(
        Sample(kernel, _taken_back, (x, filter, dy), attrs={"kernel": kernel, **attrs}, bound=ADDED)
        for kernel in ("Dilation2DBackpropFilter", "Dilation2DBackpropInput")
        for x, filter, dy, attrs in CASES
    ),
    *(
        Sample("Dilation2DPlaces", PLACES, (x, filter), attrs=attrs)
        for x, filter, _, attrs in CASES
    ),
]
