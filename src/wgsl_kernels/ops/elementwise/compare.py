"""Comparisons of two tensors, elementwise, with broadcasting."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.specs import BOOLS, NUMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.host import Array

ORDERED: tuple[DType, ...] = (*NUMBERS, "string")
BECAUSE = "its output is of bools"
_comparison = functools.partial(
    elementwise, because=BECAUSE, takes=ORDERED, gives=BOOLS, exact=NUMBERS
)


def _in_order(kernel: str, compare: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    """Return a comparison by order on the CPU, which refuses to order text and other bytes."""

    def on_cpu(a: Array, b: Array) -> Array:
        try:
            return np.asarray(compare(a, b))
        except TypeError:
            raise ArgumentError(
                f"{kernel}: a and b hold text and bytes that are not text; want one of them."
            ) from None

    return on_cpu


@public(numpy="equal", tfjs="equal", method=True)
@_comparison(
    "Equal",
    "elementwise/compare/equal.wesl",
    cpu=lambda a, b: np.asarray(a == b),
    takes=(*ORDERED, "complex64"),
)
def equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a == b``; NaN equals nothing.

    Example:
        >>> wk.equal([1.0, wk.nan], [1.0, wk.nan]).tolist()
        [True, False]
    """
    return run("Equal", a, b)


@public(numpy="greater", tfjs="greater", operator="gt", method=True)
@_comparison("Greater", "elementwise/compare/greater.wesl", cpu=_in_order("Greater", operator.gt))
def greater(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a > b``; False where either is NaN.

    Example:
        >>> wk.greater([1, 2, 3], 2).tolist()
        [False, False, True]
    """
    return run("Greater", a, b)


@public(numpy="greater_equal", tfjs="greaterEqual", operator="ge", method=True)
@_comparison(
    "GreaterEqual",
    "elementwise/compare/greater_equal.wesl",
    cpu=_in_order("GreaterEqual", operator.ge),
)
def greater_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a >= b``; False where either is NaN.

    Example:
        >>> wk.greater_equal([1, 2, 3], 2).tolist()
        [False, True, True]
    """
    return run("GreaterEqual", a, b)


@public(numpy="less", tfjs="less", operator="lt", method=True)
@_comparison("Less", "elementwise/compare/less.wesl", cpu=_in_order("Less", operator.lt))
def less(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a < b``; False where either is NaN.

    Example:
        >>> wk.less([1, 2, 3], 2).tolist()
        [True, False, False]
    """
    return run("Less", a, b)


@public(numpy="less_equal", tfjs="lessEqual", operator="le", method=True)
@_comparison(
    "LessEqual", "elementwise/compare/less_equal.wesl", cpu=_in_order("LessEqual", operator.le)
)
def less_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a <= b``; False where either is NaN.

    Example:
        >>> wk.less_equal([1, 2, 3], 2).tolist()
        [True, True, False]
    """
    return run("LessEqual", a, b)


@public(numpy="not_equal", tfjs="notEqual", method=True)
@_comparison(
    "NotEqual",
    "elementwise/compare/not_equal.wesl",
    cpu=lambda a, b: np.asarray(a != b),
    takes=(*ORDERED, "complex64"),
)
def not_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a != b``; True where either is NaN.

    Example:
        >>> wk.not_equal([1.0, wk.nan], [1.0, wk.nan]).tolist()
        [False, True]
    """
    return run("NotEqual", a, b)
