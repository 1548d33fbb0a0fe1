"""Maps of two tensors or more: arithmetic, comparisons, logic and bits."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import wgsl_kernels as wk
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.types import is_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import Node

_BINARY = {
    "Add": wk.add,
    "And": wk.logical_and,
    "BitwiseAnd": wk.bitwise_and,
    "BitwiseOr": wk.bitwise_or,
    "BitwiseXor": wk.bitwise_xor,
    "Equal": wk.equal,
    "Greater": wk.greater,
    "GreaterOrEqual": wk.greater_equal,
    "Less": wk.less,
    "LessOrEqual": wk.less_equal,
    "Mul": wk.multiply,
    "Or": wk.logical_or,
    "Sub": wk.subtract,
    "Xor": wk.logical_xor,
}
_FOLDED = {"Max": wk.maximum, "Min": wk.minimum, "Sum": wk.add}


def _aligned(node: Node, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Return both inputs so that they broadcast: before version 7 ``axis`` said where ``b`` is."""
    axis = node.attr("axis")
    if node.version < 7 and node.attr("broadcast", 0) and axis is not None:
        b = wk.reshape(b, (*b.shape, *(1,) * (a.ndim - axis % a.ndim - b.ndim)))
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
    return functools.reduce(wk.add, xs) * (1.0 / len(xs))


@operator("BitShift")
def bit_shift(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` with its bits moved by ``b``; of integers without a sign."""
    left = node.attr("direction") == "LEFT"
    return (wk.bitwise_left_shift if left else wk.bitwise_right_shift)(a, b)


@operator("Div")
def divide(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a / b``; of integers cut toward zero."""
    a, b = _aligned(node, a, b)
    if not is_integer(node.in_types[0]):
        return wk.divide(a, b)
    whole = wk.floor_divide(a, b)
    rest = a - whole * b
    return wk.where(wk.logical_and(wk.not_equal(rest, 0), wk.less(whole, 0)), whole + 1, whole)


@operator("Mod")
def modulo(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return the rest of ``a / b``, with the sign of ``b``, or of ``a`` with ``fmod``."""
    if not node.attr("fmod"):
        return wk.remainder(a, b)
    if is_integer(node.in_types[0]):
        rest = wk.remainder(a, b)
        differs = wk.logical_and(wk.not_equal(rest, 0), wk.not_equal(a < 0, b < 0))
        return wk.where(differs, rest - b, rest)
    size = wk.remainder(wk.abs(a), wk.abs(b))
    return wk.where(a < 0, -size, size)


@operator("Pow")
def power(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` to the power ``b``, in the type of ``a``."""
    a, b = _aligned(node, a, b)
    first, second = map(is_integer, node.in_types)
    if first and not second:
        return wk.trunc(wk.pow(wk.astype(a, "float32"), b))
    return wk.pow(a, wk.astype(b, a.dtype) if second and not first else b)


@operator("Where")
def where(node: Node, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return ``a`` where the condition holds, else ``b``."""
    return wk.where(condition, a, b)
