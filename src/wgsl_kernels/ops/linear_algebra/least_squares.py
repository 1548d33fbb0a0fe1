"""Linear equations that have no solution, or many: the least squares, of the least norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import cast, compare, complex
from wgsl_kernels.ops.linear_algebra import factorizations
from wgsl_kernels.ops.linear_algebra.matrices import (
    adjoint,
    as_matrices,
    real_parts,
    shared_batch,
)
from wgsl_kernels.ops.linear_algebra.matrix import matmul
from wgsl_kernels.ops.linear_algebra.solving import limit_of
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.rules.host_kernels import host_kernel
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec


@public(space="linalg")
class Lstsq(NamedTuple):
    """What `lstsq` finds: solutions, what they leave, and what it learnt of the matrices."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@public(space="linalg")
def lstsq(x1: TensorLike, x2: TensorLike, *, rtol: float | None = None) -> Lstsq:
    """Return the ``y`` of the least norm among those for which ``x1 @ y - x2`` has the least.

    The gradient is that among matrices of the same rank, as of `pinv`. Of a matrix with an infinite
    element the solution is NaN.

    Args:
        x1: [..., rows, cols], of any rank.
        x2: [rows], or [..., rows, columns]; the axes before the matrices broadcast.
        rtol: Singular values up to it times the largest count as 0; without it max(rows, cols)
            times the epsilon of the dtype.

    Returns:
        The solutions, [cols] or [..., cols, columns]; the sums of squares of ``x1 @ y - x2``, a
        scalar or [..., columns]; the ranks, int32 [...]; and the singular values,
        [..., min(rows, cols)], the largest first. NumPy gives sums of squares where there are more
        rows than columns, all independent, and else none.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: ``rtol`` is below 0.

    Example:
        >>> a = tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
        >>> found = linalg.lstsq(a, tensor([0.0, 1.0, 5.0]))
        >>> found.solution.numpy().round(3), found.rank.item()
        (array([-0.5,  2.5], dtype=float32), 2)

    Source: Golub and Pereyra, The Differentiation of Pseudo-Inverses, 1973.
    """
    a, b = as_matrices("lstsq", x1), as_tensor(x2)
    columns = shapes.expand_dims(b, axis=1) if b.ndim == 1 else b
    y, values = run_many("MatrixSolveLs", a, columns, rtol=rtol)
    squares = reductions.sum(_squares(matmul(a, y) - columns), axis=-2)
    kept = compare.greater(values, limit_of(a, values, rtol)) if values.size else values
    rank = reductions.sum(cast.astype(kept, "int32"), axis=-1)
    if b.ndim == 1:
        y, squares = shapes.squeeze(y, axis=-1), shapes.squeeze(squares, axis=-1)
    return Lstsq(y, squares, rank, values)


def _squares(x: Tensor) -> Tensor:
    return complex.real(x * complex.conj(x))


@signature("MatrixSolveLs", promote=("a", "b"))
def _least_squares_signature(
    a: Spec, b: Spec, /, *, rtol: float | None = None
) -> tuple[Spec, Spec]:
    if rtol is not None and not number("MatrixSolveLs", "rtol", rtol) >= 0:
        raise ArgumentError(f"MatrixSolveLs: rtol is {shown(rtol)}; want a number of at least 0.")
    require_dtype("MatrixSolveLs", "a", a, "float32", "complex64")
    if a.ndim < 2 or b.ndim < 2 or b.shape[-2] != a.shape[-2]:
        raise ShapeError(
            f"MatrixSolveLs: a has shape {show(a.shape)} and b {show(b.shape)}; want [..., rows, "
            "cols] and [..., rows, columns]."
        )
    batch = shared_batch("MatrixSolveLs", a, b)
    y = a.like(shape=(*batch, a.shape[-1], b.shape[-1]))
    return y, real_parts(a.like(shape=(*a.shape[:-2], min(a.shape[-2:]))))


@host_kernel("MatrixSolveLs")
def _least_squares_host(a: Array, b: Array, *, rtol: float | None) -> tuple[Array, Array]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    share = max(a.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
    is_left_out = s <= s.max(axis=-1, keepdims=True, initial=0) * s.dtype.type(share)
    back = np.where(is_left_out, 0, 1 / np.where(is_left_out, 1, s))  # NaN of what is infinite
    along = np.conj(np.swapaxes(u, -1, -2)) @ b
    return np.conj(np.swapaxes(vh, -1, -2)) @ (back[..., None] * along), s


@gradient("MatrixSolveLs", none=True)
def _least_squares_grad(
    dys: tuple[Tensor | None, ...], a: Tensor, b: Tensor, y0: Tensor, rtol: float | None
) -> tuple[Tensor, Tensor]:
    dy, ds = dys
    da, db = creation.zeros_like(a), creation.zeros_like(b)
    if dy is not None:
        da, db = _through_solution(dy, a, b, y0, rtol)
    if ds is not None:
        u, _, vh = factorizations.svd(a, full_matrices=False)
        da = da + matmul(u * shapes.expand_dims(ds, axis=-2), vh)
    return da, db


def _through_solution(
    dy: Tensor, a: Tensor, b: Tensor, y: Tensor, rtol: float | None
) -> tuple[Tensor, Tensor]:
    # y = P b: with db = P^H dy and r = b - a y
    # da = r (P db)^H + P^H y (dy - a^H db)^H - db y^H
    back = adjoint(a)
    db = _solution(back, dy, rtol)
    beside = matmul(b - matmul(a, y), adjoint(_solution(a, db, rtol)))
    below = matmul(_solution(back, y, rtol), adjoint(dy - matmul(back, db)))
    da = beside + below - matmul(db, adjoint(y))
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)


def _solution(a: Tensor, b: Tensor, rtol: float | None) -> Tensor:
    return run_many("MatrixSolveLs", a, b, rtol=rtol)[0]
