"""Norms of vectors and matrices, and vectors made orthonormal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.engine.attributes import flag, integer_or_integers, number, sequence
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.shapes import normalize_axis, show
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.engine.words import shown
from wgsl_kernels.ops import compare, extremes, joining, reduce, shape, unary
from wgsl_kernels.ops.elementwise import float_dtype
from wgsl_kernels.ops.weighting import in_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.ops.reduce import Axes

Order = float | Literal["euclidean", "fro"]


def euclidean_norm(x: TensorLike, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the root of the sum of squares along ``axis``.

    Args:
        x: Any shape.
        axis: One axis, two, or None for all.
        keepdims: Whether the reduced axes stay, of length 1.

    Example:
        >>> euclidean_norm([3.0, 4.0]).item()
        5.0
    """
    return norm(x, axis=axis, keepdims=keepdims)


def norm(
    x: TensorLike, ord: Order = "euclidean", *, axis: Axes = None, keepdims: bool = False
) -> Tensor:
    """Return a norm of vectors, or of matrices where ``axis`` is two axes.

    Of vectors: the root of the sum of squares for ``"euclidean"`` and 2; the largest and smallest
    size for infinity and -infinity; the number of elements that are not 0 for 0; for any other p
    ``sum(|x| ** p) ** (1 / p)``. Of matrices: the root of the sum of squares for ``"euclidean"``
    and ``"fro"``; the largest sum of a column's sizes for 1, the smallest for -1; the same of rows
    for infinity and -infinity. The gradient of a root is NaN at 0.

    Args:
        x: Any shape; what is no float becomes float32.
        ord: Which norm.
        axis: One axis of vectors, two of matrices; None takes ``x`` as one vector.
        keepdims: Whether the reduced axes stay, of length 1.

    Raises:
        ArgumentError: There is no such norm of matrices, or ``axis`` is more than two.

    Example:
        >>> norm([[1.0, -2.0], [3.0, 4.0]], 1, axis=(0, 1)).item()
        6.0
    """
    given = as_tensor(x)
    given = in_dtype(given, float_dtype(given.dtype)) if not _is_complex(given) else given
    keeps = flag("norm", "keepdims", keepdims)
    order = ord if isinstance(ord, str) else number("norm", "ord", ord)
    if axis is None:
        return _of_vectors(given, order, None, keeps)
    axes = integer_or_integers("norm", "axis", axis)
    axes = (axes,) if isinstance(axes, int) else axes
    if len(axes) not in (1, 2):
        raise ArgumentError(f"norm: axis is {axes}; want one axis, two, or None.")
    places = [normalize_axis("norm", one, given.ndim) for one in axes]
    if len(places) == 1:
        return _of_vectors(given, order, places[0], keeps)
    if places[0] == places[1]:
        raise ArgumentError(f"norm: axis is {axes}; want two different axes.")
    return _of_matrices(given, order, places[0], places[1], keeps)


def _of_vectors(x: Tensor, ord: Order, axis: int | None, keepdims: bool) -> Tensor:
    sizes = unary.abs(x)
    if ord in ("euclidean", 2):
        return unary.sqrt(reduce.sum(unary.square(sizes), axis=axis, keepdims=keepdims))
    if isinstance(ord, str):
        raise ArgumentError(f"norm: ord is {shown(ord)}; want a number or 'euclidean' for vectors.")
    if ord == 1:
        return reduce.sum(sizes, axis=axis, keepdims=keepdims)
    if ord == 0:
        count = in_dtype(compare.not_equal(sizes, 0.0), sizes.dtype)
        return reduce.sum(count, axis=axis, keepdims=keepdims)
    if math.isinf(ord):
        extreme = extremes.max if ord > 0 else extremes.min
        return extreme(sizes, axis=axis, keepdims=keepdims)
    return reduce.sum(sizes ** float(ord), axis=axis, keepdims=keepdims) ** (1.0 / ord)


def _of_matrices(x: Tensor, ord: Order, rows: int, columns: int, keepdims: bool) -> Tensor:
    if ord in ("euclidean", "fro"):
        squares = unary.square(unary.abs(x))
        return unary.sqrt(reduce.sum(squares, axis=(rows, columns), keepdims=keepdims))
    if isinstance(ord, str) or ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(
            f"norm: ord is {shown(ord)}; want 1, -1, inf, -inf, 'fro' or 'euclidean' for matrices."
        )
    summed, kept = (columns, rows) if math.isinf(ord) else (rows, columns)
    extreme = extremes.max if ord > 0 else extremes.min
    sums = reduce.sum(unary.abs(x), axis=summed, keepdims=True)
    found = extreme(sums, axis=kept, keepdims=True)
    return found if keepdims else shape.squeeze(found, (rows, columns))


def gram_schmidt(xs: TensorLike | Sequence[TensorLike]) -> Tensor | list[Tensor]:
    """Return vectors made orthonormal, each less its parts along those before it.

    Args:
        xs: Vectors of one length, a list or the rows of a matrix; at most as many as that length,
            and none a sum of others.

    Returns:
        A list for a list, a matrix for a matrix.

    Raises:
        ShapeError: The lengths differ, or there are more vectors than that, or none.

    Example:
        >>> gram_schmidt([[2.0, 0.0], [3.0, 4.0]]).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    is_list = isinstance(xs, (list, tuple)) and any(isinstance(one, Tensor) for one in xs)
    given = sequence("gram_schmidt", "xs", xs) if is_list else list(_rows(as_tensor(xs)))
    vectors = [as_tensor(one) for one in given]
    sizes = {one.shape for one in vectors}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        known = ", ".join(show(one) for one in sizes)
        raise ShapeError(f"gram_schmidt: xs has shapes {known or 'of none'}; want equal vectors.")
    length = vectors[0].shape[0]
    if len(vectors) > length:
        raise ShapeError(
            f"gram_schmidt: there are {len(vectors)} vectors of length {length}; want at most "
            "as many as that."
        )
    found: list[Tensor] = []
    for vector in vectors:
        for other in found:
            vector = vector - reduce.sum(other * vector) * other
        found.append(vector / norm(vector))
    return found if is_list else joining.stack(found)


def _rows(matrix: Tensor) -> list[Tensor]:
    if matrix.ndim != 2:
        raise ShapeError(
            f"gram_schmidt: xs has shape {show(matrix.shape)}; want [vectors, length]."
        )
    return [matrix[row] for row in range(matrix.shape[0])]


def _is_complex(x: Tensor) -> bool:
    return x.dtype.startswith("complex")
