"""Linear equations with triangular matrices, by substitution; LAPACK and BLAS compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import plain
from wgsl_kernels.ops.linear_algebra import diagonals
from wgsl_kernels.ops.linear_algebra.matrices import adjoint, as_matrices
from wgsl_kernels.ops.linear_algebra.matrix import matmul
from wgsl_kernels.ops.linear_algebra.solving import of_columns, solution_spec
from wgsl_kernels.ops.rules.host_kernels import host_kernel
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

BLOCK = 64
"""Rows that LAPACK solves at once; larger systems are halved, and products join the halves."""


@public(space="linalg")
def solve_triangular(
    x1: TensorLike,
    x2: TensorLike,
    *,
    lower: bool = False,
    trans: int | str = 0,
    unit_diagonal: bool = False,
) -> Tensor:
    """Return the solution ``y`` of ``x1 @ y = x2`` for triangular ``x1``.

    Args:
        x1: [..., n, n]; elements on the other side of the diagonal are not read, and get no
            gradient.
        x2: [n], or [..., n, cols]; the axes before the matrices broadcast.
        lower: Whether the elements below the diagonal are read, and not those above it.
        trans: As in SciPy: 0 or "N" for ``x1``, 1 or "T" for its transpose in its place, 2 or "C"
            for its conjugate transpose.
        unit_diagonal: Whether the diagonal is taken for ones, and not read.

    Returns:
        The shape of ``x2``, with the broadcast axes.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: An element of the diagonal is 0, or ``trans`` is another word.

    Example:
        >>> a = tensor([[2.0, 0.0], [1.0, 4.0]])
        >>> linalg.solve_triangular(a, tensor([2.0, 5.0]), lower=True).tolist()
        [1.0, 1.0]
    """
    turn = plain(trans)
    if turn not in (0, 1, 2, "N", "T", "C"):
        raise ArgumentError(
            f"solve_triangular: trans is {shown(trans)}; want 0 or 'N', 1 or 'T', 2 or 'C'."
        )
    a = as_matrices("solve_triangular", x1)
    is_lower = lower
    if turn not in (0, "N"):
        a, is_lower = shapes.matrix_transpose(a) if turn in (1, "T") else adjoint(a), not lower
    return of_columns("MatrixTriangularSolve", a, x2, lower=is_lower, unit_diagonal=unit_diagonal)


@signature("MatrixTriangularSolve", promote=("a", "b"))
def _triangular_signature(
    a: Spec, b: Spec, /, *, lower: bool = False, unit_diagonal: bool = False
) -> Spec:
    del lower, unit_diagonal
    return solution_spec("MatrixTriangularSolve", a, b)


@host_kernel("MatrixTriangularSolve")
def _triangular_host(a: Array, b: Array, *, lower: bool, unit_diagonal: bool) -> Array:
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        size = a.shape[-1]
        triangle[..., range(size), range(size)] = 1
    if lower:  # rows and columns in reverse order make an upper one, which LAPACK never pivots
        return _substituted(triangle[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]
    return _substituted(triangle, b)


def _substituted(a: Array, b: Array) -> Array:
    """Return the solution for upper triangular matrices."""
    size = a.shape[-1]
    if size <= BLOCK:
        return np.linalg.solve(a, b)
    half = size // 2
    below = _substituted(a[..., half:, half:], b[..., half:, :])
    above = _substituted(a[..., :half, :half], b[..., :half, :] - a[..., :half, half:] @ below)
    return np.concatenate([above, below], axis=-2)


@gradient("MatrixTriangularSolve")
def _triangular_grad(
    dy: Tensor, a: Tensor, b_shape: Shape, y: Tensor, lower: bool, unit_diagonal: bool
) -> tuple[Tensor, Tensor]:
    turned = {"lower": not lower, "unit_diagonal": unit_diagonal}
    db = run("MatrixTriangularSolve", adjoint(a), dy, **turned)
    whole = unbroadcast(-matmul(db, adjoint(y)), a.shape)
    beside = 1 if unit_diagonal else 0
    da = diagonals.tril(whole, -beside) if lower else diagonals.triu(whole, beside)
    return da, unbroadcast(db, b_shape)
