"""Samples of sums over segments."""

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, Bound, sum_of_terms
from wgsl_kernels.testing.sample import Sample


def _segment_bound(num_segments: int) -> Bound:
    def magnitude(x: Array, ids: Array) -> Array:
        parts = ids.reshape(-1).astype(np.int64)
        inside = (parts >= 0) & (parts < num_segments)
        total = np.zeros((num_segments, *x.shape[ids.ndim :]))
        rows = np.abs(x).reshape(parts.size, *x.shape[ids.ndim :])
        np.add.at(total, parts[inside], rows[inside])
        return total

    return sum_of_terms(lambda x, ids: np.asarray(ids.size), magnitude)


def _sample(
    shape: tuple[int, ...], ids: tuple[int, ...], num_segments: int, dtype: str = "float32"
) -> Sample:
    """Return a row whose ids reach one beyond both ends."""
    return Sample(
        "UnsortedSegmentSum",
        wk.unsorted_segment_sum,
        (shape, ids),
        dtypes=(dtype, "int32"),
        attrs={"num_segments": num_segments},
        low=(-9.0 if dtype == "int32" else -2.0, -1),
        high=(9.0 if dtype == "int32" else 2.0, num_segments + 1),
        bound=None if dtype == "int32" else _segment_bound(num_segments),
    )


SAMPLES = [
    _sample((6,), (6,), 3),
    _sample((7, 5), (7,), 4),
    _sample((3, 2, 70), (3, 2), 5),
    _sample((300,), (300,), 2),
    _sample((6, 2), (6,), 1),
    _sample((9,), (9,), 4, "int32"),
    _sample((6, 3), (6,), 3, "complex64"),
]
