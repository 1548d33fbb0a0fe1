"""Products of matrices and vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.products import matmul as matmul_on_host
from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE, row_major
from wgsl_kernels.backends.webgpu.control.parts import excess, excess_of, outermost, widest
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.products.dispatching import (
    ProductCut,
    declare_product,
    in_parts,
    is_above_limit,
    is_vec4_contiguous,
    multiply,
)
from wgsl_kernels.backends.webgpu.products.tilings import (
    STRIDED,
    VEC4_KK,
    VEC4_KN,
    VEC4_MN,
    VEC4_N,
    Product,
    Vec4Axes,
)
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.engine.values.shapes import broadcast_shapes, require_dtype, show
from wgsl_kernels.ops.elementwise import complex

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.autodiff.tape import Lazy
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape, Spec

BATCH_AXES = 6
"""Axes before the matrices that the shaders take."""

NARROW = 4
"""Columns below which a product is computed as its transpose, if that has more of them."""

OPERANDS = "operands/matrix.wesl"

declare_product("BatchMatMul")


@public(numpy="dot", tfjs="dot", method=True)
def dot(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the product of two vectors, of two matrices, or of one of each.

    Raises:
        ShapeError: One has neither 1 nor 2 axes, or the lengths differ.

    Example:
        >>> wk.dot([1.0, 2.0], [3.0, 4.0]).item()
        11.0
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if not {a.ndim, b.ndim} <= {1, 2}:
        raise ShapeError(
            f"dot: x1 is {show(a.shape)}, x2 is {show(b.shape)}; want 1 or 2 axes each. "
            "matmul takes more."
        )
    return matmul(a, b)


@public(space="wk linalg", numpy="matmul", tfjs="matMul", operator="matmul", method=True)
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
    if a.spec.dtype in COMPLEXES or b.spec.dtype in COMPLEXES:
        return _complex_product(a, b, transpose_a, transpose_b)
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


def _complex_product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    """Return the product of complex matrices from those of their parts."""

    def product(left: Tensor, right: Tensor) -> Tensor:
        return matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b)

    if a.dtype not in COMPLEXES:
        return complex.complex(product(a, complex.real(b)), product(a, complex.imag(b)))
    if b.dtype not in COMPLEXES:
        return complex.complex(product(complex.real(a), b), product(complex.imag(a), b))
    a_re, a_im, b_re, b_im = complex.real(a), complex.imag(a), complex.real(b), complex.imag(b)
    return complex.complex(
        product(a_re, b_re) - product(a_im, b_im), product(a_re, b_im) + product(a_im, b_re)
    )


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
    return matmul_on_host(left, right).astype(a.dtype, copy=False)


@wgsl_kernel("BatchMatMul", dtypes=("float32", "float16", "int32"))
def _batch_mat_mul_webgpu(
    gpu: Gpu, a: GpuArray, b: GpuArray, *, transpose_a: bool, transpose_b: bool
) -> GpuArray:
    return product_webgpu(gpu, a, b, transpose_a, transpose_b)


def product_webgpu(
    gpu: Gpu,
    a: GpuArray,
    b: GpuArray,
    transpose_a: bool,
    transpose_b: bool,
    dtype: DType | None = None,
) -> GpuArray:
    """Return the product of matrices, or of stacks of them.

    Args:
        gpu: The device.
        a: The left matrices.
        b: The right ones.
        transpose_a: Whether the left ones are transposed.
        transpose_b: Whether the right ones are.
        dtype: The result's dtype, by default that of ``a``; for arrays above the binding limit it
            is that.
    """
    plan = _plan((a.shape, a.layout), (b.shape, b.layout), transpose_a, transpose_b)
    if a.size * b.size and is_above_limit(gpu, plan.shape, a, b):

        def part(a: GpuArray, b: GpuArray) -> GpuArray:
            return product_webgpu(gpu, a, b, transpose_a, transpose_b)

        cut = _cut(gpu, a, b, plan.shape, transpose_a, transpose_b)
        return in_parts(gpu, part, a, b, plan.shape, cut)
    left, right = (a, b) if plan.left_is_a else (b, a)
    return multiply(
        gpu,
        OPERANDS,
        plan.product,
        {"a": gpu.view(left, *plan.left), "b": gpu.view(right, *plan.right)},
        plan.shape,
        dtype or a.dtype,
        params=plan.params,
        layout=plan.layout,
    )


def _cut(
    gpu: Gpu, a: GpuArray, b: GpuArray, shape: Shape, transpose_a: bool, transpose_b: bool
) -> ProductCut:
    """Return which axis to cut: that along which what is above the limit reaches furthest."""
    (m, k), (k_of_b, n) = _swapped((-2, -1), transpose_a), _swapped((-2, -1), transpose_b)
    of_matrices = {
        -2: ProductCut(m, None, -2),
        -1: ProductCut(None, n, -1),
        0: ProductCut(k, k_of_b, None),
    }
    if excess_of(gpu, shape, ITEMSIZE[a.dtype]) > 1:
        axis = outermost(shape)
    elif excess(gpu, a) > 1:
        axis = {m: -2, k: 0}.get(widest(a), widest(a))
    else:
        axis = {k_of_b: 0, n: -1}.get(widest(b), widest(b))
    return of_matrices.get(axis) or ProductCut(axis, axis, axis)


View = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides and offset, the last two in elements."""

ShapeAndLayout = tuple[tuple[int, ...], tuple[tuple[int, ...], int] | None]
"""An array's shape, and its strides and offset where it is not row-major."""


@dataclass(frozen=True, slots=True)
class _ProductPlan:
    """What follows from the layouts of a product's operands.

    Attributes:
        left: The view of the left operand that the shader gets, [.., rows, terms].
        right: That of the right one, [.., terms, columns].
        left_is_a: Whether these are views of a and b, or of b and a: then the product is computed
            transposed.
        product: Its sizes.
        shape: The result's shape.
        params: Fields of the shaders.
        layout: What the layouts allow.
    """

    left: View
    right: View
    left_is_a: bool
    product: Product
    shape: Shape
    params: dict[str, Any]
    layout: Vec4Axes


def _plan(
    a: ShapeAndLayout, b: ShapeAndLayout, transpose_a: bool, transpose_b: bool
) -> _ProductPlan:
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
    return _ProductPlan(left, right, not is_turned, product, shape, params, layout)


def _layout_of(left: View, right: View) -> tuple[Vec4Axes, bool]:
    """Return what the operands' layouts allow, and whether the transposed product is computed.

    That is so where there are few columns, since a tile is wider than high. Only one column then
    leaves the results next to each other, as vec4s need them.
    """
    rows, cols = left[0][-2], right[0][-1]
    a_along_k, a_along_m = is_vec4_contiguous(*left, -1), is_vec4_contiguous(*left, -2)
    b_along_n, b_along_k = is_vec4_contiguous(*right, -1), is_vec4_contiguous(*right, -2)
    if cols < min(NARROW, rows):
        turned = _layout_with(b_along_k, b_along_n, a_along_m, a_along_k and rows % 4 == 0)
        return turned if cols == 1 else STRIDED, True
    return _layout_with(a_along_k, a_along_m, b_along_n, b_along_k and cols % 4 == 0), False


def _layout_with(a_along_k: bool, a_along_m: bool, b_along_n: bool, b_along_k: bool) -> Vec4Axes:
    """Return the layout of operands that are contiguous in groups of four along these axes."""
    if a_along_k:
        return VEC4_KN if b_along_n else VEC4_KK if b_along_k else STRIDED
    if b_along_n:
        return VEC4_MN if a_along_m else VEC4_N
    return STRIDED


def _as_matrices(x: ShapeAndLayout, batch: Shape, transpose: bool) -> View:
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


@public(space="wk linalg", numpy="outer", tfjs="outerProduct", method=True)
def outer(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the products of each element of one vector with each of another.

    Args:
        x1: [rows].
        x2: [columns].

    Returns:
        [rows, columns].

    Raises:
        ShapeError: One is no vector.

    Example:
        >>> wk.outer([1, 2], [3, 4]).tolist()
        [[3, 4], [6, 8]]
    """
    a, b = as_tensor(x1), as_tensor(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeError(f"outer: x1 is {show(a.shape)}, x2 is {show(b.shape)}; want two vectors.")
    return matmul(run("Reshape", a, shape=(a.size, 1)), run("Reshape", b, shape=(1, b.size)))
