"""Samples of softmax, its logarithm, and the logarithm of a sum of exponentials.

Errors, in units of eps, of e^(x - top): the difference is rounded once, which counts as often as
it is large, and exp_below adds 3 ULP. The sum of these adds a rounding per step, and where a new
maximum comes what there was is scaled by one exponential more: altogether at most 6 a step, and as
many as the row is wide. The quotient is off by 2.5 and a rounding, safe_log1p by 4 of its result.
Of the logarithms the sum leaves out the maximum, whose 1 is exact.
"""

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, Bound, absolute, relative
from wgsl_kernels.testing.sample import Sample

_EPS = 2.0**-23


def _shifted(x: Array, axis: int) -> Array:
    return np.asarray(np.max(x, axis, keepdims=True) - x)


def _total_error(x: Array, axis: int) -> Array:
    shifted = _shifted(x, axis)
    return np.asarray(2 * np.max(shifted, axis, keepdims=True) + 3 + 6 * x.shape[axis])


def _softmax_bound(axis: int) -> Bound:
    def amount(x: Array) -> Array:
        return np.asarray(_EPS * (_shifted(x, axis) + 3 + _total_error(x, axis) + 3.5))

    return relative(amount)


def _log_softmax_bound(axis: int) -> Bound:
    def amount(x: Array) -> Array:
        shifted = _shifted(x, axis)
        total = np.sum(np.exp(-shifted), axis, keepdims=True)
        in_log = _total_error(x, axis) * (total - 1) / total
        return np.asarray(_EPS * (shifted + in_log + 4 * np.log(total)))

    return absolute(amount)


def _logsumexp_bound(axis: int, keepdims: bool = False) -> Bound:
    def amount(x: Array) -> Array:
        total = np.sum(np.exp(-_shifted(x, axis)), axis, keepdims=True)
        error = _EPS * (_total_error(x, axis) * (total - 1) / total + 4 * np.log(total))
        return np.asarray(error if keepdims else np.squeeze(error, axis))

    return absolute(amount)


_WIDE: dict[str, Any] = {"low": -30.0, "high": 30.0, "second_order": False}


def _log_sum(*shape: int, axis: int, keepdims: bool = False, **facts: Any) -> Sample:
    attrs = {"axis": axis, "keepdims": True} if keepdims else {"axis": axis}
    bound = _logsumexp_bound(axis, keepdims)
    return Sample("LogSumExp", wk.logsumexp, (shape,), attrs=attrs, bound=bound, **facts)


def _softmax(*shape: int, axis: int | None = None, is_log: bool = False, **facts: Any) -> Sample:
    kernel, f, bound = (
        ("LogSoftmax", wk.log_softmax, _log_softmax_bound)
        if is_log
        else ("Softmax", wk.softmax, _softmax_bound)
    )
    attrs, of = ({}, -1) if axis is None else ({"axis": axis}, axis)
    return Sample(kernel, f, (shape,), attrs=attrs, bound=bound(of), **facts)


SAMPLES = [
    _softmax(2, 3, is_log=True),
    _softmax(3, 70, 2, axis=1, is_log=True),
    _softmax(5, 1, is_log=True),
    _softmax(2, 300, is_log=True, **_WIDE),
    _log_sum(2, 3, axis=1),
    _log_sum(3, 70, 4, axis=1, keepdims=True, second_order=False),
    _log_sum(300, axis=-1, **_WIDE),
    _softmax(2, 3),
    _softmax(3, 70, 2, axis=1),
    _softmax(4, 5, axis=0),
    _softmax(5, 1),
    _softmax(2, 5, 7, axis=1),
    _softmax(2, 5, 8, axis=1),
    _softmax(3, 8),
    _softmax(2, 300, **_WIDE),
]
