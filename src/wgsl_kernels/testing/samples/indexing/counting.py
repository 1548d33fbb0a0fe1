"""Samples of how often numbers occur, and of where elements are not zero."""

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

ADDED = sum_of_terms(9, lambda x, weights: np.asarray(np.sum(np.abs(weights))))

NON_ZERO = run_of("NonZero", "x")


def _counted(
    shape: tuple[int, ...], size: int, weights: str = "float32", *, weighted: bool = True
) -> Sample:
    sizes = shape, shape if weighted else (0,)
    bound = ADDED if weights == "float32" else None
    attrs = {"size": size}
    low, high = (0, -9.0), (size + 1, 9.0)
    return Sample("Bincount", wk.bincount, sizes, ("int32", weights), attrs, low, high, bound)


def _dense(
    shape: tuple[int, ...],
    size: int,
    weights: str = "float32",
    *,
    weighted: bool = True,
    binary: bool = False,
) -> Sample:
    sizes = shape, shape if weighted else (0,)
    bound = ADDED if weights == "float32" else None
    attrs = {"size": size, "binary_output": binary}
    low, high = (0, -9.0), (size + 1, 9.0)
    return Sample(
        "DenseBincount", wk.dense_bincount, sizes, ("int32", weights), attrs, low, high, bound
    )


SAMPLES = [
    _counted((6,), 4),
    _counted((2, 5), 3),
    _counted((9,), 4, weighted=False),
    _counted((65,), 2),
    _counted((7,), 3, "int32"),
    _counted((70,), 5, "int32", weighted=False),
    _dense((6,), 4),
    _dense((2, 5), 3),
    _dense((3, 4), 3, weighted=False),
    _dense((3, 4), 3, binary=True),
    _dense((2, 7), 3, "int32"),
    _dense((2, 7), 3, "int32", weighted=False, binary=True),
    Sample("NonZero", NON_ZERO, ((9,),), dtypes="int32", low=-1, high=2),
    Sample("NonZero", NON_ZERO, ((3, 5),), dtypes="bool", low=0, high=2),
    Sample("NonZero", NON_ZERO, ((2, 3, 4),), dtypes="int32", low=0, high=2),
    Sample("NonZero", NON_ZERO, ((2, 3),)),
    Sample("NonZero", NON_ZERO, ((300,),), dtypes="bool", low=0, high=2),
    Sample("NonZero", NON_ZERO, ((5, 1),), dtypes="complex64"),
]
