"""Values on the host: those that storages are filled with, and a number as words to fill with."""

from __future__ import annotations

import cmath
import math
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.exact import is_regular
from wgsl_kernels.engine.values.attributes import plain
from wgsl_kernels.engine.values.dtypes import BYTES, INTEGERS, numpy_dtype

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.devices.device import Device
    from wgsl_kernels.backends.webgpu.devices.pool import Storage
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.engine.values.spec import Shape

host_bytes: dict[object, int] = {}
"""Bytes of the host values that are on no device, by a weak reference to what holds them, which
takes itself out of here: no line of Python runs for that (see `devices.pool.Storage`)."""


class _Filling:
    """What a storage is filled with, and which one was: an array and its views share it."""

    __slots__ = ("_filled",)

    _filled: tuple[weakref.ref[Storage], weakref.ref[Device]] | None

    def storage_on(self, device: Device) -> Storage | None:
        """Return the storage on ``device`` that was filled with these values, if it is there."""
        if self._filled is None or self._filled[1]() is not device:
            return None
        return self._filled[0]()

    def fills(self, storage: Storage, device: Device) -> None:
        self._filled = (weakref.ref(storage), weakref.ref(device))


class HostValues(_Filling):
    """Values on the host; they count as an array of the backend until a device has them."""

    __slots__ = ("__weakref__", "_is_regular", "_mark", "values")

    def __init__(self, values: Array, is_regular: bool | None = None) -> None:
        self._filled = None
        self.values = values
        self._is_regular = is_regular
        self._mark: object = weakref.ref(self, host_bytes.pop)
        host_bytes[self._mark] = values.nbytes

    @property
    def is_regular(self) -> bool:
        """Whether a device computes with them as the host does; see `engine.registry.exact`."""
        if self._is_regular is None:
            self._is_regular = is_regular(self.values)
        return self._is_regular

    def mark_uploaded(self) -> None:
        """Stop counting: a storage holds the values from now on."""
        mark, self._mark = self._mark, None
        host_bytes.pop(mark, None)


class ViewedValues:
    """The values of a view, as NumPy's view of those that it is one of."""

    __slots__ = ("_layout", "_shape", "_values", "_whole")

    def __init__(
        self, whole: HostValues | PackedValues, shape: Shape, strides: tuple[int, ...], offset: int
    ) -> None:
        self._whole = whole
        self._shape = shape
        self._layout = (strides, offset)
        self._values: Array | None = None

    @property
    def values(self) -> Array:
        if self._values is None:
            strides, offset = self._layout
            flat = np.ascontiguousarray(self._whole.values).reshape(-1)
            steps = tuple([step * flat.itemsize for step in strides])
            self._values = np.lib.stride_tricks.as_strided(
                flat[offset:], self._shape, steps, writeable=False
            )
        return self._values

    @property
    def is_regular(self) -> bool:
        """Whether a device computes with them as the host does; see `engine.registry.exact`."""
        return is_regular(self.values)


class PackedValues(_Filling):
    """The values of a row-major copy of a view, found again from what the view is one of."""

    __slots__ = ("_viewed",)

    def __init__(self, viewed: ViewedValues) -> None:
        self._filled = None
        self._viewed = viewed

    @property
    def values(self) -> Array:
        """The values, in an array of their own."""
        return np.array(self._viewed.values, order="C")


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
    """Return a number in plain Python; refuse what is none."""
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
