"""What signatures share: which dtypes a kernel takes, and what it gives for them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from wgsl_kernels.engine.values.dtypes import BYTES, DType, is_float
from wgsl_kernels.engine.values.shapes import broadcast, require_dtype
from wgsl_kernels.engine.values.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


NUMBERS: tuple[DType, ...] = ("float32", "int32", "bool")
COMPLEX: tuple[DType, ...] = (*NUMBERS, "complex64")
FLOATS: Mapping[DType, DType] = MappingProxyType({"int32": "float32", "bool": "float32"})
"""What a kernel gives for `NUMBERS` that gives floats."""
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
