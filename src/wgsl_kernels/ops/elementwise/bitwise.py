"""Bitwise operations on int32 and bool, elementwise with broadcasting."""

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
from wgsl_kernels.ops.rules.specs import broadcast_pair, like_x

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType

WHOLE: tuple[DType, ...] = ("int32", "bool")
BECAUSE = "its output is of integers or bools"


@public(numpy="bitwise_and", tfjs="bitwiseAnd", operator="and", method=True)
def bitwise_and(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a & b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_and([6, 5], 3).tolist()
        [2, 1]
    """
    return run("BitwiseAnd", a, b)


signature("BitwiseAnd", promote=("a", "b"))(broadcast_pair("BitwiseAnd", *WHOLE))


@cpu_kernel("BitwiseAnd")
def _bitwise_and_cpu(a: Array, b: Array) -> Array:
    return np.bitwise_and(a, b)


wgsl_kernel("BitwiseAnd", "elementwise/bitwise/bitwise_and.wgsl")
no_gradient("BitwiseAnd", because=BECAUSE)


@public(numpy="invert", operator="invert")
def bitwise_invert(x: TensorLike) -> Tensor:
    """Return ``~x`` of int32 or bool: every bit inverted.

    Example:
        >>> wk.bitwise_invert([0, 5]).tolist()
        [-1, -6]
    """
    return run("BitwiseInvert", x)


signature("BitwiseInvert")(like_x("BitwiseInvert", *WHOLE))


@cpu_kernel("BitwiseInvert")
def _bitwise_invert_cpu(x: Array) -> Array:
    return np.invert(x)


wgsl_kernel("BitwiseInvert", "elementwise/bitwise/bitwise_invert.wgsl")
no_gradient("BitwiseInvert", because=BECAUSE)


@public(numpy="left_shift", operator="lshift")
def bitwise_left_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a << b`` of int32, which wraps; 0 where ``b`` is below 0 or above 31.

    Example:
        >>> wk.bitwise_left_shift([1, 3], 2).tolist()
        [4, 12]
    """
    return run("BitwiseLeftShift", a, b)


signature("BitwiseLeftShift", promote=("a", "b"))(broadcast_pair("BitwiseLeftShift", "int32"))


@cpu_kernel("BitwiseLeftShift")
def _bitwise_left_shift_cpu(a: Array, b: Array) -> Array:
    return np.left_shift(a, b)


wgsl_kernel("BitwiseLeftShift", "elementwise/bitwise/bitwise_left_shift.wgsl")
no_gradient("BitwiseLeftShift", because=BECAUSE)


@public(numpy="bitwise_or", operator="or", method=True)
def bitwise_or(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a | b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_or([4, 5], 3).tolist()
        [7, 7]
    """
    return run("BitwiseOr", a, b)


signature("BitwiseOr", promote=("a", "b"))(broadcast_pair("BitwiseOr", *WHOLE))


@cpu_kernel("BitwiseOr")
def _bitwise_or_cpu(a: Array, b: Array) -> Array:
    return np.bitwise_or(a, b)


wgsl_kernel("BitwiseOr", "elementwise/bitwise/bitwise_or.wgsl")
no_gradient("BitwiseOr", because=BECAUSE)


@public(numpy="right_shift", operator="rshift")
def bitwise_right_shift(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a >> b`` of int32, rounded down; 0 or -1 where ``b`` is not in [0, 31].

    Example:
        >>> wk.bitwise_right_shift([8, -8], 1).tolist()
        [4, -4]
    """
    return run("BitwiseRightShift", a, b)


signature("BitwiseRightShift", promote=("a", "b"))(broadcast_pair("BitwiseRightShift", "int32"))


@cpu_kernel("BitwiseRightShift")
def _bitwise_right_shift_cpu(a: Array, b: Array) -> Array:
    return np.right_shift(a, b)


wgsl_kernel("BitwiseRightShift", "elementwise/bitwise/bitwise_right_shift.wgsl")
no_gradient("BitwiseRightShift", because=BECAUSE)


@public(numpy="bitwise_xor", operator="xor", method=True)
def bitwise_xor(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a ^ b`` of int32 or bool, bit by bit.

    Example:
        >>> wk.bitwise_xor([6, 5], 3).tolist()
        [5, 6]
    """
    return run("BitwiseXor", a, b)


signature("BitwiseXor", promote=("a", "b"))(broadcast_pair("BitwiseXor", *WHOLE))


@cpu_kernel("BitwiseXor")
def _bitwise_xor_cpu(a: Array, b: Array) -> Array:
    return np.bitwise_xor(a, b)


wgsl_kernel("BitwiseXor", "elementwise/bitwise/bitwise_xor.wgsl")
no_gradient("BitwiseXor", because=BECAUSE)


declare_exact(
    (
        "BitwiseAnd",
        "BitwiseInvert",
        "BitwiseLeftShift",
        "BitwiseOr",
        "BitwiseRightShift",
        "BitwiseXor",
    ),
    WHOLE,
)
