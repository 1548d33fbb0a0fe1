"""Host values on their way in: Python numbers, nested lists and arrays become NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import (
    ArgumentError,
    DTypeError,
    ShapeError,
    WgslKernelsError,
)
from wgsl_kernels.engine.values.dtypes import BYTES, INTEGERS, WIDE, DType, canonical, numpy_dtype
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.spec import Shape

Array = np.ndarray[Any, np.dtype[Any]]
Scalar = bool | int | float | complex | str

SizeCheck = Callable[[tuple[int, ...], DType], None]
NUMBERS = (bool, int, float, complex, np.number, np.bool_)
LARGE = 1 << 18
"""Elements from which on a copy is worth a question."""


def to_host(
    values: Any, dtype: Any = None, *, double: bool = False, check_size: SizeCheck | None = None
) -> Array:
    """Return a new array of ``values`` in a dtype that tensors can have.

    Python floats and NumPy's float64 become float32, integers but NumPy's int8 and uint8 int32,
    unless ``dtype`` says else; with ``double`` every float becomes float64 and every complex number
    complex128. ``check_size`` is asked before a large array is copied.

    Raises:
        ShapeError: Nested lists are ragged.
        DTypeError: The values have a dtype that tensors cannot have.
        ArgumentError: An integer does not fit the dtype.
    """
    given = as_array(values)
    wanted = canonical(dtype) if dtype is not None else default_dtype(given)
    if double:
        wanted = WIDE.get(wanted, wanted)
    if wanted == "string":
        return _strings(given)
    if given.dtype.kind in "OUS":
        raise DTypeError(f"tensor: values of dtype {given.dtype} do not make a {wanted} tensor.")
    if wanted in INTEGERS and given.dtype.kind in "iu":
        _check_range(given, wanted)
    target = numpy_dtype(wanted)
    if given.dtype.kind == "c" and target.kind != "c":
        raise DTypeError(f"tensor: complex values do not make a {wanted} tensor; take real first.")
    if check_size is not None and given.size >= LARGE:
        check_size(given.shape, wanted)
    try:
        with np.errstate(all="ignore"):
            if wanted in BYTES and given.dtype.kind == "f":
                given = given.astype(np.int64)  # what C leaves open is modulo 256
            return np.array(given, dtype=target, order="C", copy=True)
    except (TypeError, ValueError):  # records, dates and the like
        raise DTypeError(
            f"tensor: values of dtype {given.dtype} do not make a {wanted} tensor."
        ) from None


def as_array(values: Any) -> Array:
    """Return values as a NumPy array, or itself.

    Raises:
        ShapeError, DTypeError: They make none.
    """
    try:
        found = np.asarray(values)
        if found.dtype.kind != "O" or isinstance(values, np.ndarray) or not found.size:
            return found
        is_table = all(isinstance(one, NUMBERS) for one in found.flat)  # of several dtypes
        return np.asarray(found.tolist()) if is_table else found
    except ValueError as error:
        raise ShapeError(f"tensor: the values make no array: {str(error).rstrip('.')}.") from None
    except (MemoryError, WgslKernelsError):
        raise
    except Exception as error:  # of an object's own making: NumPy asks for __array__ and others
        kind, said = type(values).__name__, type(error).__name__
        raise DTypeError(f"tensor: a {kind} makes no array: {said}.") from None


def default_dtype(given: Array) -> DType:
    """Return the dtype that an array takes when none is asked for."""
    kind = given.dtype.kind
    if kind == "f":
        return "float16" if given.dtype.itemsize == 2 else "float32"
    if kind in "iu":
        return given.dtype.name if given.dtype.itemsize == 1 else "int32"
    if kind == "b":
        return "bool"
    if kind == "c":
        return "complex64"
    if kind in "USO":
        return "string"
    raise DTypeError(f"tensor: values of dtype {given.dtype} do not make a tensor.")


def weak_dtype(value: Scalar, strong: DType | None) -> DType:
    """Return the dtype of a Python scalar beside a tensor of dtype ``strong``.

    A scalar takes the tensor's dtype where that can hold its kind, else the default of its own.
    """
    if isinstance(value, str):
        return "string"
    kind = _KINDS[bool if isinstance(value, bool) else type_of(value)]
    if strong is None or strong == "string":
        return _DEFAULTS[kind]
    return strong if _RANKS[strong] >= kind else _above(strong, kind)


def type_of(value: Any) -> type:
    """Return the plain Python number type of a scalar (NumPy's float64 is a float)."""
    for kind in (int, float, complex):
        if isinstance(value, kind):
            return kind
    raise DTypeError(f"tensor: {shown(value)} is no number.")


_KINDS: dict[type, int] = {bool: 0, int: 1, float: 2, complex: 3}
_DEFAULTS = ("bool", "int32", "float32", "complex64")
_RANKS = {
    "bool": 0,
    "int8": 1,
    "uint8": 1,
    "int32": 1,
    "float16": 2,
    "float32": 2,
    "float64": 2,
    "complex64": 3,
    "complex128": 3,
}


def _above(strong: DType, kind: int) -> DType:
    return "complex128" if strong == "float64" and kind == 3 else _DEFAULTS[kind]


def reshape_host(array: Array, shape: Shape | None) -> Array:
    """Return ``array`` in ``shape``; a scalar fills it.

    Raises:
        ShapeError: The counts of elements differ.
    """
    if shape is None:
        return array
    if array.ndim == 0 and array.size == 1 and shape != ():
        return np.array(np.broadcast_to(array, shape), order="C")
    if math.prod(shape) != array.size:
        raise ShapeError(
            f"tensor: {array.size} values of shape {show(array.shape)} do not fill shape "
            f"{show(shape)}."
        )
    return array.reshape(shape)


def _strings(given: Array) -> Array:
    flat = np.empty(given.size, dtype=object)
    for index, value in enumerate(given.reshape(-1)):
        if not isinstance(value, (str, bytes)):
            if isinstance(value, (complex, float, int, np.generic)):
                raise DTypeError(f"tensor: {shown(value)} is no string; want str or bytes.")
            raise DTypeError(f"tensor: {shown(value)} makes no tensor; want numbers, str or bytes.")
        flat[index] = str(value) if isinstance(value, str) else bytes(value)
    return flat.reshape(given.shape)


def _check_range(given: Array, wanted: DType) -> None:
    target = numpy_dtype(wanted)
    if given.size == 0 or np.can_cast(given.dtype, target):
        return
    bounds = np.iinfo(target)
    for value in (given.min(), given.max()):
        if not bounds.min <= int(value) <= bounds.max:
            raise ArgumentError(
                f"tensor: {int(value)} does not fit {wanted}; want values in "
                f"[{bounds.min}, {bounds.max}], or give dtype='float32'."
            )
