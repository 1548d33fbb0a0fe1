"""What the operators of tensors call."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from wgsl_kernels.engine.operators import provide
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.tensor import Tensor
from wgsl_kernels.ops import binary, compare, float_pairs, indexing, logical, matrix, unary

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


provide(
    abs=unary.abs,
    add=binary.add,
    and_=logical.logical_and,
    eq=_equal,
    floordiv=binary.floor_divide,
    ge=compare.greater_equal,
    getitem=indexing.getitem,
    gt=compare.greater,
    invert=logical.logical_not,
    le=compare.less_equal,
    lt=compare.less,
    matmul=matrix.matmul,
    mod=float_pairs.remainder,
    mul=binary.multiply,
    ne=_not_equal,
    neg=unary.negative,
    or_=logical.logical_or,
    pow=binary.pow,
    sub=binary.subtract,
    truediv=binary.divide,
)
