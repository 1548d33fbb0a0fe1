"""Samples of running sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, sum_of_terms, ulp
from wgsl_kernels.testing.sample import Sample


def sums(axis: int = 0, *, reverse: bool = False, depth: int | None = None) -> Bound:
    """Allow the roundings of adding up the elements before each, in any order.

    Args:
        axis: The axis.
        reverse: Whether from its end.
        depth: The longest chain of additions, where it is shorter than the axis.
    """

    def count(x: Any) -> Any:
        length = np.shape(x)[axis] if np.ndim(x) else 1
        return np.asarray(length if depth is None else min(length, depth))

    def magnitude(x: Any) -> Any:
        if np.ndim(x) == 0:
            return np.abs(x)
        ahead = np.flip(x, axis) if reverse else np.asarray(x)
        total = np.cumsum(np.abs(ahead), axis=axis)
        return np.flip(total, axis) if reverse else total

    return sum_of_terms(count, magnitude)


def products(axis: int = 0) -> Bound:
    """Allow one rounding for each factor, either way, and one for the result."""
    return ulp(lambda x: np.asarray(2 * np.shape(x)[axis] if np.ndim(x) else 1))


def _sum(
    shape: tuple[int, ...],
    axis: int = 0,
    dtypes: str = "float32",
    depth: int | None = None,
    **flags: bool,
) -> Sample:
    attrs = {"axis": axis, **flags}
    if dtypes in ("int32", "bool"):
        return Sample("Cumsum", wk.cumulative_sum, (shape,), dtypes, attrs, -(2**31), 2**31)
    bound = sums(axis, reverse=flags.get("reverse", False), depth=depth)
    return Sample("Cumsum", wk.cumulative_sum, (shape,), dtypes, attrs, bound=bound)


def _product(
    shape: tuple[int, ...], axis: int = 0, dtypes: str = "float32", **flags: bool
) -> Sample:
    attrs = {"axis": axis, **flags}
    if dtypes in ("int32", "bool"):
        return Sample("Cumprod", wk.cumulative_prod, (shape,), dtypes, attrs, -9, 9)
    bound = products(axis)
    return Sample("Cumprod", wk.cumulative_prod, (shape,), dtypes, attrs, -1.5, 1.5, bound)


SAMPLES = [
    _product((7,)),
    _product((2, 3), axis=-1, exclusive=True),
    _product((3, 5, 2), axis=1, reverse=True),
    _product((3, 66), axis=1, exclusive=True, reverse=True),
    _product((4, 70), axis=0),
    _product((1,), exclusive=True),
    _product(()),
    _product((0, 3)),
    _product((3, 4), axis=1, dtypes="int32", reverse=True),
    _product((100,), dtypes="int32"),
    _product((9,), dtypes="bool"),
    _product((2, 5), axis=1, dtypes="float16"),
    _sum((7,)),
    _sum((2, 3), axis=1, exclusive=True),
    _sum((3, 5, 2), axis=-2, reverse=True),
    _sum((3, 600), axis=1, exclusive=True, reverse=True, depth=260),
    _sum((300, 66), axis=0),
    _sum((20_000,), depth=340),
    _sum((2, 1, 2, 1, 3, 2), axis=4),
    _sum(()),
    _sum((3, 0), axis=1),
    _sum((5, 65), axis=1, dtypes="int32"),
    _sum((3, 4), dtypes="int32", exclusive=True, reverse=True),
    _sum((70,), dtypes="bool"),
    _sum((2, 40), axis=1, dtypes="float16"),
]
