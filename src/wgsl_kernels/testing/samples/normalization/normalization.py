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


def _batch(*shapes: tuple[int, ...], f: Any = wk.batch_norm, **facts: Any) -> Sample:
    """A row whose inputs are x, mean, variance, then what is present: an offset, a scale."""
    low = (-2.0, -2.0, 0.3, -2.0, -2.0)[: len(shapes)]
    return Sample("FusedBatchNorm", f, shapes, low=low, **facts)


def _layer(*shapes: tuple[int, ...], axis: int | None = None, **facts: Any) -> Sample:
    """A row whose inputs are x, then what is present: a scale, an offset."""
    has = {"has_scale": len(shapes) > 1, "has_offset": len(shapes) > 2}
    attrs, bound = ({}, layer_norm_bound(**has)) if axis is None else (
        {"axis": axis}, layer_norm_bound(axis, **has)
    )  # fmt: skip
    return Sample("LayerNorm", wk.layer_norm, shapes, attrs=attrs, **{"bound": bound, **facts})


_WHOLE = batch_norm_bound(has_offset=True, has_scale=True)

SAMPLES = [
    _batch((2, 3, 2, 4), (4,), (4,), (4,), (4,), bound=_WHOLE),
    _batch((5, 3), (3,), (3,), bound=batch_norm_bound()),
    _batch((3, 33), (33,), (), (1, 33), bound=batch_norm_bound(has_offset=True)),
    _batch(
        (2, 3, 2), (3, 2), (2, 1, 1), (2,),
        f=_scaled, attrs={"variance_epsilon": 0.001}, bound=batch_norm_bound(has_scale=True),
    ),
    _batch((2, 1, 1, 2, 1, 2), (2,), (2,), (2,), (2,), bound=_WHOLE),
    _batch((2, 3, 2, 6), *[(3, 1, 1)] * 4, bound=_WHOLE),
    _batch((2, 3, 5), *[(2, 3, 1)] * 2, bound=batch_norm_bound()),
    _batch((), (), (), bound=batch_norm_bound()),
    _batch((0, 3), (3,), (3,)),
    _batch((3, 4), (4,), (4,), dtypes="float16", bound=batch_norm_bound()),
    _layer((2, 3)),
    _layer((3, 8), (8,), (8,)),
    _layer((2, 5, 7), (5, 7), axis=1, second_order=False),
    _layer((4,), (4,), axis=0),
    _layer((0, 3), (3,), bound=None),
    _layer((70, 9), (9,), (9,), second_order=False),
]  # fmt: skip
