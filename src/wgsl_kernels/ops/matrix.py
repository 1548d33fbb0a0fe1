"""Products of matrices and vectors."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.webgpu.array import row_major
from wgsl_kernels.backends.webgpu.kernel import wgsl_kernel
from wgsl_kernels.engine.errors import ShapeError
from wgsl_kernels.engine.gradients import gradient, unbroadcast
from wgsl_kernels.engine.run import run
from wgsl_kernels.engine.shapes import broadcast_shapes, require_dtype, show
from wgsl_kernels.engine.signature import signature
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops.products import Memo, Shaders, are_fours, declare_product, multiply
from wgsl_kernels.ops.tilings import ANYHOW, COLUMNS, FOURS, INTEGERS, ROWS, TERMS, Layout, Product

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.spec import Shape, Spec
    from wgsl_kernels.engine.tape import Lazy

BATCH_AXES = 6
"""Axes before the matrices that the shaders take."""

NARROW = 4
"""Columns below which a product is computed as its transpose, if that has more of them."""

FLOAT = Shaders("matrix/batch_mat_mul", last="matrix/sum_parts.wgsl")
INT32 = Shaders("matrix/batch_mat_mul_int32", last="matrix/sum_parts_int32.wgsl")

declare_product("BatchMatMul")


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
    row, col = a.spec.ndim == 1, b.spec.ndim == 1
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
@silent
def product_cpu(a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    """Return the product of matrices, or of stacks of them, on the CPU."""
    left = np.swapaxes(a, -1, -2) if transpose_a else a
    right = np.swapaxes(b, -1, -2) if transpose_b else b
    if a.dtype == np.float16:  # BLAS takes none, and sums should be wider
        left, right = left.astype(np.float32), right.astype(np.float32)
    return np.asarray(np.matmul(left, right)).astype(a.dtype, copy=False)


@wgsl_kernel("BatchMatMul", dtypes=("float32", "float16", "int32"), accepts_epilogue=True)
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
    constants: Mapping[str, float] | None = None,
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
        constants: Their overrides.
    """
    plan = _plan((a.shape, a.layout), (b.shape, b.layout), transpose_a, transpose_b)
    left, right = (a, b) if plan.left_is_a else (b, a)
    return multiply(
        gpu,
        shaders,
        plan.product,
        {"a": gpu.view(left, *plan.left), "b": gpu.view(right, *plan.right)},
        plan.shape,
        a.dtype,
        params={**plan.params, **(ends or {})},
        epilogue=epilogue,
        last_params=ends,
        last_constants=constants,
        layout=INTEGERS if a.dtype == "int32" else plan.layout,
        memo=None if ends or a.size == 1 or b.size == 1 else plan.memo,
    )


View = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides and offset, the last two in elements."""

Lying = tuple[tuple[int, ...], tuple[tuple[int, ...], int] | None]
"""An array's shape, and its strides and offset where it is not row-major."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What follows from how the operands of a product lie.

    Attributes:
        left: The view of the left operand that the shader gets, [.., rows, terms].
        right: That of the right one, [.., terms, columns].
        left_is_a: Whether these are views of a and b, or of b and a: then the product is computed
            transposed.
        product: Its sizes.
        shape: The result's shape.
        params: Fields of the shaders.
        layout: What the layouts allow.
        memo: What was found out about it.
    """

    left: View
    right: View
    left_is_a: bool
    product: Product
    shape: Shape
    params: dict[str, Any]
    layout: Layout
    memo: Memo = field(default_factory=Memo)


@functools.lru_cache(maxsize=512)
def _plan(a: Lying, b: Lying, transpose_a: bool, transpose_b: bool) -> _Plan:
    batch = broadcast_shapes(a[0][:-2], b[0][:-2]) or ()
    left = _as_matrices(a, batch, transpose_a)
    right = _as_matrices(b, batch, transpose_b)
    rows, terms, cols = left[0][-2], left[0][-1], right[0][-1]
    shape = (*batch, rows, cols)
    steps = (cols, 1)
    layout, is_turned = _layout_of(left, right)
    if is_turned:
        left, right = _transposed(right), _transposed(left)
        steps = (rows, 1) if cols == 1 else (1, cols)
        rows, cols = cols, rows
    product = Product(math.prod(batch), rows, cols, 1, terms)
    params = {"y_steps": steps, "batch_shape": padded((*batch, rows, cols))}
    return _Plan(left, right, not is_turned, product, shape, params, layout)


def _layout_of(left: View, right: View) -> tuple[Layout, bool]:
    """Return what the operands' layouts allow, and whether the transposed product is computed.

    That is so where there are few columns, since a tile is wider than high. Only one column then
    leaves the results next to each other, as vec4s need them.
    """
    rows, cols = left[0][-2], right[0][-1]
    along_terms, along_rows = are_fours(*left, -1), are_fours(*left, -2)
    along_cols, along_inner = are_fours(*right, -1), are_fours(*right, -2)
    if cols < min(NARROW, rows):
        turned = _layout_with(along_inner, along_cols, along_rows, along_terms and rows % 4 == 0)
        return turned if cols == 1 else ANYHOW, True
    return _layout_with(along_terms, along_rows, along_cols, along_inner and cols % 4 == 0), False


def _layout_with(terms: bool, rows: bool, columns: bool, inner: bool) -> Layout:
    """Return the layout where a's terms, a's rows, b's columns and b's terms lie in fours."""
    if terms:
        return FOURS if columns else TERMS if inner else ANYHOW
    if columns:
        return ROWS if rows else COLUMNS
    return ANYHOW


def _as_matrices(x: Lying, batch: Shape, transpose: bool) -> View:
    """Return a view as [batch, rows, cols]; broadcast axes have strides of 0."""
    shape, (strides, offset) = x[0], x[1] or (row_major(x[0]), 0)
    missing = len(batch) - (len(shape) - 2)
    own = zip(shape[:-2], strides[:-2], strict=True)
    before = (0,) * missing + tuple(0 if length == 1 else stride for length, stride in own)
    turned = (*batch, *_swapped(shape[-2:], transpose))
    return turned, before + _swapped(strides[-2:], transpose), offset


def _transposed(x: View) -> View:
    shape, strides, offset = x
    return (*shape[:-2], *shape[:-3:-1]), (*strides[:-2], *strides[:-3:-1]), offset


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
