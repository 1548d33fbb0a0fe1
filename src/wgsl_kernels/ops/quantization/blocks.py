"""Matrices of packed numbers with a scale, and maybe a zero point, for each block of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.values.dtypes import is_float
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank, show
from wgsl_kernels.ops.quantization.kinds import kind_of, unpacked

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.values.spec import Shape, Spec
    from wgsl_kernels.ops.quantization.kinds import NarrowKind


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """A matrix of packed numbers, row after row, each beginning with a byte.

    Attributes:
        kind: What the codes stand for.
        rows: How many rows there are.
        cols: Numbers of a row.
        pitch: How many a row's bytes hold.
        block: Rows and columns of what shares a scale and a zero point.
        zero: The zero point where there is no array of them.
    """

    kind: NarrowKind
    rows: int
    cols: int
    pitch: int
    block: tuple[int, int]
    zero: float

    @property
    def blocks(self) -> Shape:
        """How many blocks there are along each axis: the shape of scales."""
        rows, cols = self.block
        return math.ceil(self.rows / rows), math.ceil(self.cols / cols)


def matrix_of(
    op: str,
    shape: Shape,
    size: int | None,
    *,
    kind: str,
    block_shape: tuple[int, ...],
    zero: float,
) -> PackedMatrix:
    """Return the matrix that bytes of a shape hold.

    Args:
        op: The kernel's name.
        shape: Of the bytes.
        size: Numbers of a row; as many as its bytes hold, if left out.
        kind: The name of their type.
        block_shape: Rows and columns of a block, each 0 for the whole axis.
        zero: The zero point of all.

    Raises:
        ArgumentError: The kind is unknown, or the block no pair of lengths.
        ShapeError: The bytes hold other rows.
    """
    found = kind_of(op, kind)
    rows, nbytes = shape
    pitch = found.size_of(nbytes)
    cols = pitch if size is None else size
    if not 0 <= cols <= pitch:
        raise ShapeError(
            f"{op}: b has shape {show(shape)}, rows of {pitch} numbers of {kind}; want {cols} or "
            "more in each."
        )
    if len(block_shape) != 2 or min(block_shape, default=-1) < 0:
        raise ArgumentError(
            f"{op}: block_shape is {block_shape}; want rows and columns, each 0 for all."
        )
    block = block_shape[0] or max(rows, 1), block_shape[1] or max(cols, 1)
    return PackedMatrix(found, rows, cols, pitch, block, zero)


def check_matrix(op: str, b: Spec, scales: Spec | None, zero_points: Spec | None) -> None:
    """Refuse what packs no matrix, before its sizes are known.

    Raises:
        DTypeError: ``b`` is not uint8, or the others no floats (zero points may be packed, too).
        ShapeError: One is no matrix.
    """
    require_dtype(op, "b", b, "uint8")
    require_rank(op, "b", b, 2)
    for name, one in (("scales", scales), ("zero_points", zero_points)):
        if one is None:
            continue
        if not is_float(one.dtype) and not (name == "zero_points" and one.dtype == "uint8"):
            want = "a float" if name == "scales" else "a float, or uint8 that packs them as b does"
            raise DTypeError(f"{op}: {name} has dtype {one.dtype}; want {want}.")
        require_rank(op, name, one, 2)


def check_blocks(
    op: str, matrix: PackedMatrix, scales: Spec | None, zero_points: Spec | None
) -> None:
    """Refuse scales and zero points of other blocks than a matrix has.

    Raises:
        ShapeError: They are.
        DTypeError: Zero points of floats are packed.
    """
    blocks = matrix.blocks
    if scales is not None and scales.shape != blocks:
        raise ShapeError(
            f"{op}: scales has shape {show(scales.shape)}; want {show(blocks)}, one for each block "
            f"of {show(matrix.block)} in [{matrix.rows}, {matrix.cols}]."
        )
    if zero_points is None:
        return
    want = blocks
    if zero_points.dtype == "uint8":
        if not matrix.kind.is_integer:
            raise DTypeError(f"{op}: zero_points has dtype uint8, but b holds floats; want floats.")
        want = blocks[0], matrix.kind.bytes_of(blocks[1])
    if zero_points.shape != want:
        raise ShapeError(
            f"{op}: zero_points has shape {show(zero_points.shape)}; want {show(want)} of "
            f"{zero_points.dtype} for {show(blocks)} blocks."
        )


def dequantized(
    b: Array,
    scales: Array | None,
    zero_points: Array | None,
    matrix: PackedMatrix,
    rows: slice,
    dtype: np.dtype[np.floating],
) -> Array:
    """Return some rows of a matrix on the host: ``(code - zero point) * scale``."""
    codes = unpacked(b[rows], matrix.kind, dtype=dtype)[:, : matrix.cols]
    which = np.arange(*rows.indices(matrix.rows)) // matrix.block[0]
    if zero_points is not None:
        zeros = zero_points
        if zeros.dtype == np.uint8:
            zeros = unpacked(zeros, matrix.kind, matrix.blocks[1])
        _by_block(np.subtract, codes, zeros[which].astype(dtype, copy=False), matrix)
    elif matrix.zero:
        codes -= dtype.type(matrix.zero)
    if scales is not None:
        _by_block(np.multiply, codes, scales[which].astype(dtype, copy=False), matrix)
    return codes


def _by_block(ufunc: np.ufunc, codes: Array, values: Array, matrix: PackedMatrix) -> None:
    """Apply a ufunc in place to numbers and what their block has, of [rows, blocks]."""
    width = matrix.block[1]
    whole = matrix.cols // width * width
    if whole:
        blocks = codes[:, :whole].reshape(codes.shape[0], -1, width)
        ufunc(blocks, values[:, : whole // width, None], out=blocks)
    if whole < matrix.cols:
        ufunc(codes[:, whole:], values[:, -1:], out=codes[:, whole:])
