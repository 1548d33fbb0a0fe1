"""What element-by-element kernels share: their signatures' rules, and how integers are computed."""

from __future__ import annotations

import functools
import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.values.dtypes import BYTES, DType, is_float
from wgsl_kernels.engine.values.shapes import broadcast, require_dtype
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.engine.values.host import Array

NUMBERS: tuple[DType, ...] = ("float32", "int32", "bool")
COMPLEX: tuple[DType, ...] = (*NUMBERS, "complex64")
FLOATS: Mapping[DType, DType] = MappingProxyType({"int32": "float32", "bool": "float32"})
"""What a kernel gives for `NUMBERS` that gives floats."""
_INT32 = np.iinfo(np.int32)
_SAME: Mapping[DType, DType] = MappingProxyType({})


def like_x(kernel: str, *dtypes: DType) -> Callable[[Spec], Spec]:
    """Return the rule of a kernel whose output is like its input ``x``."""

    def rule(x: Spec, /) -> Spec:
        require_dtype(kernel, "x", x, *dtypes)
        return x

    return rule


def float_of_x(kernel: str) -> Callable[[Spec], Spec]:
    """Return the rule of a kernel that gives floats, also for integers and bools."""

    def rule(x: Spec, /) -> Spec:
        require_dtype(kernel, "x", x, *NUMBERS)
        return x.like(dtype=float_dtype(x.dtype))

    return rule


def broadcast_pair(
    kernel: str, *dtypes: DType, gives: Mapping[DType, DType] = _SAME
) -> Callable[[Spec, Spec], Spec]:
    """Return the rule of a kernel of ``a`` and ``b``, which are of one dtype and broadcast.

    Args:
        kernel: Its name.
        dtypes: The dtypes that it takes.
        gives: The output's dtype for those inputs for which it is another.
    """

    def rule(a: Spec, b: Spec, /) -> Spec:
        require_dtype(kernel, "a", a, *dtypes)
        require_dtype(kernel, "b", b, *dtypes)
        return Spec(broadcast(kernel, a=a, b=b), gives.get(a.dtype, a.dtype))

    return rule


def float_dtype(dtype: DType) -> DType:
    """Return ``dtype`` if it is a float, else float32."""
    return dtype if is_float(dtype) else "float32"


def counted(dtype: DType) -> DType:
    """Return the dtype in which values are summed: int32 for bool, int8 and uint8."""
    return "int32" if dtype == "bool" or dtype in BYTES else dtype


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
