"""What the operators of tensors call."""

from __future__ import annotations

from wgsl_kernels.engine.operators import provide
from wgsl_kernels.ops import binary, compare, indexing, logical, matrix, unary

provide(
    abs=unary.abs,
    add=binary.add,
    and_=logical.logical_and,
    eq=compare.equal,
    floordiv=binary.floor_divide,
    ge=compare.greater_equal,
    getitem=indexing.getitem,
    gt=compare.greater,
    invert=logical.logical_not,
    le=compare.less_equal,
    lt=compare.less,
    matmul=matrix.matmul,
    mul=binary.multiply,
    ne=compare.not_equal,
    neg=unary.negative,
    or_=logical.logical_or,
    pow=binary.pow,
    sub=binary.subtract,
    truediv=binary.divide,
)
