"""Norms of vectors and matrices, and vectors made orthonormal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import integer_or_integers, sequence
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.linear_algebra import norms
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.shapes import joining, moving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.ops.reductions.reduce import Axes

Order = float | Literal["euclidean", "fro"]


@public(tfjs="euclideanNorm")
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


@public(tfjs="norm")
def norm(
    x: TensorLike, ord: Order = "euclidean", *, axis: Axes = None, keepdims: bool = False
) -> Tensor:
    """Return a norm of vectors, or of matrices where ``axis`` is two axes.

    Of vectors that is `linalg.vector_norm`, of matrices `linalg.matrix_norm`; ``"euclidean"`` is
    the root of the sum of squares of either. Where it is 0 so is its gradient.

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
    is_euclidean = isinstance(ord, str) and ord == "euclidean"
    axes = None if axis is None else integer_or_integers("norm", "axis", axis)
    if axes is None or isinstance(axes, int) or len(axes) == 1:
        order = 2 if is_euclidean else ord
        if isinstance(order, str):
            raise ArgumentError(f"norm: ord is {order!r}; want a number or 'euclidean' of vectors.")
        return norms.vector_norm(given, axis=axes, keepdims=keepdims, ord=order)
    if len(axes) != 2:
        raise ArgumentError(f"norm: axis is {axes}; want one axis, two, or None.")
    order = "fro" if is_euclidean else ord
    moved = moving.moveaxis(given, axes, (-2, -1))
    found = norms.matrix_norm(moved, keepdims=keepdims, ord=order)
    return moving.moveaxis(found, (-2, -1), axes) if keepdims else found


@public(tfjs="linalg.gramSchmidt")
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
        found.append(vector / norms.vector_norm(vector))
    return found if is_list else joining.stack(found)


def _rows(matrix: Tensor) -> list[Tensor]:
    if matrix.ndim != 2:
        raise ShapeError(
            f"gram_schmidt: xs has shape {show(matrix.shape)}; want [vectors, length]."
        )
    return [matrix[row] for row in range(matrix.shape[0])]
