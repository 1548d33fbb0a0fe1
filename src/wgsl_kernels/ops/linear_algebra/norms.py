"""Norms of vectors and matrices, diagonals, traces, cross products: compositions of other ops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import integer, number
from wgsl_kernels.engine.values.dtypes import COMPLEXES, is_exact
from wgsl_kernels.engine.values.shapes import normalize_axis, show
from wgsl_kernels.ops.elementwise import binary, cast, compare, logical, unary
from wgsl_kernels.ops.linear_algebra import factorizations
from wgsl_kernels.ops.linear_algebra.matrices import as_matrices
from wgsl_kernels.ops.reductions import extremes
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.shapes import joining, moving, slicing
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

Axes = "int | Sequence[int] | None"


@public(space="linalg")
def cross(x1: TensorLike, x2: TensorLike, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of three elements, with broadcasting.

    Args:
        x1: Length 3 along ``axis``.
        x2: Length 3 along ``axis``.
        axis: The axis of the vectors, counted in the broadcast shape.

    Raises:
        ShapeError: A vector has another length, or the shapes do not broadcast.

    Example:
        >>> linalg.cross(tensor([1.0, 0.0, 0.0]), tensor([0.0, 1.0, 0.0])).tolist()
        [0.0, 0.0, 1.0]
    """
    a, b = as_tensor(x1), as_tensor(x2)
    rank = max(a.ndim, b.ndim)
    at = normalize_axis("cross", axis, rank)
    for name, one in (("x1", a), ("x2", b)):
        own = at - rank + one.ndim
        if own < 0 or one.shape[own] != 3:
            raise ShapeError(
                f"cross: {name} has shape {show(one.shape)}; want 3 along axis {axis}."
            )
    first, second = moving.broadcast_arrays(a, b)
    p, q = (slicing.unstack(one, axis=at) for one in (first, second))
    parts = [p[i] * q[j] - p[j] * q[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return joining.stack(parts, axis=at)


@public(space="linalg")
def diagonal(x: TensorLike, *, offset: int = 0) -> Tensor:
    """Return a diagonal of each matrix.

    Args:
        x: [..., rows, cols].
        offset: 0 for the main diagonal, above 0 for one to its right, below 0 to its left.

    Raises:
        ShapeError: ``x`` has fewer than two axes.

    Example:
        >>> linalg.diagonal(tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """
    given = as_tensor(x)
    if given.ndim < 2:
        raise ShapeError(f"diagonal: x has shape {show(given.shape)}; want [..., rows, cols].")
    rows, cols = given.shape[-2:]
    shift = integer("diagonal", "offset", offset)
    count = max(min(rows, cols - shift) if shift >= 0 else min(rows + shift, cols), 0)
    flat = shapes.reshape(given, (*given.shape[:-2], rows * cols))
    if not count:
        return flat[..., :0]
    start = shift if shift >= 0 else -shift * cols
    return flat[..., start : start + (count - 1) * (cols + 1) + 1 : cols + 1]


@public(space="linalg")
def trace(x: TensorLike, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """Return the sum of a diagonal of each matrix; see `diagonal`.

    Example:
        >>> linalg.trace(tensor([[1, 2], [3, 4]])).item()
        5
    """
    return reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


@public(space="linalg")
def vector_norm(
    x: TensorLike,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Tensor:
    """Return the norm of vectors, ``sum(|x|^ord)^(1/ord)``. Where it is 0 so is its gradient.

    Args:
        x: Any shape.
        axis: The axis of the vectors; several are one vector together, None all of them.
        keepdims: Whether these axes stay, of length 1.
        ord: A number; infinity for the largest, -infinity for the smallest absolute value, 0 for
            how many elements are not 0.

    Raises:
        ArgumentError: ``ord`` is no number.

    Example:
        >>> linalg.vector_norm(tensor([3.0, 4.0])).item()
        5.0
    """
    given = as_tensor(x)
    if is_exact(given.dtype):
        given = cast.astype(given, "float32")
    power = number("vector_norm", "ord", ord)
    if math.isnan(power):
        raise ArgumentError("vector_norm: ord is NaN; want a number.")
    if power == 2 and given.dtype not in COMPLEXES:
        return _root(reductions.sum(given * given, axis=axis, keepdims=keepdims))
    sizes = unary.abs(given)
    if power == 2:
        return _root(reductions.sum(sizes * sizes, axis=axis, keepdims=keepdims))
    if power == 1:
        return reductions.sum(sizes, axis=axis, keepdims=keepdims)
    if math.isinf(power):
        extreme = extremes.max if power > 0 else extremes.min
        return extreme(sizes, axis=axis, keepdims=keepdims)
    if power == 0:
        counted = cast.astype(compare.not_equal(sizes, 0.0), sizes.dtype)
        return reductions.sum(counted, axis=axis, keepdims=keepdims)
    return _power_mean(sizes, power, axis, keepdims)


def _power_mean(sizes: Tensor, power: float, axis: Any, keepdims: bool) -> Tensor:
    total = reductions.sum(binary.pow(sizes, power), axis=axis, keepdims=keepdims)
    if power < 0:
        return binary.pow(total, 1.0 / power)
    is_zero = compare.equal(total, 0.0)
    return logical.where(is_zero, 0.0, binary.pow(logical.where(is_zero, 1.0, total), 1.0 / power))


def _root(squares: Tensor) -> Tensor:
    is_zero = compare.equal(squares, 0.0)
    return logical.where(is_zero, 0.0, unary.sqrt(logical.where(is_zero, 1.0, squares)))


@public(space="linalg")
def matrix_norm(
    x: TensorLike, *, keepdims: bool = False, ord: float | str | None = "fro"
) -> Tensor:
    """Return the norm of matrices.

    Args:
        x: [..., rows, cols].
        keepdims: Whether the last two axes stay, of length 1.
        ord: "fro" for the root of the sum of squares, "nuc" for the sum of singular values, 2 and
            -2 for the largest and the smallest one, 1 and -1 for the largest and the smallest sum
            of absolute values in a column, infinity and -infinity for those in a row.

    Raises:
        ArgumentError: ``ord`` is none of these.
        ShapeError: ``x`` has fewer than two axes.

    Example:
        >>> linalg.matrix_norm(tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1).item()
        6.0
    """
    given = as_matrices("matrix_norm", x)
    if ord is None or (isinstance(ord, str) and ord == "fro"):
        return vector_norm(given, axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, str) and ord == "nuc":
        found = reductions.sum(factorizations.svdvals(given), axis=-1)
        return _with_sides(found) if keepdims else found
    kind = ord if isinstance(ord, str) else number("matrix_norm", "ord", ord)
    if kind not in (1, -1, 2, -2, math.inf, -math.inf):
        raise ArgumentError(
            f"matrix_norm: ord is {shown(ord)}; want 'fro', 'nuc', 1, 2, infinity or the negative "
            "of a number."
        )
    extreme = extremes.max if float(kind) > 0 else extremes.min
    if kind in (2, -2):
        found = extreme(factorizations.svdvals(given), axis=-1)
        return _with_sides(found) if keepdims else found
    summed, left = (-2, -1) if kind in (1, -1) else (-1, -2)
    sums = reductions.sum(unary.abs(given), axis=summed, keepdims=True)
    found = extreme(sums, axis=left, keepdims=True)
    return found if keepdims else shapes.squeeze(found, axis=(-2, -1))


def _with_sides(x: Tensor) -> Tensor:
    return shapes.reshape(x, (*x.shape, 1, 1))
