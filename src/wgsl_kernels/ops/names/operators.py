"""What the operators of tensors call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import all_public
from wgsl_kernels.engine.tensors.operators import provide
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.engine.values.dtypes import INTEGERS
from wgsl_kernels.ops.elementwise import binary, float_pairs, unary
from wgsl_kernels.ops.indexing import indexing
from wgsl_kernels.ops.names import einops_backend, numpy_calls

_ARRAYS = ("__array__", "__array_interface__", "__buffer__", "__dlpack__")


def _equal(a: Tensor, b: object) -> Any:
    """Return ``a == b`` elementwise; what no tensor can equal is left to Python: False."""
    if isinstance(b, Tensor) or _may_equal(a, b):
        return run("Equal", a, b)
    return NotImplemented


def _not_equal(a: Tensor, b: object) -> Any:
    """Return ``a != b`` elementwise; what no tensor can equal is left to Python: True."""
    if isinstance(b, Tensor) or _may_equal(a, b):
        return run("NotEqual", a, b)
    return NotImplemented


def _may_equal(a: Tensor, b: object) -> bool:
    """Say whether ``b`` may equal elements of ``a``, or is so close that an error helps more."""
    if isinstance(b, (str, bytes)):
        return a.dtype == "string"
    if isinstance(b, (Number, np.generic)):
        return a.dtype != "string"
    return isinstance(b, Sequence) or any(hasattr(type(b), name) for name in _ARRAYS)


def _round(x: Tensor, ndigits: int | None = None) -> Tensor:
    """Return ``x`` rounded to ``ndigits`` decimal digits, to whole numbers where none is given."""
    digits = 0 if ndigits is None else integer("round", "ndigits", ndigits)
    if not digits or x.dtype in INTEGERS:
        return unary.round(x)
    scale = 10.0**digits
    return unary.round(x * scale) / scale


def _divmod(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    return binary.floor_divide(a, b), float_pairs.remainder(a, b)


OWN: dict[str, Callable[..., Any]] = {
    "array_function": numpy_calls.array_function,
    "array_ufunc": numpy_calls.array_ufunc,
    "divmod": _divmod,
    "eq": _equal,
    "getitem": indexing.getitem,
    "ne": _not_equal,
    "round": _round,
}
"""What is called where that is no public op alone."""


def bind_operators() -> None:
    """Give tensors their operators, once all ops are loaded; and einops its backend."""
    ops = {name: op for op, names in all_public().items() for name in names.operators}
    provide(OWN | ops)
    einops_backend.register()
