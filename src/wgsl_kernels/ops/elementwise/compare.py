"""Comparisons of two tensors, elementwise, with broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.registry.exact import declare_exact
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.run import run
from wgsl_kernels.engine.values.dtypes import DTYPES, DType
from wgsl_kernels.ops.rules.specs import NUMBERS, broadcast_pair

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

ORDERED: tuple[DType, ...] = (*NUMBERS, "string")
BOOLS = dict.fromkeys(DTYPES, "bool")
BECAUSE = "its output is of bools"


@public(numpy="equal", tfjs="equal", method=True)
def equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a == b``; NaN equals nothing.

    Example:
        >>> wk.equal([1.0, wk.nan], [1.0, wk.nan]).tolist()
        [True, False]
    """
    return run("Equal", a, b)


signature("Equal", promote=("a", "b"))(broadcast_pair("Equal", *ORDERED, "complex64", gives=BOOLS))


@cpu_kernel("Equal")
def _equal_cpu(a: Array, b: Array) -> Array:
    return np.asarray(a == b)


wgsl_kernel("Equal", "elementwise/compare/equal.wesl")
no_gradient("Equal", because=BECAUSE)


@public(numpy="greater", tfjs="greater", operator="gt", method=True)
def greater(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a > b``; False where either is NaN.

    Example:
        >>> wk.greater([1, 2, 3], 2).tolist()
        [False, False, True]
    """
    return run("Greater", a, b)


signature("Greater", promote=("a", "b"))(broadcast_pair("Greater", *ORDERED, gives=BOOLS))


@cpu_kernel("Greater")
def _greater_cpu(a: Array, b: Array) -> Array:
    return np.asarray(a > b)


wgsl_kernel("Greater", "elementwise/compare/greater.wesl")
no_gradient("Greater", because=BECAUSE)


@public(numpy="greater_equal", tfjs="greaterEqual", operator="ge", method=True)
def greater_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a >= b``; False where either is NaN.

    Example:
        >>> wk.greater_equal([1, 2, 3], 2).tolist()
        [False, True, True]
    """
    return run("GreaterEqual", a, b)


signature("GreaterEqual", promote=("a", "b"))(broadcast_pair("GreaterEqual", *ORDERED, gives=BOOLS))


@cpu_kernel("GreaterEqual")
def _greater_equal_cpu(a: Array, b: Array) -> Array:
    return np.asarray(a >= b)


wgsl_kernel("GreaterEqual", "elementwise/compare/greater_equal.wesl")
no_gradient("GreaterEqual", because=BECAUSE)


@public(numpy="less", tfjs="less", operator="lt", method=True)
def less(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a < b``; False where either is NaN.

    Example:
        >>> wk.less([1, 2, 3], 2).tolist()
        [True, False, False]
    """
    return run("Less", a, b)


signature("Less", promote=("a", "b"))(broadcast_pair("Less", *ORDERED, gives=BOOLS))


@cpu_kernel("Less")
def _less_cpu(a: Array, b: Array) -> Array:
    return np.asarray(a < b)


wgsl_kernel("Less", "elementwise/compare/less.wesl")
no_gradient("Less", because=BECAUSE)


@public(numpy="less_equal", tfjs="lessEqual", operator="le", method=True)
def less_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a <= b``; False where either is NaN.

    Example:
        >>> wk.less_equal([1, 2, 3], 2).tolist()
        [True, True, False]
    """
    return run("LessEqual", a, b)


signature("LessEqual", promote=("a", "b"))(broadcast_pair("LessEqual", *ORDERED, gives=BOOLS))


@cpu_kernel("LessEqual")
def _less_equal_cpu(a: Array, b: Array) -> Array:
    return np.asarray(a <= b)


wgsl_kernel("LessEqual", "elementwise/compare/less_equal.wesl")
no_gradient("LessEqual", because=BECAUSE)


@public(numpy="not_equal", tfjs="notEqual", method=True)
def not_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a != b``; True where either is NaN.

    Example:
        >>> wk.not_equal([1.0, wk.nan], [1.0, wk.nan]).tolist()
        [False, True]
    """
    return run("NotEqual", a, b)


signature("NotEqual", promote=("a", "b"))(
    broadcast_pair("NotEqual", *ORDERED, "complex64", gives=BOOLS)
)


@cpu_kernel("NotEqual")
def _not_equal_cpu(a: Array, b: Array) -> Array:
    return np.asarray(a != b)


wgsl_kernel("NotEqual", "elementwise/compare/not_equal.wesl")
no_gradient("NotEqual", because=BECAUSE)


# They compare.
declare_exact(("Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual"), NUMBERS)
