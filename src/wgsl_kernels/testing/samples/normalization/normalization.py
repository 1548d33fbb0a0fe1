"""Samples of normalization, by given means and variances or by the elements' own.

Errors of batch norm, in units of eps: the difference is rounded once, safe_rsqrt is off by 2 and
half of what its argument's rounding is, and two products and a sum round again. Those of layer norm
have the errors of a mean and a variance besides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Bound, absolute, sum_of_terms
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples.reductions.statistics import EPS, variance_error


def batch_norm_bound(*, has_offset: bool = False, has_scale: bool = False) -> Bound:
    """Allow the roundings of the formula; inputs are x, mean, variance, then what is present."""

    def magnitude(x: Any, mean: Any, variance: Any, *others: Any) -> Any:
        offset = np.abs(others[0]) if has_offset else 0.0
        scale = np.abs(others[-1]) if has_scale else 1.0
        return (np.abs(x) + np.abs(mean)) * scale / np.sqrt(variance + 0.001) + offset

    return sum_of_terms(8, magnitude)


def layer_norm_bound(axis: int = -1, *, has_scale: bool = False, has_offset: bool = False) -> Bound:
    """Allow the roundings of the formula; inputs are x, then what is present."""

    def amount(x: Any, *others: Any) -> Any:
        axes = tuple(range(axis % x.ndim, x.ndim))
        count = np.prod([x.shape[one] for one in axes])
        scale = np.abs(others[0]) if has_scale else 1.0
        offset = np.abs(others[-1]) if has_offset else 0.0
        mean = np.mean(x, axis=axes, keepdims=True)
        variance = np.var(x, axis=axes, keepdims=True) + 1e-5
        spread = np.ptp(x, axis=axes, keepdims=True)
        of_mean = EPS * ((count + 2) * spread + 2 * np.max(np.abs(x), axis=axes, keepdims=True))
        of_slope = variance_error(x, axes, keepdims=True) / variance / 2 + 6 * EPS
        slope = scale / np.sqrt(variance)
        return slope * (of_mean + np.abs(x - mean) * of_slope) + EPS * offset

    return absolute(amount)


def _scaled(
    x: wk.Tensor, mean: wk.Tensor, variance: wk.Tensor, scale: wk.Tensor, **attrs: Any
) -> wk.Tensor:
    return wk.batch_norm(x, mean, variance, None, scale, **attrs)


_LOW = (-2.0, -2.0, 0.3)
_WHOLE = batch_norm_bound(has_offset=True, has_scale=True)

SAMPLES = [
    Sample(
        "FusedBatchNorm",
        wk.batch_norm,
        ((2, 3, 2, 4), (4,), (4,), (4,), (4,)),
        low=(*_LOW, -2.0, -2.0),
        bound=_WHOLE,
    ),
    Sample(
        "FusedBatchNorm", wk.batch_norm, ((5, 3), (3,), (3,)), low=_LOW, bound=batch_norm_bound()
    ),
    Sample(
        "FusedBatchNorm",
        wk.batch_norm,
        ((3, 33), (33,), (), (1, 33)),
        low=(*_LOW, -2.0),
        bound=batch_norm_bound(has_offset=True),
    ),
    Sample(
        "FusedBatchNorm",
        _scaled,
        ((2, 3, 2), (3, 2), (2, 1, 1), (2,)),
        low=(*_LOW, -2.0),
        attrs={"variance_epsilon": 0.001},
        bound=batch_norm_bound(has_scale=True),
    ),
    Sample(
        "FusedBatchNorm",
        wk.batch_norm,
        ((2, 1, 1, 2, 1, 2), (2,), (2,), (2,), (2,)),
        low=(*_LOW, -2.0, -2.0),
        bound=_WHOLE,
    ),
    Sample("FusedBatchNorm", wk.batch_norm, ((), (), ()), low=_LOW, bound=batch_norm_bound()),
    Sample("FusedBatchNorm", wk.batch_norm, ((0, 3), (3,), (3,)), low=_LOW),
    Sample(
        "FusedBatchNorm",
        wk.batch_norm,
        ((3, 4), (4,), (4,)),
        dtypes="float16",
        low=_LOW,
        bound=batch_norm_bound(),
    ),
    Sample("LayerNorm", wk.layer_norm, ((2, 3),), bound=layer_norm_bound()),
    Sample(
        "LayerNorm",
        wk.layer_norm,
        ((3, 8), (8,), (8,)),
        bound=layer_norm_bound(has_scale=True, has_offset=True),
    ),
    Sample(
        "LayerNorm",
        wk.layer_norm,
        ((2, 5, 7), (5, 7)),
        attrs={"axis": 1},
        bound=layer_norm_bound(1, has_scale=True),
        second_order=False,
    ),
    Sample(
        "LayerNorm",
        wk.layer_norm,
        ((4,), (4,)),
        attrs={"axis": 0},
        bound=layer_norm_bound(0, has_scale=True),
    ),
    Sample("LayerNorm", wk.layer_norm, ((0, 3), (3,)), bound=None),
    Sample(
        "LayerNorm",
        wk.layer_norm,
        ((70, 9), (9,), (9,)),
        bound=layer_norm_bound(has_scale=True, has_offset=True),
        second_order=False,
    ),
]
