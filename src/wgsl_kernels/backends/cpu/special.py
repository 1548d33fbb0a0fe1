"""Special functions of NumPy: log of gamma, its derivatives; the complement and inverse of erf.

All run in double precision. Formulas: NIST Digital Library of Mathematical Functions, sections 5.5
(reflection, recurrence), 5.7 (series at 2), 5.11 and 25.11 (for large arguments), 7.17.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wgsl_kernels.backends.cpu import numerics
from wgsl_kernels.backends.cpu.precision import Array, widened

LARGE = 10.0
"""From where the series for large arguments are right to the last place of a double."""

# zeta(k) - 1 for k = 2, 3, ...: log(gamma(2 + z)) = (1 - EULER) z + sum of (-z)^k (zeta(k) - 1) / k
_ZETA_LESS_1 = (
    0.6449340668482264,
    0.2020569031595943,
    0.08232323371113819,
    0.03692775514336993,
    0.01734306198444914,
    0.008349277381922827,
    0.00407735619794434,
    0.0020083928260822143,
    0.0009945751278180853,
    0.0004941886041194645,
    0.0002460865533080483,
    0.00012271334757848915,
    6.124813505870483e-05,
    3.058823630702049e-05,
    1.528225940865187e-05,
    7.637197637899763e-06,
    3.81729326499984e-06,
    1.908212716553939e-06,
    9.539620338727962e-07,
    4.769329867878064e-07,
    2.38450502727733e-07,
    1.1921992596531106e-07,
    5.960818905125948e-08,
    2.980350351465228e-08,
    1.4901554828365043e-08,
    7.45071178983543e-09,
)
EULER = 0.5772156649015329

# The Bernoulli numbers of even index, from 2 on
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


@widened
def lgamma(x: Array) -> Any:
    """Return log(|gamma(x)|) of real ``x``; infinite at 0, -1, -2, ... and at both infinities."""
    y = _lgamma_above_0(np.abs(x))
    below = (x < 0) & np.isfinite(x)
    if below.any():
        z = -x[below]
        sine = np.abs(np.sin(np.pi * (z - np.rint(z))))
        y[below] = -(y[below] + np.log(z) + np.log(sine / np.pi))
    return y


def _lgamma_above_0(x: Array) -> Array:
    y = np.empty_like(x)
    near = x <= 2.5
    y[near] = _lgamma_near_2(x[near])
    w, product = x[~near], np.ones(x.size - np.count_nonzero(near))
    for _ in range(int(LARGE) - 2):
        is_small = w < LARGE
        product = np.where(is_small, product * w, product)
        w = np.where(is_small, w + 1, w)
    tail = sum(b / (2 * k * (2 * k - 1)) * w ** (1 - 2 * k) for k, b in enumerate(_BERNOULLI, 1))
    main = (w - 0.5) * (np.log(w) - 1) + (math.log(2 * math.pi) - 1) / 2
    y[~near] = main + tail - np.log(product)
    return y


def _lgamma_near_2(x: Array) -> Array:
    """Return log(gamma(x)) for x in [0, 2.5], by the series at 2 for x, x + 1 or x + 2."""
    steps = np.where(x < 0.5, 2, np.where(x < 1.5, 1, 0))
    z = x - (2 - steps)
    series = np.zeros_like(x)
    for k in range(len(_ZETA_LESS_1) + 1, 1, -1):
        series = (_ZETA_LESS_1[k - 2] / k - series) * z
    y = z * (1 - EULER + series)
    y -= np.where(steps > 0, np.log1p(z), 0)
    return np.asarray(y - np.where(steps > 1, np.log(x), 0))


@widened
def digamma(x: Array) -> Any:
    """Return the derivative of log(gamma(x)); NaN at -1, -2, ... and at -infinity."""
    size = np.abs(x)
    y = _digamma_above_0(size)
    below = x < 0
    if below.any():
        z = size[below]
        r = z - np.rint(z)
        mirrored = _digamma_above_0(1 + z) + np.pi / np.tan(np.pi * r)
        y[below] = np.where(r == 0, np.nan, mirrored)
    return np.where(x == 0, -1 / x, y)


def _digamma_above_0(x: Array) -> Array:
    w, total = x, np.zeros_like(x)
    for _ in range(int(LARGE)):
        is_small = w < LARGE
        total = np.where(is_small, total + 1 / w, total)
        w = np.where(is_small, w + 1, w)
    tail = sum(b / (2 * k) * w ** (-2 * k) for k, b in enumerate(_BERNOULLI, 1))
    return np.asarray(np.log(w) - 0.5 / w - tail - total)


def polygamma(x: Array, n: int) -> Array:
    """Return the derivative number ``n``, at least 1, of `digamma`; see `Polygamma` for poles."""
    return widened(lambda x: _polygamma(n, x))(x)


def _polygamma(n: int, x: Array) -> Any:
    sign = 1 if n % 2 else -1
    y = np.asarray(sign * _zeta_above_0(n, np.abs(x)))
    below = x < 0
    if below.any():
        # the sum over all whole numbers but those from 1 + |x| on, the nearest two first
        z = -x[below]
        q = np.rint(z) - z
        near, far = np.abs(q), 1 - np.abs(q)
        both = _first_term(n, near) + sign * _first_term(n, far)
        both += _zeta_above_0(n, 1 + near) + sign * _zeta_above_0(n, 1 + far)
        both = np.where((q > 0) & (n % 2 == 0), -both, both) - _zeta_above_0(n, 1 + z)
        y[below] = np.where(q == 0, np.inf if n % 2 else np.nan, both)
    return np.where(x == 0, sign * _first_term(n, x), y)


def _first_term(n: int, x: Array) -> Array:
    return np.asarray(math.factorial(n) / x ** (n + 1))


def _zeta_above_0(n: int, x: Array) -> Array:
    """Return n! times Hurwitz's zeta function of n + 1 and ``x``, by the Euler-Maclaurin sum."""
    large = n + LARGE
    w, total = x, np.zeros_like(x)
    for _ in range(n + int(LARGE)):
        is_small = w < large
        total = np.where(is_small, total + _first_term(n, w), total)
        w = np.where(is_small, w + 1, w)
    series = 1 + n / (2 * w)
    rising = n * (n + 1) / 2
    for k, b in enumerate(_BERNOULLI, 1):
        series = series + b * rising * w ** (-2 * k)
        rising *= (n + 2 * k) * (n + 2 * k + 1) / ((2 * k + 1) * (2 * k + 2))
    return np.asarray(total + math.factorial(n - 1) / w**n * series)


# (x + 2) e^(x^2) erfc(x) from x = 0.29 to 10.2, by powers of 1 / (x + 2) - _ERFC_MIDDLE: a fit of
# our own by least squares, off by 2^-31
_ERFC = (
    1.047602273092503,
    2.8326204474390044,
    4.533869188992239,
    2.1213793188221093,
    -5.799104220882828,
    -5.907185251489456,
    13.437439168034846,
    10.762179853063182,
    -42.882068660676524,
    -6.568037323309483,
    111.97304928247938,
)
_ERFC_MIDDLE = 0.25932422280311584


def erfc(x: Array) -> Array:
    """Return 1 less the error function, without cancellation."""
    return (_erfc_of_double if x.dtype.itemsize > 4 else _erfc_of_single)(x)


@widened
def _erfc_of_single(x: Array) -> Any:
    q = 1 / (np.clip(x, 0.29, 10.2) + 2)
    scaled = q * _polynomial(q - _ERFC_MIDDLE, _ERFC)
    y = np.asarray(np.exp(-x * x) * scaled)
    near = x < 0.3
    y[near] = 1 - numerics.erf(x[near].astype(np.float32))
    return y


@widened
def _erfc_of_double(x: Array) -> Any:
    return np.asarray(np.frompyfunc(math.erfc, 1, 1)(x)).astype(x.dtype)


# erfinv(x) / x by powers of w - 2.5 below w = 5, and of sqrt(w) - 3 from there to 1 - 2^-24, where
# w = -log(1 - x^2): fits of our own by least squares, off by 2^-28. The choice of w is from Giles,
# Approximating the erfinv Function, 2012.
_ERFINV_MIDDLE = (
    1.5014093535138924,
    0.24664028763604703,
    -0.004177339404560461,
    -0.0012527446629583053,
    0.00021828263036483396,
    -4.961910517029438e-06,
    -3.434611120617366e-06,
    4.6589179177462877e-07,
    1.8037067636343788e-08,
    -8.772800516898117e-09,
    3.3555007699976333e-10,
)
_ERFINV_TAIL = (
    2.8329768017532464,
    1.0016752206737396,
    0.009445283923057178,
    -0.007642406851641882,
    0.005687811463010645,
    -0.003569269457253719,
    0.0014753809909275701,
    -0.00011506194007041988,
    -0.00027957272992812577,
    0.00015670879060220483,
    -2.710285253475066e-05,
)


def erfinv(x: Array) -> Array:
    """Return the number whose error function is ``x``; infinite at -1 and 1, NaN beyond."""
    wide = x.dtype.itemsize > 4
    return (_erfinv_of_double if wide else _erfinv_of_single)(x)


@widened
def _erfinv_of_single(x: Array) -> Any:
    a = np.abs(x)
    w = -np.log((1 - a) * (1 + a))
    y = np.asarray(x * _polynomial(w - 2.5, _ERFINV_MIDDLE))
    is_tail = w >= 5
    y[is_tail] = x[is_tail] * _polynomial(np.sqrt(w[is_tail]) - 3, _ERFINV_TAIL)
    return np.where(a == 1, np.copysign(np.inf, x), y)


@widened
def _erfinv_of_double(x: Array) -> Any:
    # Newton's steps: of erf in the middle, of log(erfc) outside
    a = np.abs(x)
    w = -np.log((1 - a) * (1 + a))
    y = np.where(
        a < 0.5, np.abs(_erfinv_of_single(a)), np.sqrt(w + 0.7 - 0.5 * np.log(np.pi * w + 1))
    )
    for _ in range(5):
        rise = np.exp(y * y) * (math.sqrt(math.pi) / 2)
        outside = erfc(y)
        inner = (a - numerics.erf(y)) * rise
        y = y + np.where(a < 0.5, inner, outside * np.log(outside / (1 - a)) * rise)
    return np.where(a == 1, np.copysign(np.inf, x), np.copysign(y, x))


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    y = np.full_like(x, coefficients[-1])
    for one in coefficients[-2::-1]:
        y *= x
        y += one
    return y
