"""What dtypes are: their kinds, their limits, and what becomes of two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import (
    COMPLEXES,
    FLOATS,
    INTEGERS,
    DType,
    canonical,
    numpy_dtype,
    promote,
)
from wgsl_kernels.engine.values.host import weak_dtype
from wgsl_kernels.wgsl.errors.words import shown

KINDS: dict[str, frozenset[DType]] = {
    "bool": frozenset({"bool"}),
    "signed integer": frozenset({"int8", "int32"}),
    "unsigned integer": frozenset({"uint8"}),
    "integral": INTEGERS,
    "real floating": FLOATS,
    "complex floating": COMPLEXES,
    "numeric": FLOATS | COMPLEXES | INTEGERS,
}
"""The dtypes of each kind that the array API standard names."""


@dataclass(frozen=True)
class FloatFacts:
    """The limits of a floating-point dtype; of a complex one those of its parts.

    Attributes:
        bits: Bits of one number.
        eps: The distance from 1 to the next larger number.
        max: The largest number.
        min: The smallest one, which is negative.
        smallest_normal: The smallest number above 0 with full precision.
        dtype: The dtype.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerFacts:
    """The limits of an integer dtype.

    Attributes:
        bits: Bits of one number.
        max: The largest number.
        min: The smallest one.
        dtype: The dtype.
    """

    bits: int
    max: int
    min: int
    dtype: DType


@public()
def can_cast(from_: Any, to: Any) -> bool:
    """Return whether values of one dtype may become another's by the rules of promotion.

    Args:
        from_: A dtype or a tensor.
        to: A dtype.

    Example:
        >>> can_cast("int32", "float32"), can_cast("float32", "int32")
        (True, False)
    """
    have, wanted = dtype_of(from_), canonical(to)
    if "string" in (have, wanted):
        return have == wanted
    return promote(have, wanted) == wanted


def dtype_of(given: Any) -> DType:
    """Return the dtype of a tensor, or the one that ``given`` names.

    Raises:
        DTypeError: It is neither.
    """
    return given.dtype if isinstance(given, Tensor) else canonical(given)


@public()
def finfo(type: Any) -> FloatFacts:
    """Return the limits of a real or complex floating-point dtype, or of a tensor's.

    Raises:
        DTypeError: The dtype is none of these.

    Example:
        >>> finfo("float32").eps
        1.1920928955078125e-07
    """
    name = dtype_of(type)
    if name not in FLOATS | COMPLEXES:
        raise DTypeError(f"finfo: dtype is {name}; want a floating-point one.")
    facts = np.finfo(numpy_dtype(name))
    return FloatFacts(
        bits=int(facts.bits),
        eps=float(facts.eps),
        max=float(facts.max),
        min=float(facts.min),
        smallest_normal=float(facts.smallest_normal),
        dtype=facts.dtype.name,
    )


@public()
def iinfo(type: Any) -> IntegerFacts:
    """Return the limits of an integer dtype, or of a tensor's.

    Raises:
        DTypeError: The dtype is none.

    Example:
        >>> iinfo("int32").max
        2147483647
    """
    name = dtype_of(type)
    if name not in KINDS["integral"]:
        raise DTypeError(f"iinfo: dtype is {name}; want an integer one.")
    facts = np.iinfo(numpy_dtype(name))
    return IntegerFacts(int(facts.bits), int(facts.max), int(facts.min), name)


@public()
def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind, or of one of several.

    Args:
        dtype: A dtype.
        kind: "bool", "signed integer", "unsigned integer", "integral", "real floating",
            "complex floating", "numeric", a dtype, or a tuple of these.

    Raises:
        ArgumentError: ``kind`` is none of these.

    Example:
        >>> isdtype("float32", ("integral", "real floating"))
        True
    """
    name = canonical(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(name in _dtypes_of(one) for one in kinds)


def _dtypes_of(kind: Any) -> frozenset[DType]:
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    try:
        return frozenset({canonical(kind)})
    except DTypeError:
        known = ", ".join(map(repr, KINDS))
        raise ArgumentError(
            f"isdtype: kind is {shown(kind)}; want {known}, a dtype, or a tuple of these."
        ) from None


@public()
def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that tensors, dtypes and Python numbers have together.

    A Python number counts by its kind alone, as in operators.

    Raises:
        ArgumentError: There is no tensor and no dtype.
        DTypeError: Strings meet numbers.

    Example:
        >>> result_type("int32", "float32"), result_type("int32", 1.5), result_type("float32", 1)
        ('float32', 'float32', 'float32')
    """
    numbers = [one for one in arrays_and_dtypes if isinstance(one, (bool, int, float, complex))]
    others = [one for one in arrays_and_dtypes if not isinstance(one, (bool, int, float, complex))]
    if not others:
        raise ArgumentError("result_type: there is no tensor and no dtype; want at least one.")
    found = promote(*map(dtype_of, others))
    for one in numbers:
        found = weak_dtype(one, found)
    return found
