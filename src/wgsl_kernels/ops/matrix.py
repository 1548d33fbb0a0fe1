"""Products of matrices and vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.gradients import gradient, unbroadcast
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import broadcast_shapes, require_dtype, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops.products import (
    REGISTERS,
    VEC4,
    VEC4_ROWS,
    Product,
    Shaders,
    Tiling,
    lie_in_fours,
    multiply,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape, Spec
    from wgsl_kernels.engine.tape import Lazy

BATCH_AXES = 6
"""Axes before the matrices that the shaders take."""

WORTH_A_COPY = 64
"""Rows and columns from which on a right side is copied, so that its columns are neighbours."""

FLOAT = Shaders("matrix/batch_mat_mul.wgsl", last="matrix/sum_parts.wgsl")
INT32 = Shaders(
    "matrix/batch_mat_mul_int32.wgsl", last="matrix/sum_parts_int32.wgsl", has_staged=False
)


def dot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the product of two vectors, of two matrices, or of one of each.

    Raises:
        ShapeError: One has neither 1 nor 2 axes, or the lengths differ.
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if not {a.ndim, b.ndim} <= {1, 2}:
        raise ShapeError(
            f"dot: x1 is {show(a.shape)}, x2 is {show(b.shape)}; want 1 or 2 axes each. "
            "matmul takes more."
        )
    return matmul(a, b)


def matmul(
    x1: TensorLike, x2: TensorLike, *, transpose_a: bool = False, transpose_b: bool = False
) -> Tensor:
    """Return the product of matrices, or of stacks of them.

    Args:
        x1: [..., rows, terms]; a vector of [terms] stands for one row, which the result drops.
        x2: [..., terms, columns]; a vector of [terms] stands for one column, dropped likewise.
            The axes before the matrices broadcast.
        transpose_a: Whether ``x1`` is [..., terms, rows] instead.
        transpose_b: Whether ``x2`` is [..., columns, terms] instead.

    Returns:
        [..., rows, columns].

    Raises:
        ShapeError: The terms differ in number, or an operand is a scalar.

    Example:
        >>> matmul([[1, 2], [3, 4]], [1, 1]).tolist()
        [3, 7]
    """
    a, b = as_tensor(x1), as_tensor(x2)
    row, col = a.ndim == 1, b.ndim == 1
    if row:
        a, transpose_a = run("Reshape", a, shape=(1, a.size)), False
    if col:
        b, transpose_b = run("Reshape", b, shape=(b.size, 1)), False
    y = run("BatchMatMul", a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    if not (row or col):
        return y
    kept = y.shape[:-2] + (() if row else y.shape[-2:-1]) + (() if col else y.shape[-1:])
    return run("Reshape", y, shape=kept)


@signature("BatchMatMul", promote=("a", "b"))
def _batch_mat_mul_signature(
    a: Spec, b: Spec, /, *, transpose_a: bool = False, transpose_b: bool = False
) -> Spec:
    require_dtype("BatchMatMul", "a", a, "float32", "int32")
    require_dtype("BatchMatMul", "b", b, "float32", "int32")
    return a.like(shape=product_shape("BatchMatMul", a, b, transpose_a, transpose_b))


def product_shape(kernel: str, a: Spec, b: Spec, transpose_a: bool, transpose_b: bool) -> Shape:
    """Return the shape of the product of matrices, or of stacks of them.

    Raises:
        ShapeError: They do not fit.
    """
    for name, spec in (("a", a), ("b", b)):
        if not 2 <= spec.ndim <= 2 + BATCH_AXES:
            raise ShapeError(
                f"{kernel}: {name} has shape {show(spec.shape)}, rank {spec.ndim}; want a "
                f"matrix, or up to {BATCH_AXES} axes of them."
            )
    rows, terms = _swapped(a.shape[-2:], transpose_a)
    inner, cols = _swapped(b.shape[-2:], transpose_b)
    if terms != inner:
        of_a, of_b = -2 if transpose_a else -1, -1 if transpose_b else -2
        raise ShapeError(
            f"{kernel}: inner sizes differ: a is {show(a.shape)}, b is {show(b.shape)}; "
            f"want a[{of_a % a.ndim}] == b[{of_b % b.ndim}]."
        )
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if batch is None:
        raise ShapeError(
            f"{kernel}: the axes before the matrices do not broadcast: a is {show(a.shape)}, "
            f"b is {show(b.shape)}; want equal lengths or 1."
        )
    return (*batch, rows, cols)


def _swapped(pair: tuple[int, ...], swap: bool) -> tuple[int, ...]:
    return pair[::-1] if swap else pair


@cpu_kernel("BatchMatMul")
def product_cpu(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    """Return the product of matrices, or of stacks of them, on the CPU."""
    left = np.swapaxes(a, -1, -2) if transpose_a else a
    right = np.swapaxes(b, -1, -2) if transpose_b else b
    if a.dtype == np.float16:  # BLAS takes none, and sums should be wider
        left, right = left.astype(np.float32), right.astype(np.float32)
    return np.asarray(np.matmul(left, right)).astype(a.dtype, copy=False)


@wgsl_kernel("BatchMatMul", dtypes=("float32", "float16", "int32"))
def _batch_mat_mul_webgpu(
    gpu: Gpu, a: GpuArray, b: GpuArray, *, transpose_a: bool, transpose_b: bool
) -> GpuArray:
    shaders = INT32 if a.dtype == "int32" else FLOAT
    return product_webgpu(gpu, shaders, a, b, transpose_a, transpose_b)


def product_webgpu(
    gpu: Gpu,
    shaders: Shaders,
    a: GpuArray,
    b: GpuArray,
    transpose_a: bool,
    transpose_b: bool,
    *,
    ends: Mapping[str, Any] | None = None,
    epilogue: Mapping[str, GpuArray] | None = None,
) -> GpuArray:
    """Return the product of matrices, or of stacks of them.

    Args:
        gpu: The device.
        shaders: What runs.
        a: The left matrices.
        b: The right ones.
        transpose_a: Whether the left ones are transposed.
        transpose_b: Whether the right ones are.
        ends: Further fields of the shaders, also of the one that sums the parts.
        epilogue: Further arrays that they read.
    """
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2]) or ()
    left = _as_matrices(gpu, a, batch, transpose_a)
    right = _as_matrices(gpu, b, batch, transpose_b)
    rows, cols = left.shape[-2], right.shape[-1]
    shape = (*batch, rows, cols)
    steps, in_fours = (cols, 1), REGISTERS
    if a.dtype != "int32" and gpu.is_software:
        in_fours, is_turned = _in_fours(left, right)
        if in_fours is REGISTERS and min(rows, cols) >= WORTH_A_COPY and 0 not in right.strides:
            right = gpu.contiguous(right)
            in_fours, is_turned = _in_fours(left, right)
        if is_turned:
            left, right, steps = _transposed(gpu, right), _transposed(gpu, left), (1, cols)
            rows, cols = cols, rows
    return multiply(
        gpu,
        shaders,
        Product(math.prod(batch), rows, cols, 1, left.shape[-1]),
        {"a": left, "b": right},
        shape,
        a.dtype,
        params={"y_steps": steps, "batch_shape": padded((*batch, rows, cols)), **(ends or {})},
        epilogue=epilogue,
        last_params=ends,
        in_fours=in_fours,
    )


def _in_fours(left: GpuArray, right: GpuArray) -> tuple[Tiling, bool]:
    """Return the tiling that the layouts allow, and whether it needs the product transposed."""
    for is_turned, a, b in (
        (False, (left, -2, -1), (right, -1)),
        (True, (right, -1, -2), (left, -2)),
    ):
        if lie_in_fours(*b):
            x, rows, terms = a
            if lie_in_fours(x, terms):
                return VEC4, is_turned
            if lie_in_fours(x, rows):
                return VEC4_ROWS, is_turned
    return REGISTERS, False


def _as_matrices(gpu: Gpu, x: GpuArray, batch: Shape, transpose: bool) -> GpuArray:
    """Return a view of ``x`` as [batch, rows, cols]; broadcast axes have strides of 0."""
    missing = len(batch) - (len(x.shape) - 2)
    own = zip(x.shape[:-2], x.strides[:-2], strict=True)
    before = (0,) * missing + tuple(0 if length == 1 else stride for length, stride in own)
    shape = (*batch, *_swapped(x.shape[-2:], transpose))
    return gpu.view(x, shape, before + _swapped(x.strides[-2:], transpose), x.offset)


def _transposed(gpu: Gpu, x: GpuArray) -> GpuArray:
    *batch, rows, cols = x.shape
    *before, down, right = x.strides
    return gpu.view(x, (*batch, cols, rows), (*before, right, down), x.offset)


def padded(lengths: Shape) -> Shape:
    """Return the lengths of a stack of matrices with as many axes as the shaders take."""
    return (1,) * (2 + BATCH_AXES - len(lengths)) + lengths


@gradient("BatchMatMul")
def product_gradients(
    dy: Tensor, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool
) -> tuple[Lazy, Lazy]:
    """Return the gradients of both operands of a product, each computed where it is wanted."""

    def da() -> Tensor:
        if transpose_a:
            found = matmul(b, dy, transpose_a=transpose_b, transpose_b=True)
        else:
            found = matmul(dy, b, transpose_b=not transpose_b)
        return unbroadcast(found, a.shape)

    def db() -> Tensor:
        if transpose_b:
            found = matmul(dy, a, transpose_a=True, transpose_b=transpose_a)
        else:
            found = matmul(a, dy, transpose_a=not transpose_a)
        return unbroadcast(found, b.shape)

    return da, db


def outer(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the products of each element of one vector with each of another.

    Args:
        x1: [rows].
        x2: [columns].

    Returns:
        [rows, columns].

    Raises:
        ShapeError: One is no vector.
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer: x1 is {show(a.shape)}, x2 is {show(b.shape)}; want two vectors.")
    return matmul(run("Reshape", a, shape=(a.size, 1)), run("Reshape", b, shape=(1, b.size)))
