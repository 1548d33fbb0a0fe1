"""The dtypes a tensor can have, and the rules that combine them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.environment.suggestions import nearest
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

DType = str
"""A dtype's name: one of ``DTYPES``."""


class DTypeName(str):
    """A dtype, such as ``wk.float32``: a string that equals NumPy's dtype of that name as well.

    It equals what ``dtype=`` takes for it: its name, NumPy's dtype and scalar type, and the Python
    type of a number. The hash is that of the name, so a dictionary by dtypes has names as keys. It
    has the attributes of NumPy's dtype on the host, ``object`` for strings, and is one to
    ``isinstance``.

    Example:
        >>> x = wk.tensor(1.5)
        >>> x.dtype == wk.float32, x.dtype == "float32", x.dtype == np.float32, x.dtype == float
        (True, True, True, True)
        >>> x.dtype.kind, x.dtype.itemsize, x.dtype.type
        ('f', 4, <class 'numpy.float32'>)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        if isinstance(other, np.dtype):
            return str.__eq__(self, _NAMES.get(other, ""))
        if isinstance(other, type):
            return str.__eq__(self, _TYPES.get(other, ""))
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return DTypeName, (str(self),)

    @property  # type: ignore[misc]  # xarray asks by isinstance, and NumPy's class has no heirs
    def __class__(self) -> Any:
        return np.dtype

    byteorder = property(lambda self: _NUMPY[self].byteorder)
    char = property(lambda self: _NUMPY[self].char)
    itemsize = property(lambda self: _NUMPY[self].itemsize)
    kind = property(lambda self: _NUMPY[self].kind)
    name = property(lambda self: str(self))
    num = property(lambda self: _NUMPY[self].num)
    str = property(lambda self: _NUMPY[self].str)
    type = property(lambda self: _NUMPY[self].type)

    if not TYPE_CHECKING:  # for which every name would be an attribute

        def __getattr__(self, fact: str) -> Any:
            return getattr(_NUMPY[self], fact)


Name = Literal[
    "bool",
    "int8",
    "uint8",
    "int32",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "string",
]
DTypeLike = (
    Name | DTypeName | np.dtype[Any] | type[np.generic] | type[bool | int | float | complex | str]
)
"""What names a dtype: its name, one of ours or NumPy's, or the Python type of a number."""

_NUMPY: Mapping[DType, np.dtype[Any]] = MappingProxyType(
    {
        "bool": np.dtype(np.bool_),
        "int8": np.dtype(np.int8),
        "uint8": np.dtype(np.uint8),
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
OBJECTS: Mapping[DType, DTypeName] = MappingProxyType({name: DTypeName(name) for name in DTYPES})
"""What ``x.dtype`` is, by name."""

bool_ = OBJECTS["bool"]
int8 = OBJECTS["int8"]
uint8 = OBJECTS["uint8"]
int32 = OBJECTS["int32"]
float16 = OBJECTS["float16"]
float32 = OBJECTS["float32"]
float64 = OBJECTS["float64"]
complex64 = OBJECTS["complex64"]
complex128 = OBJECTS["complex128"]
string = OBJECTS["string"]

BYTES = frozenset({"int8", "uint8"})
"""Integers of 8 bits: dtypes of storage alone, computed in int32 (see `engine.widening`)."""
INTEGERS = frozenset({"int32", *BYTES})
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEXES = frozenset({"complex64", "complex128"})

_ORDER = {
    name: rank
    for rank, name in enumerate(
        (
            "bool",
            "int8",
            "uint8",
            "int32",
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        )
    )
}
_ITEMSIZE = {name: dtype.itemsize for name, dtype in _NUMPY.items()}
_NAMES = {dtype: name for name, dtype in _NUMPY.items()}
_PYTHON = {bool: "bool", int: "int32", float: "float32", complex: "complex64", str: "string"}
_TYPES = {**{dtype.type: name for dtype, name in _NAMES.items()}, **_PYTHON}
_WORDS = {kind.__name__: name for kind, name in _PYTHON.items() if kind is not str}
_ELSEWHERE = {
    "double": "float64",
    "half": "float16",
    "bfloat16": "float16",
    "int64": "int32",
    "int16": "int32",
    "uint16": "int32",
    "uint32": "int32",
    "uint64": "int32",
    "long": "int32",
    "str": "string",
}
"""Names that other libraries have, and the nearest dtype that a tensor can have."""
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


def is_exact(name: DType) -> bool:
    """Say whether ``name`` is an integer dtype or bool."""
    return name in INTEGERS or name == "bool"


def is_differentiable(name: DType) -> bool:
    """Say whether gradients flow through values of this dtype."""
    return name in FLOATS or name in COMPLEXES


def canonical(dtype: Any) -> DType:
    """Return the name of a dtype given as a name, a Python type or a NumPy dtype.

    Raises:
        DTypeError: It is none that a tensor can have.
    """
    if isinstance(dtype, str) and dtype in _NUMPY:
        return str(dtype)
    if isinstance(dtype, type) and dtype in _PYTHON:
        return _PYTHON[dtype]
    if isinstance(dtype, str) and dtype in _WORDS:
        return _WORDS[dtype]
    try:
        if dtype is not None:  # which NumPy takes for float64
            return _NAMES[np.dtype(dtype)]
    except Exception:  # NumPy reads names as lists of fields, so that most errors come from there
        pass
    name = dtype
    if isinstance(dtype, (type, np.dtype)):
        name = dtype.__name__ if isinstance(dtype, type) else dtype.name
    meant = None
    if isinstance(name, str) and len(name) < 40:
        meant = _ELSEWHERE.get(name) or nearest(name, DTYPES)
    hint = f"did you mean {meant!r}? Want" if meant else "want"
    shape = " A shape is one argument: (2, 3)." if isinstance(dtype, int) else ""
    raise DTypeError(f"dtype {shown(name)} is unknown; {hint} one of {', '.join(DTYPES)}.{shape}")


def tensor_dtype(dtype: Any) -> DTypeName:
    """Return the dtype that NumPy's ``dtype=`` asks for: int32 for integers that no tensor has.

    Raises:
        DTypeError: It is none that a tensor can have, nor an integer.
    """
    try:
        return OBJECTS[canonical(dtype)]
    except DTypeError:
        if _is_other_integer(dtype):
            return int32
        raise


def _is_other_integer(dtype: Any) -> bool:
    try:
        return dtype is not None and np.dtype(dtype).kind in "iu"
    except Exception:  # as in `canonical`
        return False


def promote(*names: DType) -> DType:
    """Return the dtype that values of all these dtypes can be cast to.

    The order is bool, int8 and uint8, int32, float16, float32, float64, complex64, complex128, so
    int32 with float32 is float32, as in TensorFlow.js; float64 with complex64 is complex128, and
    int8 with uint8 is int32.

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
    if distinct >= BYTES:
        distinct.add("int32")
    return max(distinct, key=_ORDER.__getitem__)
