"""What NumPy kernels share: floats of any input, and how integers and bools are computed."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.values.host import Array

_INT32 = np.iinfo(np.int32)


def as_float(x: Array) -> Array:
    """Return ``x`` itself if it is of floats, else as float32."""
    return x if np.issubdtype(x.dtype, np.inexact) else x.astype(np.float32)


def whole(value: float) -> int:
    """Return a number cut toward zero and saturated to int32; 0 for NaN."""
    if math.isnan(value):
        return 0
    return int(min(max(value, _INT32.min), _INT32.max))


def as_int32(x: Array) -> Array:
    """Return numbers cut toward zero and saturated to int32; 0 for NaN."""
    if not np.issubdtype(x.dtype, np.inexact):
        return x.astype(np.int32)
    if x.size and x.min() >= -(2.0**31) and x.max() < 2.0**31:
        return x.astype(np.int32)
    limited = np.clip(x.astype(np.float64), _INT32.min, _INT32.max)
    return np.where(np.isnan(x), 0, limited).astype(np.int32)


def bools_as_numbers(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return ``function`` with bools computed as int32; a result that is not 0 is True."""

    @functools.wraps(function)
    def computed(x: Array, *others: Array) -> Array:
        if x.dtype != np.bool_:
            return function(x, *others)
        numbers = [one.astype(np.int32) for one in (x, *others)]
        return np.asarray(function(*numbers)).astype(np.bool_)

    return computed


def cut_for_integers(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return ``function`` of integers computed in double precision and cut; see `cut`."""

    def computed(x: Array) -> Array:
        if np.issubdtype(x.dtype, np.inexact):
            return function(x)
        return cut(function(x.astype(np.float64))).astype(x.dtype)

    return computed


def cut(x: Array) -> Array:
    """Return floats cut toward zero, as int32; 0 where that is none, as in TensorFlow.js."""
    return np.where(np.abs(x) < 2.0**31, x, 0).astype(np.int32)
