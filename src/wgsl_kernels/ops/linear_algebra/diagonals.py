"""Diagonals and triangles of matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import compare, logical
from wgsl_kernels.ops.rules.specs import COMPLEX
from wgsl_kernels.ops.shapes import ranges, slicing
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Shape, Spec


@public(tfjs="linalg.bandPart")
def band_part(x: TensorLike, num_lower: TensorLike, num_upper: TensorLike) -> Tensor:
    """Return matrices with 0 in place of all but their main diagonal and some beside it.

    Args:
        x: [..., rows, cols].
        num_lower: How many diagonals below the main one stay; a negative number keeps all.
        num_upper: How many above it stay; a negative number keeps all.

    Raises:
        ShapeError: ``x`` has fewer than two axes, or a number is no scalar.
        ArgumentError: A number that is no tensor is above the rows or columns.

    Example:
        >>> band_part(wk.ones((3, 3)), 1, 0).tolist()
        [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """
    given = as_tensor(x)
    lower = _count(given, "num_lower", num_lower, -2)
    return run("MatrixBandPart", given, lower, _count(given, "num_upper", num_upper, -1))


def _count(x: Tensor, name: str, value: TensorLike, axis: int) -> Tensor:
    """Return how many diagonals stay as a tensor; a number is compared with the axis's length."""
    if isinstance(value, Tensor):
        return value
    count = integer("band_part", name, value)
    if x.ndim > 1 and count > x.shape[axis]:
        raise ArgumentError(
            f"band_part: {name} is {count}, and x has shape {show(x.shape)}; want at most "
            f"{x.shape[axis]}."
        )
    return as_tensor(count, "int32")


@signature("MatrixBandPart")
def _matrix_band_part_signature(input: Spec, num_lower: Spec, num_upper: Spec, /) -> Spec:
    require_dtype("MatrixBandPart", "input", input, *COMPLEX)
    if input.ndim < 2:
        raise ShapeError(
            f"MatrixBandPart: input has shape {show(input.shape)}; want [..., rows, cols]."
        )
    for name, one in (("num_lower", num_lower), ("num_upper", num_upper)):
        require_dtype("MatrixBandPart", name, one, "int32")
        if one.ndim:
            raise ShapeError(f"MatrixBandPart: {name} has shape {show(one.shape)}; want a scalar.")
    return input


@cpu_kernel("MatrixBandPart")
def _matrix_band_part_cpu(input: Array, num_lower: Array, num_upper: Array) -> Array:
    rows, cols = input.shape[-2:]
    below = np.arange(rows)[:, None] - np.arange(cols)
    lower, upper = int(num_lower), int(num_upper)
    kept = np.ones((rows, cols), np.bool_)
    kept &= (below <= lower) | (lower < 0)
    kept &= (-below <= upper) | (upper < 0)
    return np.where(kept, input, input.dtype.type(0))


@wgsl_kernel("MatrixBandPart")
def _matrix_band_part_webgpu(
    gpu: Gpu, input: GpuArray, num_lower: GpuArray, num_upper: GpuArray
) -> GpuArray:
    y = gpu.empty(input.shape, input.dtype)
    if y.size:
        rows, cols = input.shape[-2:]
        gpu.dispatch(
            "linear_algebra/diagonals/matrix_band_part.wesl",
            {"input": input, "num_lower": num_lower, "num_upper": num_upper, "y": y},
            params={"rows": rows, "cols": cols},
        )
    return y


@gradient("MatrixBandPart")
def _matrix_band_part_grad(
    dy: Tensor, num_lower: Tensor, num_upper: Tensor
) -> tuple[Tensor, None, None]:
    return run("MatrixBandPart", dy, num_lower, num_upper), None, None


@public(tfjs="diag")
def diag(x: TensorLike) -> Tensor:
    """Return a tensor of zeros with ``x`` on its diagonal: ``y[i, j] = x[i]`` where i is j.

    Args:
        x: Any shape; several axes are indexed as one.

    Returns:
        The shape of ``x`` twice.

    Example:
        >>> diag(tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """
    return run("Diag", x)


@signature("Diag")
def _diag_signature(x: Spec, /) -> Spec:
    require_dtype("Diag", "x", x, *COMPLEX)
    return x.like(shape=x.shape * 2)


@cpu_kernel("Diag")
def _diag_cpu(x: Array) -> Array:
    return np.diag(x.reshape(-1)).reshape(x.shape * 2)


@wgsl_kernel("Diag")
def _diag_webgpu(gpu: Gpu, x: GpuArray) -> GpuArray:
    y = gpu.empty(x.shape * 2, x.dtype)
    if y.size:
        gpu.dispatch("linear_algebra/diagonals/diag.wesl", {"x": x, "y": y})
    return y


@gradient("Diag")
def _diag_grad(dy: Tensor, x_shape: Shape) -> Tensor:
    count = math.prod(x_shape)
    flat = shapes.reshape(dy, (count * count,))
    return shapes.reshape(
        slicing.strided_slice(flat, (0,), (count * count,), (count + 1,)), x_shape
    )


@public(numpy="tril", method=True)
def tril(x: TensorLike, k: int = 0) -> Tensor:
    """Return matrices with 0 above their ``k``-th diagonal; 0 is the main one, 1 above it.

    Args:
        x: [..., rows, cols].
        k: The last diagonal that stays.

    Raises:
        ShapeError: ``x`` has fewer than two axes.

    Example:
        >>> tril(wk.ones((2, 3)), k=1).tolist()
        [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """
    given, above = _above("tril", x, k)
    return logical.where(compare.less_equal(above, k), given, _zero(given))


def _zero(x: Tensor) -> int | bool:
    """Return 0 as a Python number that takes the dtype of ``x``."""
    return False if x.dtype == "bool" else 0


@public(numpy="triu", method=True)
def triu(x: TensorLike, k: int = 0) -> Tensor:
    """Return matrices with 0 below their ``k``-th diagonal; 0 is the main one, 1 above it.

    Args:
        x: [..., rows, cols].
        k: The first diagonal that stays.

    Raises:
        ShapeError: ``x`` has fewer than two axes.

    Example:
        >>> triu(wk.ones((2, 3)), k=1).tolist()
        [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    """
    given, above = _above("triu", x, k)
    return logical.where(compare.greater_equal(above, k), given, _zero(given))


def _above(name: str, x: TensorLike, k: int) -> tuple[Tensor, Tensor]:
    """Return ``x`` as a tensor and how far each column is right of each row, [rows, cols]."""
    given = as_tensor(x)
    integer(name, "k", k)
    if given.ndim < 2:
        raise ShapeError(f"{name}: x has shape {show(given.shape)}; want [..., rows, cols].")
    rows, cols = given.shape[-2:]
    return given, ranges.arange(cols) - shapes.reshape(ranges.arange(rows), (rows, 1))
