"""The dtypes a tensor can have, and the rules that combine them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.errors import DTypeError
from wgsl_kernels.engine.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

DType = str
"""A dtype's name: one of ``DTYPES``."""

_NUMPY: Mapping[DType, np.dtype[Any]] = MappingProxyType(
    {
        "bool": np.dtype(np.bool_),
        "int32": np.dtype(np.int32),
        "float16": np.dtype(np.float16),
        "float32": np.dtype(np.float32),
        "float64": np.dtype(np.float64),
        "complex64": np.dtype(np.complex64),
        "complex128": np.dtype(np.complex128),
        "string": np.dtype(object),
    }
)
DTYPES: tuple[DType, ...] = tuple(_NUMPY)
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEXES = frozenset({"complex64", "complex128"})

_ORDER = {
    name: rank
    for rank, name in enumerate(
        ("bool", "int32", "float16", "float32", "float64", "complex64", "complex128")
    )
}
_ITEMSIZE = {name: dtype.itemsize for name, dtype in _NUMPY.items()}
_NAMES = {dtype: name for name, dtype in _NUMPY.items()}
_PYTHON = {bool: "bool", int: "int32", float: "float32", complex: "complex64", str: "string"}
WIDE: Mapping[DType, DType] = MappingProxyType({"float32": "float64", "complex64": "complex128"})
"""What float32 and complex64 become where gradients are checked in double precision."""


def numpy_dtype(name: DType) -> np.dtype[Any]:
    """Return the NumPy dtype that holds ``name`` on the host (``object`` for strings)."""
    return _NUMPY[name]


def itemsize(name: DType) -> int:
    """Return the bytes of one element on the host."""
    return _ITEMSIZE[name]


def is_float(name: DType) -> bool:
    """Say whether ``name`` is a real floating-point dtype."""
    return name in FLOATS


def is_differentiable(name: DType) -> bool:
    """Say whether gradients flow through values of this dtype."""
    return name in FLOATS or name in COMPLEXES


def canonical(dtype: Any) -> DType:
    """Return the name of a dtype given as a name, a Python type or a NumPy dtype.

    Raises:
        DTypeError: It is none that a tensor can have.
    """
    if isinstance(dtype, str) and dtype in _NUMPY:
        return dtype
    if isinstance(dtype, type) and dtype in _PYTHON:
        return _PYTHON[dtype]
    try:
        if dtype is not None:  # which NumPy takes for float64
            return _NAMES[np.dtype(dtype)]
    except Exception:  # NumPy reads names as lists of fields, so that most errors come from there
        pass
    name = dtype
    if isinstance(dtype, (type, np.dtype)):
        name = dtype.__name__ if isinstance(dtype, type) else dtype.name
    raise DTypeError(f"dtype {shown(name)} is unknown; want one of {', '.join(DTYPES)}.")


def promote(*names: DType) -> DType:
    """Return the dtype that values of all these dtypes can be cast to.

    The order is bool, int32, float16, float32, float64, complex64, complex128, so int32 with
    float32 is float32, as in TensorFlow.js; float64 with complex64 is complex128.

    Raises:
        DTypeError: Strings meet numbers.
    """
    distinct = set(names)
    if len(distinct) == 1:
        return names[0]
    if "string" in distinct:
        raise DTypeError(f"dtypes {', '.join(sorted(distinct))} have none in common.")
    if "float64" in distinct and "complex64" in distinct:
        return "complex128"
    return max(distinct, key=_ORDER.__getitem__)
