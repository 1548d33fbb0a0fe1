"""Maps of two tensors or more: arithmetic, comparisons, logic and bits."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.onnx import ops
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.types import is_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import Node

_BINARY = {
    "Add": ops.add,
    "And": ops.logical_and,
    "BitwiseAnd": ops.bitwise_and,
    "BitwiseOr": ops.bitwise_or,
    "BitwiseXor": ops.bitwise_xor,
    "Equal": ops.equal,
    "Greater": ops.greater,
    "GreaterOrEqual": ops.greater_equal,
    "Less": ops.less,
    "LessOrEqual": ops.less_equal,
    "Mul": ops.multiply,
    "Or": ops.logical_or,
    "Sub": ops.subtract,
    "Xor": ops.logical_xor,
}
_FOLDED = {"Max": ops.maximum, "Min": ops.minimum, "Sum": ops.add}


def _aligned(node: Node, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return both inputs so that they broadcast: before version 7 ``axis`` said where ``b`` is."""
    axis = node.attr("axis")
    if node.version < 7 and node.attr("broadcast", 0) and axis is not None:
        b = ops.reshape(b, (*b.shape, *(1,) * (a.ndim - axis % a.ndim - b.ndim)))
    return a, b


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda node, a, b: function(*_aligned(node, a, b))


def _folded(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda node, *xs: functools.reduce(function, xs)


for _name, _function in _BINARY.items():
    operator(_name)(_binary(_function))
for _name, _function in _FOLDED.items():
    operator(_name)(_folded(_function))


@operator("Mean")
def mean(node: Node, *xs: Tensor) -> Tensor:
    """Return the mean of tensors, element by element."""
    return functools.reduce(ops.add, xs) * (1.0 / len(xs))


@operator("BitShift")
def bit_shift(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` with its bits moved by ``b``; of integers without a sign."""
    left = node.attr("direction") == "LEFT"
    return (ops.bitwise_left_shift if left else ops.bitwise_right_shift)(a, b)


@operator("Div")
def divide(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a / b``; of integers cut toward zero."""
    a, b = _aligned(node, a, b)
    if not is_integer(node.in_types[0]):
        return ops.divide(a, b)
    whole = ops.floor_divide(a, b)
    rest = a - whole * b
    return ops.where(ops.logical_and(ops.not_equal(rest, 0), ops.less(whole, 0)), whole + 1, whole)


@operator("Mod")
def modulo(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return the rest of ``a / b``, with the sign of ``b``, or of ``a`` with ``fmod``."""
    if not node.attr("fmod"):
        return ops.remainder(a, b)
    if is_integer(node.in_types[0]):
        rest = ops.remainder(a, b)
        differs = ops.logical_and(ops.not_equal(rest, 0), ops.not_equal(a < 0, b < 0))
        return ops.where(differs, rest - b, rest)
    size = ops.remainder(ops.abs(a), ops.abs(b))
    return ops.where(a < 0, -size, size)


@operator("Pow")
def power(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` to the power ``b``, in the type of ``a``."""
    a, b = _aligned(node, a, b)
    first, second = map(is_integer, node.in_types)
    if first and not second:
        return ops.trunc(ops.pow(ops.astype(a, "float32"), b))
    return ops.pow(a, ops.astype(b, a.dtype) if second and not first else b)


@operator("Where")
def where(node: Node, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` where the condition holds, else ``b``."""
    return ops.where(condition, a, b)
