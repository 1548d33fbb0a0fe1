"""What signatures share: which dtypes a kernel takes, and what it gives for them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.engine.values.dtypes import BYTES, DTYPES, DType, is_float

if TYPE_CHECKING:
    from collections.abc import Mapping


NUMBERS: tuple[DType, ...] = ("float32", "int32", "bool")
COMPLEX: tuple[DType, ...] = (*NUMBERS, "complex64")
FLOATS: Mapping[DType, DType] = MappingProxyType(
    dict.fromkeys(("int32", "bool", *BYTES), "float32")
)
"""What a kernel gives for integers and bools that gives floats."""
BOOLS: Mapping[DType, DType] = MappingProxyType(dict.fromkeys(DTYPES, "bool"))
"""What a kernel gives for all that gives bools."""


def float_dtype(dtype: DType) -> DType:
    """Return ``dtype`` if it is a float, else float32."""
    return dtype if is_float(dtype) else "float32"


def counted(dtype: DType) -> DType:
    """Return the dtype in which values are summed: int32 for bool, int8 and uint8."""
    return "int32" if dtype == "bool" or dtype in BYTES else dtype
