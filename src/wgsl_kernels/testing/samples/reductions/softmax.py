"""Samples of softmax, its logarithm, and the logarithm of a sum of exponentials.

Errors, in units of eps, of e^(x - top): the difference is rounded once, which counts as often as
it is large, and exp_below adds 3 ULP. The sum of these adds a rounding per step, and where a new
maximum comes what there was is scaled by one exponential more: altogether at most 6 a step, and as
many as the row is wide. The quotient is off by 2.5 and a rounding, safe_log1p by 4 of its result.
Of the logarithms the sum leaves out the maximum, whose 1 is exact.
"""

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


SAMPLES = [
    Sample("LogSoftmax", wk.log_softmax, ((2, 3),), bound=_log_softmax_bound(-1)),
    Sample(
        "LogSoftmax", wk.log_softmax, ((3, 70, 2),), attrs={"axis": 1}, bound=_log_softmax_bound(1)
    ),
    Sample("LogSoftmax", wk.log_softmax, ((5, 1),), bound=_log_softmax_bound(-1)),
    Sample(
        "LogSoftmax",
        wk.log_softmax,
        ((2, 300),),
        low=-30.0,
        high=30.0,
        bound=_log_softmax_bound(-1),
        second_order=False,
    ),
    Sample("LogSumExp", wk.logsumexp, ((2, 3),), attrs={"axis": 1}, bound=_logsumexp_bound(1)),
    Sample(
        "LogSumExp",
        wk.logsumexp,
        ((3, 70, 4),),
        attrs={"axis": 1, "keepdims": True},
        bound=_logsumexp_bound(1, True),
        second_order=False,
    ),
    Sample(
        "LogSumExp",
        wk.logsumexp,
        ((300,),),
        low=-30.0,
        high=30.0,
        attrs={"axis": -1},
        bound=_logsumexp_bound(-1),
        second_order=False,
    ),
    Sample("Softmax", wk.softmax, ((2, 3),), bound=_softmax_bound(-1)),
    Sample("Softmax", wk.softmax, ((3, 70, 2),), attrs={"axis": 1}, bound=_softmax_bound(1)),
    Sample("Softmax", wk.softmax, ((4, 5),), attrs={"axis": 0}, bound=_softmax_bound(0)),
    Sample("Softmax", wk.softmax, ((5, 1),), bound=_softmax_bound(-1)),
    Sample("Softmax", wk.softmax, ((2, 5, 7),), attrs={"axis": 1}, bound=_softmax_bound(1)),
    Sample("Softmax", wk.softmax, ((2, 5, 8),), attrs={"axis": 1}, bound=_softmax_bound(1)),
    Sample("Softmax", wk.softmax, ((3, 8),), bound=_softmax_bound(-1)),
    Sample(
        "Softmax",
        wk.softmax,
        ((2, 300),),
        low=-30.0,
        high=30.0,
        bound=_softmax_bound(-1),
        second_order=False,
    ),
]
