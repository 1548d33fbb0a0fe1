"""Bitwise operations on int32 and bool, elementwise with broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.tensors.run import run
from wgsl_kernels.ops.rules.elementwise import elementwise

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType

WHOLE: tuple[DType, ...] = ("int32", "bool")
BECAUSE = "its output is of integers or bools"


@elementwise(
    "BitwiseAnd",
    "elementwise/bitwise/bitwise_and.wgsl",
    cpu=np.bitwise_and,
    because=BECAUSE,
    takes=WHOLE,
    exact=WHOLE,
)
def bitwise_and(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a & b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_and([6, 5], 3).tolist()
        [2, 1]
    """
    return run("BitwiseAnd", a, b)


@elementwise(
    "BitwiseInvert",
    "elementwise/bitwise/bitwise_invert.wgsl",
    cpu=np.invert,
    because=BECAUSE,
    takes=WHOLE,
    exact=WHOLE,
)
def bitwise_invert(x: TensorLike) -> Tensor:
    """Return ``~x`` of int32 or bool: every bit inverted.

    Example:
        >>> wk.bitwise_invert([0, 5]).tolist()
        [-1, -6]
    """
    return run("BitwiseInvert", x)


@elementwise(
    "BitwiseLeftShift",
    "elementwise/bitwise/bitwise_left_shift.wgsl",
    cpu=np.left_shift,
    because=BECAUSE,
    takes=("int32",),
    exact=WHOLE,
)
def bitwise_left_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a << b`` of int32, which wraps; 0 where ``b`` is below 0 or above 31.

    Example:
        >>> wk.bitwise_left_shift([1, 3], 2).tolist()
        [4, 12]
    """
    return run("BitwiseLeftShift", a, b)


@elementwise(
    "BitwiseOr",
    "elementwise/bitwise/bitwise_or.wgsl",
    cpu=np.bitwise_or,
    because=BECAUSE,
    takes=WHOLE,
    exact=WHOLE,
)
def bitwise_or(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a | b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_or([4, 5], 3).tolist()
        [7, 7]
    """
    return run("BitwiseOr", a, b)


@elementwise(
    "BitwiseRightShift",
    "elementwise/bitwise/bitwise_right_shift.wgsl",
    cpu=np.right_shift,
    because=BECAUSE,
    takes=("int32",),
    exact=WHOLE,
)
def bitwise_right_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a >> b`` of int32, rounded down; 0 or -1 where ``b`` is not in [0, 31].

    Example:
        >>> wk.bitwise_right_shift([8, -8], 1).tolist()
        [4, -4]
    """
    return run("BitwiseRightShift", a, b)


@elementwise(
    "BitwiseXor",
    "elementwise/bitwise/bitwise_xor.wgsl",
    cpu=np.bitwise_xor,
    because=BECAUSE,
    takes=WHOLE,
    exact=WHOLE,
)
def bitwise_xor(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a ^ b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_xor([6, 5], 3).tolist()
        [5, 6]
    """
    return run("BitwiseXor", a, b)
