"""Quantized numbers: to integers and narrow floats and back, and products of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.onnx.narrow import rounded
from wgsl_kernels.onnx.operators.convolution import convolved
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.types import CARRIERS, element, is_integer, limits
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode


def _broadcastable(node: OnnxNode, x: Tensor, values: Tensor) -> Tensor:
    """Return scales or zero points, of all, an axis or blocks, so that they broadcast to ``x``."""
    axis, size = node.attr("axis", 1), node.attr("block_size", 0)
    if size:
        repeated = ops.repeat(values, size, axis % x.ndim)
        return repeated[tuple(slice(0, n) for n in x.shape)]
    if values.ndim == 1 and values.size > 1:
        return ops.reshape(values, [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return values


@operator("DequantizeLinear")
def dequantize(node: OnnxNode, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    """Return ``(x - zero) * scale``."""
    scale = _broadcastable(node, x, scale)
    if zero is not None:
        wide = CARRIERS["int32" if is_integer(node.in_types[0]) else "float"]
        x = ops.astype(x, wide) - ops.astype(_broadcastable(node, x, zero), wide)
    return ops.astype(x, scale.dtype) * scale


@operator("QuantizeLinear")
def quantize(node: OnnxNode, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    """Return ``x / scale + zero``, rounded and kept within what the type has."""
    kind = element(node.out_types[0])
    found = ops.astype(x, "float32") / ops.astype(_broadcastable(node, x, scale), "float32")
    if is_integer(kind):
        found = ops.round(found)
    if zero is not None:
        found = found + ops.astype(_broadcastable(node, x, zero), "float32")
    if not is_integer(kind):
        return rounded(found, kind, saturate=bool(node.attr("saturate", 1)))
    return _narrowed(found, kind)


def _narrowed(x: Tensor, kind: str) -> Tensor:
    """Return whole numbers kept within what an integer type has."""
    low, high = limits(kind)
    return ops.astype(ops.astype(ops.clip(x, float(low), float(high)), "int32"), CARRIERS[kind])


@operator("DynamicQuantizeLinear")
def dynamic_quantize(node: OnnxNode, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``x`` as uint8, with the scale and the zero point that its range has."""
    low, high = ops.minimum(ops.min(x), 0.0), ops.maximum(ops.max(x), 0.0)
    scale = (high - low) / 255.0
    scale = ops.where(ops.equal(scale, 0.0), 1.0, scale)  # of zeros alone, as ONNX Runtime has it
    zero = ops.clip(ops.round((0.0 - low) / scale), 0.0, 255.0)
    found = ops.round(x / scale) + zero
    return _narrowed(found, "uint8"), scale, _narrowed(zero, "uint8")


def _centered(x: Tensor, zero: Tensor | None) -> Tensor:
    wide = ops.astype(x, "int32")
    return wide if zero is None else wide - ops.astype(zero, "int32")


def _by_row(values: Tensor | None) -> Tensor | None:
    """Return zero points of rows as a column."""
    if values is None or values.ndim != 1 or values.size == 1:
        return values
    return ops.reshape(values, (-1, 1))


@operator("MatMulInteger")
def matmul_integer(
    node: OnnxNode, a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> Tensor:
    """Return the product of matrices of bytes, less their zero points, as int32."""
    return ops.matmul(_centered(a, _by_row(a_zero)), _centered(b, b_zero))


@operator("QLinearMatMul")
def quantized_matmul(node: OnnxNode, *given: Tensor) -> Tensor:
    """Return the product of quantized matrices, quantized."""
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = given
    product = ops.matmul(_centered(a, _by_row(a_zero)), _centered(b, b_zero))
    rows = _by_row(a_scale)
    scales = ops.astype(a_scale if rows is None else rows, "float32") * ops.astype(
        b_scale, "float32"
    )
    return _requantized(node, ops.astype(product, "float32") * scales, scale, zero)


def _requantized(node: OnnxNode, x: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    found = ops.round(x / ops.astype(scale, "float32")) + ops.astype(zero, "float32")
    return _narrowed(found, element(node.out_types[0]))


def _per_filter(values: Tensor | None, x: Tensor) -> Tensor | None:
    if values is None or values.size == 1:
        return values
    return ops.reshape(values, (-1, *(1,) * (x.ndim - 1)))


@operator("ConvInteger")
def convolution_integer(
    node: OnnxNode,
    x: Tensor,
    weight: Tensor,
    x_zero: Tensor | None = None,
    zero: Tensor | None = None,
) -> Tensor:
    """Return the convolution of bytes less their zero points, as int32; sums are below 2**24."""
    wide = [
        ops.astype(_centered(x, x_zero), "float32"),
        ops.astype(_centered(weight, _per_filter(zero, weight)), "float32"),
    ]
    return ops.astype(ops.round(convolved(node, *wide)), "int32")


@operator("QLinearConv")
def quantized_convolution(node: OnnxNode, *given: Tensor) -> Tensor:
    """Return the convolution of quantized tensors, quantized."""
    x, x_scale, x_zero, weight, w_scale, w_zero, scale, zero, *bias = given
    found = convolved(
        node,
        ops.astype(_centered(x, x_zero), "float32"),
        ops.astype(_centered(weight, _per_filter(w_zero, weight)), "float32"),
        *(ops.astype(one, "float32") for one in bias),
    )
    if w_scale.size > 1:
        w_scale = ops.reshape(w_scale, (1, -1, *(1,) * (x.ndim - 2)))
    return _requantized(node, found * x_scale * w_scale, scale, zero)


@operator("MatMulNBits", domain="com.microsoft")
def matmul_nbits(
    node: OnnxNode,
    a: Tensor,
    b: Tensor,
    scales: Tensor,
    zero_points: Tensor | None = None,
    groups: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Return the product with a matrix of numbers of 2, 4 or 8 bits.

    Raises:
        ArgumentError: Terms are in groups of an order of their own, or laid out for a device.
    """
    if groups is not None:
        raise ArgumentError("MatMulNBits: g_idx is given; want blocks of terms that are adjacent.")
    if node.attr("weight_prepacked"):
        raise ArgumentError("MatMulNBits: weight_prepacked is set; want b as the operator has it.")
    columns, terms, size = (node.attr(name) for name in ("N", "K", "block_size"))
    rows = (columns, math.ceil(terms / size))
    if zero_points is not None:
        packed = zero_points.dtype == "uint8"
        zero_points = ops.reshape(zero_points, (columns, -1) if packed else rows)
    y = ops.matmul_nbits(
        a,
        ops.reshape(b, (columns, -1)),
        ops.reshape(scales, rows),
        zero_points,
        kind=f"uint{node.attr('bits')}",
        block_size=size,
    )
    return y if bias is None else y + bias
