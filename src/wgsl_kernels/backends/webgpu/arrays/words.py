"""A number as the words of which an array is made that is filled with it."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.values.attributes import plain
from wgsl_kernels.engine.values.dtypes import BYTES, INTEGERS, numpy_dtype

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType

Words = tuple[int, int]
"""The two words of which an array is made that is filled with one number."""


def words_of(value: Any, dtype: DType, what: str) -> Words:
    """Return a number as it fills an array of ``dtype``; ``what`` names it in errors.

    Raises:
        ArgumentError: It is no number, or one that the dtype cannot hold.
    """
    number = check_number(value, what)
    if type(number) is complex and dtype != "complex64":
        raise ArgumentError(f"{what} is {number}; want a real number, the array is {dtype}.")
    if dtype == "bool" or dtype in INTEGERS:
        return (_whole(number, dtype, what),) * 2
    target = numpy_dtype(dtype)
    most = float(np.finfo(target).max)
    with np.errstate(over="ignore"):
        is_large = isinstance(number, int) and abs(number) > most
        cast = np.array(0 if is_large else number, target)
    if is_large or (cmath.isfinite(number) and not np.isfinite(cast)):
        raise ArgumentError(f"{what} is {number}, but {dtype} goes from {-most:g} to {most:g}.")
    first, second = np.frombuffer(np.resize(cast, 4).tobytes(), np.uint32)[:2].tolist()
    return first, second


def check_number(value: Any, what: str) -> complex:
    """Return a number in plain Python.

    Raises:
        ArgumentError: It is none.
    """
    number = plain(value)
    if not isinstance(number, (bool, int, float, complex)):
        kind = type(value).__name__
        raise ArgumentError(f"{what} is a {kind}, {value!r}; want a number.")
    return number


def _whole(number: Any, dtype: DType, what: str) -> int:
    """Return the word of an integer or of a bool; bytes are in it four times."""
    if dtype == "bool":
        if number not in (0, 1):
            raise ArgumentError(f"{what} is {number}; want True or False.")
        return int(number)
    if not isinstance(number, int) and not math.isfinite(number):
        raise ArgumentError(f"{what} is {number}; want a finite number, the array is {dtype}.")
    if number != int(number):
        raise ArgumentError(f"{what} is {number}; want a whole number, the array is {dtype}.")
    limits = np.iinfo(numpy_dtype(dtype))
    if not limits.min <= number <= limits.max:
        raise ArgumentError(
            f"{what} is {number}, but {dtype} goes from {limits.min} to {limits.max}."
        )
    return (int(number) & 0xFF) * 0x01010101 if dtype in BYTES else int(number) & 0xFFFFFFFF
