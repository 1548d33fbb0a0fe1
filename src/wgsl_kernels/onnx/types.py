"""ONNX's element types: what carries each on a device, and the way in and out.

A tensor has no int64, no integers of 16 bits and no floats narrower than float16. Values of these
types are carried in a wider dtype, which has every value of theirs: integers in int32, narrow
floats in float32. What an operator gives is made to fit its type again (see ``onnx/narrow.py``).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.host_memory import check_room
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError
from wgsl_kernels.engine.execution.host_tensors import of_lent
from wgsl_kernels.engine.values.dtypes import OBJECTS
from wgsl_kernels.ops.names import public_ops as ops
from wgsl_kernels.ops.quantization.kinds import KINDS, packed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.dtypes import DTypeName
    from wgsl_kernels.engine.values.host import Array

_CARRIERS = {
    **{one: one for one in ("bool", "int8", "uint8", "int32", "float16", "string")},
    **{one: one for one in ("complex64", "complex128")},
    "float": "float32",
    "double": "float64",
    **dict.fromkeys(
        ("int2", "uint2", "int4", "uint4", "int16", "uint16", "uint32", "int64", "uint64"),
        "int32",
    ),
    **dict.fromkeys(
        (
            "bfloat16",
            "float8e4m3fn",
            "float8e4m3fnuz",
            "float8e5m2",
            "float8e5m2fnuz",
            "float8e8m0",
            "float4e2m1",
        ),
        "float32",
    ),
}
CARRIERS: Mapping[str, DTypeName] = MappingProxyType(
    {name: OBJECTS[carrier] for name, carrier in _CARRIERS.items()}
)
"""ONNX's name of an element type, and the dtype of the tensors that carry it."""

BITS: Mapping[str, tuple[int, bool]] = MappingProxyType(
    {
        "int2": (2, True),
        "uint2": (2, False),
        "int4": (4, True),
        "uint4": (4, False),
        "int8": (8, True),
        "uint8": (8, False),
        "int16": (16, True),
        "uint16": (16, False),
        "int32": (32, True),
        "uint32": (32, False),
        "int64": (64, True),
        "uint64": (64, False),
    }
)
"""Bits of the integer types, and whether they have a sign."""

FLOATS = frozenset(
    {"float16", "float", "double"} | {name for name in CARRIERS if CARRIERS[name] == "float32"}
)
_NUMPY = {"float": "float32", "double": "float64", "string": "object"}
_ML_DTYPES = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
    "int2": "int2",
    "uint2": "uint2",
    "int4": "int4",
    "uint4": "uint4",
}
PACKED_KINDS: Mapping[str, str] = MappingProxyType(
    {**_ML_DTYPES, **{name: name for name in ("int8", "uint8", "int16", "uint16")}}
)
"""The kinds of numbers of few bits (see `widen`) that element types are, by ONNX's names."""
_ONNX = {
    **{_NUMPY.get(name, name): name for name in CARRIERS if name not in _ML_DTYPES},
    **{there: here for here, there in _ML_DTYPES.items()},
}


def element(type_: str) -> str:
    """Return the element type in ONNX's name of a type: ``float`` of ``seq(tensor(float))``."""
    return type_.rpartition("(")[2].rstrip(")")


def tensor_type(name: str) -> str:
    """Return ONNX's name of the type of tensors with such elements."""
    return f"tensor({name})"


def numpy_type(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type, of ``ml_dtypes`` where NumPy has none."""
    if name in _ML_DTYPES:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
        return found
    return np.dtype(_NUMPY.get(name, name))


def element_of(dtype: np.dtype[Any]) -> str:
    """Return ONNX's name of a NumPy dtype's elements.

    Raises:
        DTypeError: ONNX has none.
    """
    if dtype.kind in "OUST":
        return "string"
    if dtype.name not in _ONNX:
        raise DTypeError(f"onnx: no element type of ONNX is {dtype.name}.")
    return _ONNX[dtype.name]


def is_integer(type_: str) -> bool:
    """Say whether a type's elements are integers."""
    return element(type_) in BITS


def limits(name: str) -> tuple[int, int]:
    """Return the least and the largest value of an integer type, as its carrier can have them."""
    bits, has_sign = BITS[name]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if has_sign else (0, (1 << bits) - 1)
    return max(low, -(1 << 31)), min(high, (1 << 31) - 1)


def codes_of(array: Array, kind: str) -> Array:
    """Return the bytes that pack numbers of a kind, along the last axis; see `widen`."""
    found = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).view(np.uint8)
    bits = KINDS[kind].bits
    return packed(found, bits) if bits < 8 else found


def entered(array: Array, what: str, *, is_lent: bool) -> Tensor:
    """Return the tensor that carries an input; numbers of few bits are widened on its backend.

    Args:
        array: Of any of ONNX's element types, which `carried` may refuse.
        what: What it is, for an error's text.
        is_lent: Whether the tensor is for one run, which nothing records: see `of_lent`.
    """
    name = element_of(array.dtype)
    kind = PACKED_KINDS.get(name)
    if kind is None or CARRIERS[name] == name or not array.ndim or not array.size:
        return carried(array, what, is_lent=is_lent)
    codes = carried(codes_of(array, kind), is_lent=is_lent)
    return ops.widen(codes, kind=kind, size=array.shape[-1])


def carried(values: Any, what: str = "onnx", *, is_lent: bool = False) -> Tensor:
    """Return the tensor that carries an array of any of ONNX's element types.

    Args:
        values: An array, or what NumPy makes one of.
        what: What the array is, for an error's text.
        is_lent: See `entered`.

    Raises:
        ArgumentError: Integers do not fit int32.
        DTypeError: No element type is like the array's dtype.
    """
    array = np.asarray(values)
    carrier = CARRIERS[element_of(array.dtype)]
    if carrier == "int32" and array.dtype.kind in "iu" and array.dtype.itemsize >= 4 and array.size:
        least, most = int(array.min()), int(array.max())
        if least < -(1 << 31) or most >= 1 << 31:
            raise ArgumentError(
                f"{what}: {array.dtype.name} values from {least} to {most}; integers are computed "
                "in int32: want all from -2**31 to 2**31 - 1."
            )
    if carrier == "string":
        return ops.tensor(array.astype(object), dtype="string")
    if array.dtype != carrier:
        check_room(array.shape, carrier)
        array = array.astype(carrier)
    return of_lent(array, carrier) if is_lent else ops.tensor(array, dtype=carrier)


def released(value: Tensor | Array, type_: str) -> Array:
    """Return a value of a graph as an array of the dtype that its type has in NumPy."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value.numpy())
    wanted = numpy_type(element(type_))
    return array if array.dtype == wanted else array.astype(wanted)
