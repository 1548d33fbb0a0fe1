"""Samples of variances.

Errors, in units of eps: a chain's differences from its first element are rounded, squared and
summed, a rounding a step; their squares exceed the deviations' by the first one's distance.
Chains are joined by their means, whose rounding counts as often as they lie apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, absolute
from wgsl_kernels.testing.sample import Sample

EPS = 2.0**-23


def variance_error(x: Any, axes: Any, *, keepdims: bool = False) -> Any:
    """Return how far the mean of squared deviations may be off, along ``axes``."""
    x = np.asarray(x, np.float64)
    given = range(x.ndim) if axes is None else np.atleast_1d(axes)
    count = np.prod([x.shape[one] for one in given])
    options: Any = {"axis": axes, "keepdims": keepdims}
    spread = np.ptp(x, **options)
    squares = np.var(x, **options) + spread**2
    return EPS * (3 * (count + 4) * squares + 8 * np.max(np.abs(x), **options) * spread)


def variance_bound(axes: Any = None, *, keepdims: bool = False, correction: float = 0.0) -> Bound:
    """Allow the errors of a variance of the first input along ``axes``."""

    def amount(x: Any) -> Any:
        given = range(x.ndim) if axes is None else np.atleast_1d(axes)
        count = np.prod([x.shape[one] for one in given])
        larger = count / max(count - correction, 1e-9)
        return variance_error(x, axes, keepdims=keepdims) * larger

    return absolute(amount)


def _variance(*shape: int, attrs: Any = None, **facts: Any) -> Sample:
    attrs = attrs or {}
    others = {name: value for name, value in attrs.items() if name != "axis"}
    bound = variance_bound(attrs.get("axis"), **others)
    return Sample("Variance", wk.var, (shape,), attrs=attrs, bound=bound, **facts)


SAMPLES = [
    _variance(2, 3),
    _variance(3, 70, 5, attrs={"axis": (0, 2)}),
    _variance(5, 3, attrs={"axis": -1, "keepdims": True}),
    _variance(70, 8, attrs={"axis": 0, "correction": 1.0}, second_order=False),
    _variance(40000, low=99.0, high=101.0, second_order=False),
    _variance(4, 1, attrs={"axis": 1}),
    _variance(7, 9, dtypes="int32", low=-9, high=9),
    _variance(7, 9, dtypes="bool", low=0, high=2, attrs={"axis": 0}),
]
