"""Factorizations of matrices: Cholesky, QR, singular values, eigenvalues. LAPACK computes them.

Gradients are as in Giles, Collected Matrix Derivative Results for Forward and Reverse Mode
Algorithmic Differentiation, 2008; Walter and Lehmann, Algorithmic Differentiation of Linear Algebra
Functions, 2010; Roberts and Roberts, QR and LQ Decomposition Matrix
Backpropagation Algorithms, 2020; Wan and Zhang, Automatic Differentiation for Complex Valued SVD,
2019. They are made of ops, so they can be differentiated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.linear_algebra import diagonals
from wgsl_kernels.ops.linear_algebra.matrices import (
    adjoint,
    as_matrices,
    between_columns,
    on_diagonal,
    real_parts,
    require_square,
)
from wgsl_kernels.ops.linear_algebra.matrix import matmul
from wgsl_kernels.ops.rules.host_kernels import host_kernel
from wgsl_kernels.ops.shapes import creation, joining
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec


@public(space="linalg")
class Eigen(NamedTuple):
    """Eigenvalues, the smallest first, and eigenvectors as columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@public(space="linalg")
class Qr(NamedTuple):
    """A matrix with orthonormal columns, and an upper triangular one."""

    Q: Tensor
    R: Tensor


@public(space="linalg")
class Svd(NamedTuple):
    """Left singular vectors as columns, singular values, and right ones as conjugated rows."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@public(space="linalg")
def cholesky(x: TensorLike, *, upper: bool = False) -> Tensor:
    """Return the triangular factor ``L`` of positive definite ``x = L @ L^H``.

    Args:
        x: [..., n, n], symmetric or Hermitian; of any other its symmetric part is taken.
        upper: Whether ``L^H`` is returned.

    Raises:
        ShapeError: The matrices are not square.
        ArgumentError: One is not positive definite.

    Example:
        >>> linalg.cholesky(tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
        [[2.0, 0.0], [1.0, 1.0]]
    """
    factor = run("Cholesky", as_matrices("cholesky", x))
    return adjoint(factor) if upper else factor


@signature("Cholesky")
def _cholesky_signature(x: Spec, /) -> Spec:
    require_square("Cholesky", "x", x)
    return x


@host_kernel("Cholesky")
def _cholesky_host(x: Array) -> Array:
    return np.linalg.cholesky(_symmetric_part(x))


def _symmetric_part(x: Array) -> Array:
    return np.asarray((x + np.conj(np.swapaxes(x, -1, -2))) * x.dtype.type(0.5))


@gradient("Cholesky")
def _cholesky_grad(dy: Tensor, y: Tensor) -> Tensor:
    # L^-H tril(L^H dL) L^-1, half of its diagonal, made symmetric
    inner = diagonals.tril(matmul(adjoint(y), dy))
    inner = inner - on_diagonal(inner) * 0.5
    back = adjoint(y)
    outer = run("MatrixSolve", back, adjoint(run("MatrixSolve", back, adjoint(inner))))
    return (outer + adjoint(outer)) * 0.5


@public(space="linalg")
def eigh(x: TensorLike) -> Eigen:
    """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Gradients need distinct eigenvalues, and a function of the vectors that is the same whatever
    their signs.

    Args:
        x: [..., n, n]; of a matrix that is not symmetric its symmetric part is taken.

    Returns:
        [..., n], real, the smallest first; and [..., n, n], whose columns are the vectors.

    Raises:
        ShapeError: The matrices are not square.

    Example:
        >>> linalg.eigh(tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
        [1.0, 2.0]
    """
    given = as_matrices("eigh", x)
    return Eigen(*run_many("SelfAdjointEig", given, compute_v=True))


@public(space="linalg")
def eigvalsh(x: TensorLike) -> Tensor:
    """Return the eigenvalues of symmetric or Hermitian matrices, the smallest first; see `eigh`.

    Example:
        >>> linalg.eigvalsh(tensor([[0.0, 1.0], [1.0, 0.0]])).tolist()
        [-1.0, 1.0]
    """
    return run_many("SelfAdjointEig", as_matrices("eigvalsh", x), compute_v=False)[0]


@signature("SelfAdjointEig")
def _eigh_signature(x: Spec, /, *, compute_v: bool = True) -> tuple[Spec, ...]:
    require_square("SelfAdjointEig", "x", x)
    values = real_parts(x.like(shape=x.shape[:-1]))
    return (values, x) if compute_v else (values,)


@host_kernel("SelfAdjointEig")
def _eigh_host(x: Array, *, compute_v: bool) -> tuple[Array, ...]:
    symmetric = _symmetric_part(x)
    if not compute_v:
        return (np.linalg.eigvalsh(symmetric),)
    return tuple(np.linalg.eigh(symmetric))


@gradient("SelfAdjointEig", none=True)
def _eigh_grad(dys: tuple[Tensor | None, ...], x: Tensor, compute_v: bool) -> Tensor:
    # V (diag(dw) + V^H dV / (w_j - w_i)) V^H
    values, vectors = eigh(x)
    inner = _scaled_columns(creation.eye(values.shape[-1], dtype=x.dtype), dys[0])
    upstream = dys[1] if compute_v else None
    if upstream is not None:
        turned = matmul(adjoint(vectors), upstream)
        inner = inner + turned * between_columns(values)
    both = matmul(matmul(vectors, inner), adjoint(vectors))
    return (both + adjoint(both)) * 0.5


def _scaled_columns(x: Tensor, factors: Tensor | None) -> Tensor:
    """Return ``x @ diag(factors)``; 0 for None."""
    return x * 0.0 if factors is None else x * shapes.expand_dims(factors, axis=-2)


@public(space="linalg", tfjs="linalg.qr")
def qr(x: TensorLike, *, mode: str = "reduced") -> Qr:
    """Return a matrix with orthonormal columns and an upper triangular one whose product is ``x``.

    Gradients need linearly independent columns (rows, where there are fewer of these), and where
    there are more rows than columns the mode "reduced".

    Args:
        x: [..., rows, cols].
        mode: "reduced" for min(rows, cols) columns, "complete" for as many as there are rows.

    Raises:
        ArgumentError: ``mode`` is another word.

    Example:
        >>> q, r = linalg.qr(tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> all(abs(q @ r - tensor([[3.0, 1.0], [4.0, 2.0]])) < 1e-6).item()
        True
    """
    return Qr(*run_many("Qr", as_matrices("qr", x), mode=mode))


@signature("Qr")
def _qr_signature(x: Spec, /, *, mode: str = "reduced") -> tuple[Spec, Spec]:
    require_dtype("Qr", "x", x, "float32", "complex64")
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"Qr: mode is {mode!r}; want 'reduced' or 'complete'.")
    rows, cols = _sides("Qr", x)
    inner = rows if mode == "complete" else min(rows, cols)
    batch = x.shape[:-2]
    return x.like(shape=(*batch, rows, inner)), x.like(shape=(*batch, inner, cols))


def _sides(kernel: str, x: Spec) -> tuple[int, int]:
    if x.ndim < 2:
        raise ShapeError(f"{kernel}: x has shape {show(x.shape)}; want [..., rows, cols].")
    return x.shape[-2], x.shape[-1]


@host_kernel("Qr")
def _qr_host(x: Array, *, mode: str) -> tuple[Array, Array]:
    q, r = np.linalg.qr(x, mode="complete" if mode == "complete" else "reduced")
    return q, r


@gradient("Qr")
def _qr_grad(dy: tuple[Tensor, Tensor], x: Tensor, mode: str) -> Tensor:
    q, r = qr(x, mode=mode)
    dq, dr = dy
    rows, cols = x.shape[-2:]
    if mode == "complete" and rows > cols:
        raise ArgumentError("Qr: the mode 'complete' has no gradient here; want 'reduced'.")
    if rows >= cols:
        return _qr_grad_of_tall(q, r, dq, dr)
    # x = [x1, x2] = q [r1, r2], q and r1 being the factors of x1
    first, dr1, dr2 = r[..., :rows], dr[..., :rows], dr[..., rows:]
    dq = dq + matmul(x[..., rows:], adjoint(dr2))
    from_first = _qr_grad_of_tall(q, first, dq, dr1)
    pad = creation.zeros((*x.shape[:-1], cols - rows), dtype=x.dtype)
    left = joining.concat([from_first, pad], axis=-1)
    zero = creation.zeros((*x.shape[:-1], rows), dtype=x.dtype)
    return left + joining.concat([zero, matmul(q, dr2)], axis=-1)


def _qr_grad_of_tall(q: Tensor, r: Tensor, dq: Tensor, dr: Tensor) -> Tensor:
    # (dQ + Q copyltu(R dR^H - dQ^H Q)) R^-H
    inner = matmul(r, adjoint(dr)) - matmul(adjoint(dq), q)
    lower = diagonals.tril(inner)
    mirrored = lower + adjoint(lower)
    mirrored = mirrored - on_diagonal(mirrored) * 0.5
    return adjoint(run("MatrixSolve", r, adjoint(dq + matmul(q, mirrored))))


@public(space="linalg")
def svd(x: TensorLike, *, full_matrices: bool = True) -> Svd:
    """Return the singular value decomposition ``x = U @ diag(S) @ Vh``.

    Gradients need distinct singular values that are not 0, a function of the vectors that is the
    same whatever their signs, and ``full_matrices=False`` where ``x`` is not square.

    Args:
        x: [..., rows, cols].
        full_matrices: Whether U and Vh are square; else they have min(rows, cols) columns and rows.

    Returns:
        ``S`` is real, the largest first.

    Example:
        >>> linalg.svd(tensor([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
        [4.0, 3.0]
    """
    given = as_matrices("svd", x)
    return Svd(*run_many("Svd", given, full_matrices=full_matrices, compute_uv=True))


@public(space="linalg")
def svdvals(x: TensorLike) -> Tensor:
    """Return the singular values of matrices, the largest first; see `svd`.

    Example:
        >>> linalg.svdvals(tensor([[0.0, 2.0], [-3.0, 0.0]])).tolist()
        [3.0, 2.0]
    """
    given = as_matrices("svdvals", x)
    return run_many("Svd", given, full_matrices=False, compute_uv=False)[0]


@signature("Svd")
def _svd_signature(
    x: Spec, /, *, full_matrices: bool = True, compute_uv: bool = True
) -> tuple[Spec, ...]:
    require_dtype("Svd", "x", x, "float32", "complex64")
    rows, cols = _sides("Svd", x)
    batch, inner = x.shape[:-2], min(rows, cols)
    values = real_parts(x.like(shape=(*batch, inner)))
    if not compute_uv:
        return (values,)
    left = (rows, rows if full_matrices else inner)
    right = (cols if full_matrices else inner, cols)
    return x.like(shape=(*batch, *left)), values, x.like(shape=(*batch, *right))


@host_kernel("Svd")
def _svd_host(x: Array, *, full_matrices: bool, compute_uv: bool) -> tuple[Array, ...]:
    if not compute_uv:
        return (np.linalg.svd(x, compute_uv=False),)
    return tuple(np.linalg.svd(x, full_matrices=full_matrices))


@gradient("Svd", none=True)
def _svd_grad(
    dys: tuple[Tensor | None, ...], x: Tensor, full_matrices: bool, compute_uv: bool
) -> Tensor:
    du, ds, dvh = dys if compute_uv else (None, dys[0], None)
    rows, cols = x.shape[-2:]
    if full_matrices and rows != cols and not (du is None and dvh is None):
        raise ArgumentError(
            "Svd: singular vectors beyond the smaller side have no gradient; want "
            "full_matrices=False."
        )
    u, s, vh = svd(x, full_matrices=False)
    v = adjoint(vh)
    inner = _scaled_columns(creation.eye(s.shape[-1], dtype=x.dtype), ds)
    total = matmul(matmul(u, inner), vh)
    if du is not None:
        total = total + matmul(_through_left(u, s, du), vh)
    if dvh is not None:
        # the transposed problem, without its phase, which the left vectors have
        total = total + matmul(u, adjoint(_through_left(v, s, adjoint(dvh))))
    if du is not None and x.dtype in COMPLEXES:
        phase = on_diagonal(matmul(adjoint(u), du))
        phase = (phase - adjoint(phase)) * 0.5 / shapes.expand_dims(s, axis=-2)
        total = total + matmul(matmul(u, phase), vh)
    return total


def _through_left(u: Tensor, s: Tensor, du: Tensor) -> Tensor:
    """Return the gradient of ``x @ V`` by way of its left singular vectors.

    ``U (skew(U^H dU) / (s_j^2 - s_i^2)) S + (I - U U^H) dU / S``
    """
    turned = matmul(adjoint(u), du)
    skew = (turned - adjoint(turned)) * between_columns(s * s)
    inner = matmul(u, _scaled_columns(skew, s))
    if u.shape[-2] == u.shape[-1]:
        return inner
    beside = du - matmul(u, turned)
    return inner + beside / shapes.expand_dims(s, axis=-2)
