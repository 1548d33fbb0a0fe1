"""Samples of sums of products by subscripts."""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, sum_of_terms
from wgsl_kernels.testing.sample import Bound, Sample

Shape = tuple[int, ...]


def einsum_bound(equation: str) -> Bound:
    """Allow a rounding for each term and factor."""

    def magnitude(*inputs: Array) -> Array:
        return np.asarray(np.einsum(equation, *[np.abs(one) for one in inputs]))

    def count(*inputs: Array) -> Array:
        terms = np.einsum(equation, *[np.ones_like(one) for one in inputs])
        return np.asarray(terms + 2 * len(inputs))

    return sum_of_terms(count, magnitude)


def _einsum(*inputs: wk.Tensor, equation: str) -> wk.Tensor:
    return wk.einsum(equation, *inputs)


def _sample(equation: str, *shapes: Shape, dtype: str = "float32") -> Sample:
    low, high = (-9, 9) if dtype == "int32" else (-2.0, 2.0)
    attrs: dict[str, Any] = {"equation": equation}
    bound = None if dtype == "int32" else einsum_bound(equation)
    return Sample("Einsum", _einsum, shapes, dtype, attrs, low, high, bound)


SAMPLES = [
    _sample("ij,jk->ik", (5, 9), (9, 6)),
    _sample("ijj->ij", (2, 3, 3)),
    _sample("aecd,abcd->acbe", (2, 4, 2, 3), (2, 3, 2, 3)),
    _sample("i,j->ij", (3,), (70,)),
    _sample("...ij,jkl,lm->...im", (2, 3, 4), (4, 2, 5), (5, 3)),
    _sample("ijk,lk->", (2, 3, 4), (5, 4)),
    _sample("bi,bi->b", (2, 65), (2, 65), dtype="int32"),
    _sample("ij,kj->ki", (3, 5), (4, 5), dtype="float16"),
]
"""Traces, outer products, several operands, sums over one of them."""
