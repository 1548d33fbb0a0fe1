"""Samples of discrete Fourier transforms, with the bounds that its `pass.wesl` states."""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.ops.signal.spectral import is_smooth, padded_length, radices
from wgsl_kernels.testing.bounds import Bound, sum_of_terms
from wgsl_kernels.testing.sample import Sample


def transform_bound(*, inverse: bool = False) -> Bound:
    """Allow the roundings of every pass, of which the first has the input's sizes.

    Of a convolution those of two transforms and three products, which count against the root of
    the sum of squares: the errors of a transform do not line up.
    """

    def count(x: Any) -> Any:
        length = x.shape[-1]
        if is_smooth(length):
            return np.asarray(sum(radix + 10 for radix in radices(length)))
        return np.asarray(4 * sum(radix + 10 for radix in radices(padded_length(length))) + 30)

    def magnitude(x: Any) -> Any:
        length = x.shape[-1]
        size = np.sum(np.abs(x), axis=-1, keepdims=True)
        if not is_smooth(length):
            squares = np.sum(np.abs(x) ** 2, axis=-1, keepdims=True)
            size = np.sqrt(length * squares)
        return np.asarray(size / (max(length, 1) if inverse else 1))

    return sum_of_terms(count, magnitude)


SHAPES = ((8,), (1,), (2, 5), (3, 4, 6), (2, 64), (7, 77), (128,), (3, 67), (2, 1, 2, 1, 2, 3))

SAMPLES = [
    *(
        Sample("FFT", wk.fft, (shape,), dtypes="complex64", bound=transform_bound())
        for shape in (*SHAPES, (0, 4), (3, 0))
    ),
    *(
        Sample("IFFT", wk.ifft, (shape,), dtypes="complex64", bound=transform_bound(inverse=True))
        for shape in (*SHAPES, (0, 4), (3, 0))
    ),
]
