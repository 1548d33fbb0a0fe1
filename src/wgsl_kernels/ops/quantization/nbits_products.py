"""Products with packed matrices on webgpu: the tiles of other products, codes read from words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, GpuArray, row_major, words_of_bytes
from wgsl_kernels.backends.webgpu.control.parts import (
    added,
    excess,
    excess_of,
    joined,
    part_of,
    parts_of,
)
from wgsl_kernels.backends.webgpu.products.dispatching import (
    declare_product,
    is_vec4_contiguous,
    multiply,
)
from wgsl_kernels.backends.webgpu.products.tilings import (
    STRIDED,
    VEC4_KK,
    VEC4_KN,
    VEC4_N,
    Product,
    Vec4Axes,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.ops.quantization.blocks import PackedMatrix
    from wgsl_kernels.ops.quantization.kinds import NarrowKind

OPERANDS = "operands/packed_matrix.wesl"
declare_product("MatMulNBits")

_SPECIALS = {"": 0, "ieee": 1, "fn": 2, "fnuz": 3}
_WHOLE = 31
"""Bits that an index is shifted by where one block is all there is."""
_BY_NUMBER = 32
"""What stands for a shift where a block's length is no power of two."""


def multiplied(
    gpu: Gpu,
    a: GpuArray,
    b: GpuArray,
    scales: GpuArray | None,
    zero_points: GpuArray | None,
    matrix: PackedMatrix,
    *,
    transpose_b: bool,
) -> GpuArray:
    """Return the product of ``a``, [..., terms], with a packed matrix or its transpose."""
    terms, cols = a.shape[-1], matrix.rows if transpose_b else matrix.cols
    rows = math.prod(a.shape[:-1])
    shape = (*a.shape[:-1], cols)
    if not rows * cols * terms:
        return gpu.full(shape, a.dtype, 0.0)
    flat = gpu.contiguous(a)
    left = gpu.view(flat, (rows, terms), (terms, 1), 0)
    others = [None if one is None else gpu.contiguous(one) for one in (scales, zero_points)]
    words = words_of_bytes(gpu.resident(gpu.contiguous(b)))
    product = PackedProduct(gpu, words, others[0], others[1], matrix, transpose_b)
    y = product.of(left)
    return gpu.view(y, shape, row_major(shape), 0)


@dataclass(frozen=True, eq=False)
class PackedProduct:
    """What a left matrix is multiplied with: rows of packed numbers."""

    gpu: Gpu
    words: GpuArray
    scales: GpuArray | None
    zero_points: GpuArray | None
    matrix: PackedMatrix
    is_turned: bool

    def of(self, left: GpuArray) -> GpuArray:
        """Return the product with ``left``, in parts where something is above the binding limit."""
        gpu, matrix = self.gpu, self.matrix
        rows, cols = left.shape[0], matrix.rows if self.is_turned else matrix.cols
        of_rows = max(excess(gpu, left), excess_of(gpu, (rows, cols), ITEMSIZE[left.dtype]))
        if of_rows > 1 and rows > 1:
            parts = parts_of(rows, of_rows)
            return joined(gpu, [self.of(part_of(gpu, left, -2, *one)) for one in parts], -2)
        row_words = matrix.pitch * matrix.kind.bits / 32
        above = -(-row_words * matrix.rows * 4 // gpu.device.largest_binding)
        if above > 1 and matrix.rows > 1:
            found: list[GpuArray] = []
            for first, count in parts_of(matrix.rows, int(above)):
                part = left if self.is_turned else part_of(gpu, left, -1, first, count)
                found.append(self._dispatched(gpu.contiguous(part), first, count))
            return joined(gpu, found, -1) if self.is_turned else added(gpu, found)
        return self._dispatched(left, 0, matrix.rows)

    def _dispatched(self, left: GpuArray, first: int, count: int) -> GpuArray:
        """Return the product with so many rows of the matrix, from the first on."""
        gpu, matrix, kind = self.gpu, self.matrix, self.matrix.kind
        cols = count if self.is_turned else matrix.cols
        terms = matrix.cols if self.is_turned else count
        bits = first * matrix.pitch * kind.bits
        size = -(-(bits % 32 + count * matrix.pitch * kind.bits) // 32)
        words = gpu.view(self.words, (size,), (1,), bits // 32)
        arrays = {"a": left, "b": words}
        if self.scales is not None:
            arrays["scales"] = self.scales
        if self.zero_points is not None:
            packed = self.zero_points.dtype == "uint8"
            arrays["zeros"] = (
                words_of_bytes(gpu.resident(self.zero_points)) if packed else self.zero_points
            )
        return multiply(
            gpu,
            OPERANDS,
            Product(1, left.shape[0], cols, 1, terms),
            arrays,
            (left.shape[0], cols),
            left.dtype,
            params={
                "a_strides": left.strides,
                "b_first": bits % 32 // kind.bits,
                "b_pitch": matrix.pitch,
                "row_first": first,
                "block": matrix.block,
                "blocks": matrix.blocks[1],
                "zero_pitch": kind.size_of(kind.bytes_of(matrix.blocks[1])),
                "zero": float(matrix.zero),
            },
            layout=self._layout(left, cols),
            configuration=self._configuration(),
        )

    def _layout(self, left: GpuArray, cols: int) -> Vec4Axes:
        is_whole = not self.matrix.pitch % 4 and not cols % 4
        along_k = is_vec4_contiguous(left.shape, left.strides, left.offset, -1)
        if not is_whole:
            return STRIDED
        if self.is_turned:
            return VEC4_KK if along_k else STRIDED
        return VEC4_KN if along_k else VEC4_N

    def _configuration(self) -> dict[str, bool | int]:
        matrix = self.matrix
        zeros = self.zero_points
        down, across = matrix.block
        return {
            "TRANSPOSED": self.is_turned,
            **_configuration_of(matrix.kind),
            "SCALED": self.scales is not None,
            "ZEROS": zeros is not None,
            "PACKED_ZEROS": zeros is not None and zeros.dtype == "uint8",
            "DOWN_BITS": _shift(down, matrix.rows),
            "ACROSS_BITS": _shift(across, matrix.cols),
            "SHARED": across % 4 == 0 or across >= matrix.cols,
        }


def _configuration_of(kind: NarrowKind) -> dict[str, bool | int]:
    """Return the shader's constants of a kind."""
    mantissa = kind.mantissa
    return {
        "BITS": kind.bits,
        "SIGNED": kind.has_sign,
        "FLOAT": not kind.is_integer,
        "MANTISSA": mantissa or 0,
        "BIAS": kind.bias,
        "SPECIALS": _SPECIALS[kind.specials],
    }


def _shift(length: int, whole: int) -> int:
    """Return by how much an index is shifted to be that of its block."""
    if length >= whole:
        return _WHOLE
    return length.bit_length() - 1 if length & (length - 1) == 0 else _BY_NUMBER
