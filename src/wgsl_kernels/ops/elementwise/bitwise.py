"""Bitwise operations on int32 and bool, elementwise with broadcasting."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.ops.rules.elementwise import elementwise

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType

WHOLE: tuple[DType, ...] = ("int32", "bool")
_bitwise = functools.partial(
    elementwise, because="its output is of integers or bools", takes=WHOLE, exact=WHOLE
)


@public(numpy="bitwise_and", tfjs="bitwiseAnd", operator="and", method=True)
@_bitwise("BitwiseAnd", "elementwise/bitwise/bitwise_and.wgsl", cpu=np.bitwise_and)
def bitwise_and(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a & b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_and([6, 5], 3).tolist()
        [2, 1]
    """
    return run("BitwiseAnd", a, b)


@public(numpy="invert", operator="invert")
@_bitwise("BitwiseInvert", "elementwise/bitwise/bitwise_invert.wgsl", cpu=np.invert)
def bitwise_invert(x: TensorLike) -> Tensor:
    """Return ``~x`` of int32 or bool: every bit inverted.

    Example:
        >>> wk.bitwise_invert([0, 5]).tolist()
        [-1, -6]
    """
    return run("BitwiseInvert", x)


@public(numpy="left_shift", operator="lshift")
@_bitwise(
    "BitwiseLeftShift",
    "elementwise/bitwise/bitwise_left_shift.wgsl",
    cpu=np.left_shift,
    takes=("int32",),
)
def bitwise_left_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a << b`` of int32, which wraps; 0 where ``b`` is below 0 or above 31.

    Example:
        >>> wk.bitwise_left_shift([1, 3], 2).tolist()
        [4, 12]
    """
    return run("BitwiseLeftShift", a, b)


@public(numpy="bitwise_or", operator="or", method=True)
@_bitwise("BitwiseOr", "elementwise/bitwise/bitwise_or.wgsl", cpu=np.bitwise_or)
def bitwise_or(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a | b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_or([4, 5], 3).tolist()
        [7, 7]
    """
    return run("BitwiseOr", a, b)


@public(numpy="right_shift", operator="rshift")
@_bitwise(
    "BitwiseRightShift",
    "elementwise/bitwise/bitwise_right_shift.wgsl",
    cpu=np.right_shift,
    takes=("int32",),
)
def bitwise_right_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a >> b`` of int32, rounded down; 0 or -1 where ``b`` is not in [0, 31].

    Example:
        >>> wk.bitwise_right_shift([8, -8], 1).tolist()
        [4, -4]
    """
    return run("BitwiseRightShift", a, b)


@public(numpy="bitwise_xor", operator="xor", method=True)
@_bitwise("BitwiseXor", "elementwise/bitwise/bitwise_xor.wgsl", cpu=np.bitwise_xor)
def bitwise_xor(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a ^ b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_xor([6, 5], 3).tolist()
        [5, 6]
    """
    return run("BitwiseXor", a, b)
