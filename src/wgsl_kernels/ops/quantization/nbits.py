"""Products with matrices of numbers of few bits, which are never written out as floats."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.products import matmul
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.facts import takes_bytes
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import at_least, flag, number, plain
from wgsl_kernels.engine.values.dtypes import is_float
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.quantization.blocks import (
    check_blocks,
    check_matrix,
    dequantized,
    matrix_of,
)
from wgsl_kernels.ops.quantization.kinds import kind_of
from wgsl_kernels.ops.quantization.nbits_products import multiplied
from wgsl_kernels.ops.quantization.packed import widen
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.shapes import joining
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.autodiff.tape import Lazy
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec
    from wgsl_kernels.ops.quantization.blocks import PackedMatrix

    _Shaped = Spec | Array | GpuArray | Tensor

_NAME = "MatMulNBits"
_OP = "matmul_nbits"
_AT_A_TIME = 1 << 20
"""Numbers of a matrix that the host has as floats at a time."""


@public()
def matmul_nbits(
    a: TensorLike,
    b: TensorLike,
    scales: TensorLike | None = None,
    zero_points: TensorLike | None = None,
    *,
    kind: str = "uint4",
    block_size: int | tuple[int, int] = 32,
    transpose_b: bool = True,
    size: int | None = None,
) -> Tensor:
    """Return the product of ``a`` with a matrix of packed numbers of few bits.

    What is multiplied is ``(b - zero_points) * scales``. It is never written out: ``b`` is read as
    it is packed, and takes the memory of that. `quantize_nbits` makes such a matrix of floats.

    Args:
        a: [..., terms], float.
        b: [columns, bytes], uint8: for each column the terms, packed as `widen` takes them.
        scales: [columns, blocks], float: one for each block of terms; all are 1, if left out.
        zero_points: The number that stands for 0: [columns, blocks], float, or uint8 where each
            row is packed as those of ``b`` are; or one number of Python for all. If left out,
            it is the middle of an unsigned type, as 8 of uint4, and 0 of others.
        kind: What ``b`` holds, by one of the names that `widen` takes.
        block_size: How many terms of a column share a scale, 0 for all; or rows and columns of the
            matrix that ``b`` holds.
        transpose_b: Whether ``b`` is as above; False for [terms, bytes], whose rows have the
            columns packed.
        size: How many numbers a row of ``b`` holds, if it is not transposed and that is less than
            what its bytes have room for.

    Returns:
        [..., columns].

    Raises:
        ShapeError: The shapes do not fit.
        DTypeError: ``b`` is not uint8, or ``scales`` no floats.
        ArgumentError: There is no such kind, or a block has a length below 0.

    Example:
        >>> packed, scales, zeros = wk.quantize_nbits([[0.0, 15.0], [-2.0, 28.0]], block_size=2)
        >>> wk.matmul_nbits([[1.0, 2.0]], packed, scales, zeros, block_size=2).tolist()
        [[30.0, 54.0]]

    Source: ONNX Runtime's contrib operator MatMulNBits.
    """
    zero, given = _zero_of(zero_points, kind)
    is_turned = flag(_OP, "transpose_b", transpose_b)
    block = _block_of(block_size, is_turned)
    x = as_floats(a)
    return run(
        "MatMulNBits", x, b, scales, given,
        kind=kind, block_shape=block, transpose_b=is_turned, size=size, zero=zero,
    )  # fmt: skip


def _zero_of(zero_points: TensorLike | None, kind: str) -> tuple[float, TensorLike | None]:
    """Return the zero point of all, and those of blocks."""
    found = kind_of(_OP, kind)
    if zero_points is None:
        return (0 if found.has_sign or not found.is_integer else 1 << found.bits - 1), None
    value = plain(zero_points)
    if isinstance(value, (bool, int, float)):
        return number(_OP, "zero_points", value), None
    return 0, zero_points


def _block_of(block_size: int | tuple[int, int], is_turned: bool) -> tuple[int, int]:
    if isinstance(block_size, (tuple, list)):
        if len(block_size) != 2:
            raise ArgumentError(f"{_OP}: block_size is {block_size}; want one length, or two.")
        first, second = (at_least(_OP, "block_size", one, 0) for one in block_size)
        return first, second
    length = at_least(_OP, "block_size", block_size, 0)
    return (1, length) if is_turned else (length, 1)


def _matrix(
    a: _Shaped,
    b: _Shaped,
    kind: str,
    block_shape: tuple[int, ...],
    size: int | None,
    zero: float,
    *,
    transpose_b: bool,
) -> PackedMatrix:
    """Return what ``b`` holds; rows that are transposed are as long as those of ``a``, unsaid."""
    row = a.shape[-1] if transpose_b and size is None else size
    return matrix_of(_NAME, b.shape, row, kind=kind, block_shape=block_shape, zero=zero)


@signature(_NAME, promote=("a", "scales"), floats=("a", "scales"))
@takes_bytes
def _mat_mul_nbits_signature(
    a: Spec,
    b: Spec,
    scales: Spec | None = None,
    zero_points: Spec | None = None,
    /,
    *,
    kind: str = "uint4",
    block_shape: tuple[int, ...] = (1, 32),
    transpose_b: bool = True,
    size: int | None = None,
    zero: float = 0.0,
) -> Spec:
    if not is_float(a.dtype):
        raise DTypeError(f"{_NAME}: a has dtype {a.dtype}; want a float.")
    if not a.ndim:
        raise ShapeError(f"{_NAME}: a is a scalar; want [..., terms].")
    check_matrix(_NAME, b, scales, zero_points)
    matrix = _matrix(a, b, kind, block_shape, size, zero, transpose_b=transpose_b)
    check_blocks(_NAME, matrix, scales, zero_points)
    terms, columns = (matrix.cols, matrix.rows) if transpose_b else (matrix.rows, matrix.cols)
    if a.shape[-1] != terms:
        raise ShapeError(
            f"{_NAME}: inner sizes differ: a is {show(a.shape)}, b holds [{matrix.rows}, "
            f"{matrix.cols}]; want a[-1] == {terms}."
        )
    return a.like(shape=(*a.shape[:-1], columns))


@cpu_kernel(_NAME)
@silent
def _mat_mul_nbits_cpu(
    a: Array,
    b: Array,
    scales: Array | None,
    zero_points: Array | None,
    *,
    kind: str,
    block_shape: tuple[int, ...],
    transpose_b: bool,
    size: int | None,
    zero: float,
) -> Array:
    matrix = _matrix(a, b, kind, block_shape, size, zero, transpose_b=transpose_b)
    wide = np.dtype(np.float32) if a.dtype == np.float16 else a.dtype
    left = a.reshape(math.prod(a.shape[:-1]), a.shape[-1]).astype(wide, copy=False)
    columns = matrix.rows if transpose_b else matrix.cols
    y = np.zeros((left.shape[0], columns), wide)
    step = max(_AT_A_TIME // max(matrix.cols, 1), 1)
    for first in range(0, matrix.rows, step):
        rows = slice(first, min(first + step, matrix.rows))
        weights = dequantized(b, scales, zero_points, matrix, rows, wide)
        if transpose_b:
            y[:, rows] = matmul(left, weights.T)
        else:
            y += matmul(left[:, rows], weights)
    return y.reshape(*a.shape[:-1], columns).astype(a.dtype, copy=False)


@wgsl_kernel(_NAME, dtypes=("float32", "float16"))
def _mat_mul_nbits_webgpu(
    gpu: Gpu,
    a: GpuArray,
    b: GpuArray,
    scales: GpuArray | None,
    zero_points: GpuArray | None,
    *,
    kind: str,
    block_shape: tuple[int, ...],
    transpose_b: bool,
    size: int | None,
    zero: float,
) -> GpuArray:
    matrix = _matrix(a, b, kind, block_shape, size, zero, transpose_b=transpose_b)
    return multiplied(gpu, a, b, scales, zero_points, matrix, transpose_b=transpose_b)


@gradient(_NAME)
def _mat_mul_nbits_grad(
    dy: Tensor,
    a: Tensor,
    b: Tensor,
    scales: Tensor | None,
    zero_points: Tensor | None,
    kind: str,
    block_shape: tuple[int, ...],
    transpose_b: bool,
    size: int | None,
    zero: float,
) -> tuple[Lazy | None, ...]:
    # y = a w^T, w = (codes - zeros) * scales: da = dy w, dw = dy^T a, and
    # dscales, dzeros are the sums over blocks of dw * (codes - zeros), -dw * scales
    matrix = _matrix(a, b, kind, block_shape, size, zero, transpose_b=transpose_b)

    def da() -> Tensor:
        return run(
            _NAME, dy, b, scales, zero_points,
            kind=kind, block_shape=block_shape, transpose_b=not transpose_b, size=matrix.cols,
            zero=zero,
        )  # fmt: skip

    def dw() -> Tensor:
        left, right = (
            shapes.reshape(one, (math.prod(one.shape[:-1]), one.shape[-1]))
            for one in ((dy, a) if transpose_b else (a, dy))
        )
        return run("BatchMatMul", left, right, transpose_a=True)

    def dscales() -> Tensor:
        codes = cast.astype(widen(b, kind=kind)[:, : matrix.cols], dy.dtype)
        zeros: Tensor | float = zero
        if zero_points is not None:
            packed = zero_points
            if packed.dtype == "uint8":
                packed = widen(packed, kind=kind)[:, : matrix.blocks[1]]
            zeros = _of_each(cast.astype(packed, dy.dtype), matrix)
        return _of_blocks(dw() * (codes - zeros), matrix)

    def dzeros() -> Tensor:
        total = -_of_blocks(dw(), matrix)
        assert zero_points is not None
        return cast.astype(total if scales is None else total * scales, zero_points.dtype)

    has_zeros = zero_points is not None and zero_points.dtype != "uint8"
    return da, None, None if scales is None else dscales, dzeros if has_zeros else None


def _of_blocks(x: Tensor, matrix: PackedMatrix) -> Tensor:
    """Return the sum of each block of a matrix."""
    (rows, cols), (down, across) = matrix.block, matrix.blocks
    missing = [(0, down * rows - matrix.rows), (0, across * cols - matrix.cols)]
    whole = joining.pad(x, missing) if any(n for _, n in missing) else x
    return reduce.sum(shapes.reshape(whole, (down, rows, across, cols)), axis=(1, 3))


def _of_each(x: Tensor, matrix: PackedMatrix) -> Tensor:
    """Return for each element of a matrix what its block has."""
    (rows, cols), (down, across) = matrix.block, matrix.blocks
    spread = shapes.broadcast_to(
        shapes.reshape(x, (down, 1, across, 1)), (down, rows, across, cols)
    )
    whole = shapes.reshape(spread, (down * rows, across * cols))
    return whole[: matrix.rows, : matrix.cols]
