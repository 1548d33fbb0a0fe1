"""Making matrices of numbers of few bits out of floats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import at_least, flag, integer
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise import binary, cast, classify, logical, unary
from wgsl_kernels.ops.reductions import extremes, reduce
from wgsl_kernels.ops.shapes import joining
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

_OP = "quantize_nbits"
_LEAST = 2.0**-125
"""The least scale: half of it is what a device is off that takes subnormal numbers for 0."""


@public()
def quantize_nbits(
    x: TensorLike, *, bits: int = 4, block_size: int = 32, symmetric: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a matrix as numbers of few bits, with a scale and a zero point for each block.

    `matmul_nbits` multiplies with it, and ``(code - zero point) * scale`` is a number again: off by
    half a scale at the most. A scale is a ``2**bits - 1``-th of what a block's numbers, and 0, go
    over, and 2^-125 at the least. That of a block with a number that is not finite is NaN, and so
    is what is multiplied with it.

    Args:
        x: [columns, terms], float; a matrix that is multiplied from the right is the transpose.
        bits: Of a number: 2, 4 or 8.
        block_size: How many terms share a scale, 0 for all.
        symmetric: Whether all zero points are the middle: then a scale is that of the largest
            number's size.

    Returns:
        The codes of uint2, uint4 or uint8, [columns, bytes], uint8; the scales, [columns, blocks],
        float32; and the zero points, packed as the codes are, [columns, bytes], uint8.

    Raises:
        ShapeError: ``x`` is no matrix.
        ArgumentError: ``bits`` is another number, or ``block_size`` below 0.
        DTypeError: ``x`` is complex.

    Example:
        >>> codes, scales, zeros = wk.quantize_nbits([[-1.0, 0.0, 6.5, 14.0]], block_size=4)
        >>> codes.tolist(), scales.tolist(), zeros.tolist()
        ([[16, 248]], [[1.0]], [[1]])

    Source: ONNX Runtime's contrib operator MatMulNBits.
    """
    matrix = as_floats(x)
    if matrix.dtype.startswith("complex"):
        raise DTypeError(f"{_OP}: x has dtype {matrix.dtype}; want a float.")
    if matrix.ndim != 2:
        raise ShapeError(f"{_OP}: x has shape {show(matrix.shape)}; want [columns, terms].")
    width = integer(_OP, "bits", bits)
    if width not in (2, 4, 8):
        raise ArgumentError(f"{_OP}: bits is {width}; want 2, 4 or 8.")
    columns, terms = matrix.shape
    length = at_least(_OP, "block_size", block_size, 0) or max(terms, 1)
    highest = (1 << width) - 1
    blocks = -(-terms // length)
    wide = cast.astype(matrix, "float32")
    if blocks * length > terms:
        wide = joining.pad(wide, [(0, 0), (0, blocks * length - terms)])
    wide = shapes.reshape(wide, (columns, blocks, length))
    low = binary.minimum(extremes.min(wide, axis=-1), 0.0)
    high = binary.maximum(extremes.max(wide, axis=-1), 0.0)
    middle = float(1 << width - 1) if flag(_OP, "symmetric", symmetric) else None
    if middle is not None:
        scales = binary.maximum(high, 0.0 - low) / float(highest // 2)
    else:  # in halves, for the range of finite numbers may be infinite
        scales = (high * 0.5 - low * 0.5) / (0.5 * highest)
    is_finite = classify.isfinite(scales)
    scales = binary.maximum(scales, _LEAST)
    places = 0.0 - low / scales if middle is None else low * 0.0 + middle
    zeros = logical.where(is_finite, _rounded(places, highest), 0.0)
    by_block = (columns, blocks, 1)
    steps = wide / shapes.reshape(scales, by_block) + shapes.reshape(zeros, by_block)
    codes = _rounded(steps, highest)
    codes = logical.where(shapes.reshape(is_finite, by_block), codes, 0.0)
    codes = shapes.reshape(codes, (columns, blocks * length))[:, :terms]
    scales = logical.where(is_finite, scales, math.nan)
    return _packed(codes, width), scales, _packed(zeros, width)


def _rounded(x: Tensor, highest: int) -> Tensor:
    return binary.minimum(binary.maximum(unary.round(x), 0.0), float(highest))


def _packed(codes: Tensor, bits: int) -> Tensor:
    """Return whole numbers, [rows, size], packed into bytes along the last axis."""
    each = 8 // bits
    rows, size = codes.shape
    if size % each:
        codes = joining.pad(codes, [(0, 0), (0, each - size % each)])
    fields = shapes.reshape(codes, (rows, -(-size // each), each))
    powers = [float(1 << bits * n) for n in range(each)]
    return cast.astype(reduce.sum(fields * powers, axis=-1), "uint8")
