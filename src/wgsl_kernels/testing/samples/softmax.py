"""Samples of softmax and its logarithm.

Errors, in units of eps, of e^(x - top): the difference is rounded once, which counts as often as
it is large, and safe_exp adds 2 ULP. The sum of these adds a rounding per step, the division 2.5,
safe_log 4 of its result.
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
    return np.asarray(np.max(shifted, axis, keepdims=True) + 2 + x.shape[axis])


def _softmax_bound(axis: int) -> Bound:
    def amount(x: Array) -> Array:
        return np.asarray(_EPS * (_shifted(x, axis) + 2 + _total_error(x, axis) + 2.5))

    return relative(amount)


def _log_softmax_bound(axis: int) -> Bound:
    def amount(x: Array) -> Array:
        shifted = _shifted(x, axis)
        log_total = np.log(np.sum(np.exp(-shifted), axis, keepdims=True))
        return np.asarray(_EPS * (shifted + _total_error(x, axis) + 4 * log_total))

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
    Sample("Softmax", wk.softmax, ((2, 3),), bound=_softmax_bound(-1)),
    Sample("Softmax", wk.softmax, ((3, 70, 2),), attrs={"axis": 1}, bound=_softmax_bound(1)),
    Sample("Softmax", wk.softmax, ((4, 5),), attrs={"axis": 0}, bound=_softmax_bound(0)),
    Sample("Softmax", wk.softmax, ((5, 1),), bound=_softmax_bound(-1)),
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
