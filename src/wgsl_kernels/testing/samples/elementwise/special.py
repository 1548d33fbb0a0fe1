"""Samples of the logarithm of gamma, its derivatives, and erf's complement and inverse.

Where the first two are near 0 below 0 they are differences of two terms, whose errors stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.backends.cpu import special
from wgsl_kernels.testing.bounds import SAFE_ULP, Bound, absolute, plus, safe
from wgsl_kernels.testing.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray

EPS = 2.0**-23


def _of_terms(name: str, mirrored: Callable[[Array], Array]) -> Bound:
    """Allow the error of the result, and below 0 that of the term of the mirrored argument."""

    def error(x: Array) -> Array:
        with np.errstate(all="ignore"):
            term = np.abs(mirrored(np.where(x < 0, -x, 1.0)))
        return np.where((x < 0) & np.isfinite(term), 2 * SAFE_ULP[name] * EPS * term, 0.0)

    return plus(safe(name), absolute(error))


LGAMMA = _of_terms("safe_lgamma", special.lgamma)
DIGAMMA = _of_terms("safe_digamma", lambda x: special.digamma(x + 1))
ERFINV = safe("safe_erfinv")


def _polygamma(n: int) -> Bound:
    """Allow the errors of the terms, which the one next to a pole bounds."""

    def error(x: Array) -> Array:
        distance = np.where(x < 0, np.abs(x - np.rint(x)), x)
        with np.errstate(all="ignore"):
            largest = special.polygamma(np.abs(distance), n)
        return np.where(np.isfinite(largest), 4 * (4 * n + 12) * EPS * np.abs(largest), 0.0)

    return absolute(error)


BELOW: dict[str, Any] = {"low": -9.9, "high": -1.1, "second_order": False}
BETWEEN_POLES: dict[str, Any] = {"low": -9.7, "high": -1.3, "second_order": False}
FIFTH: dict[str, Any] = {"low": 0.8, "high": 9.0}

SAMPLES = [
    Sample("Digamma", wk.digamma, ((2, 3),), low=0.2, high=4.0, bound=DIGAMMA),
    Sample("Digamma", wk.digamma, ((5, 13),), **BELOW, bound=DIGAMMA),
    Sample("Digamma", wk.digamma, ((7,),), dtypes="int32", low=1, high=99, bound=DIGAMMA),
    Sample("Digamma", wk.digamma, ((9,),), dtypes="float16", low=0.3, bound=DIGAMMA),
    Sample("Erfc", wk.erfc, ((2, 3),), bound=safe("safe_erfc")),
    Sample("Erfc", wk.erfc, ((5, 13),), low=-4.0, high=10.5, bound=safe("safe_erfc")),
    Sample("Erfc", wk.erfc, ((7,),), dtypes="int32", low=-3, high=4, bound=safe("safe_erfc")),
    Sample("Erfc", wk.erfc, ((9,),), dtypes="float16", bound=safe("safe_erfc")),
    Sample("Erfinv", wk.erfinv, ((2, 3),), low=-0.9, high=0.9, bound=ERFINV),
    Sample("Erfinv", wk.erfinv, ((5, 13),), low=-0.99, high=0.99, bound=ERFINV),
    Sample("Erfinv", wk.erfinv, ((7,),), dtypes="int32", low=0, high=1, bound=ERFINV),
    Sample("Erfinv", wk.erfinv, ((9,),), dtypes="float16", low=-0.9, high=0.9, bound=ERFINV),
    Sample("Lgamma", wk.lgamma, ((2, 3),), low=0.2, high=4.0, bound=LGAMMA),
    Sample("Lgamma", wk.lgamma, ((5, 13),), **BELOW, bound=LGAMMA),
    Sample("Lgamma", wk.lgamma, ((7,),), dtypes="int32", low=1, high=99, bound=LGAMMA),
    Sample("Lgamma", wk.lgamma, ((9,),), dtypes="float16", low=0.3, bound=LGAMMA),
    Sample("Polygamma", wk.polygamma, ((2, 3),), low=0.5, high=9.0, bound=_polygamma(1)),
    Sample("Polygamma", wk.polygamma, ((3, 1, 2),), attrs={"n": 5}, **FIFTH, bound=_polygamma(5)),
    Sample("Polygamma", wk.polygamma, ((33,),), **BETWEEN_POLES, bound=_polygamma(1)),
    Sample("Polygamma", wk.polygamma, ((7,),), dtypes="int32", low=1, high=9, bound=_polygamma(1)),
    Sample("Polygamma", wk.polygamma, ((9,),), dtypes="float16", low=0.8, bound=_polygamma(1)),
]
