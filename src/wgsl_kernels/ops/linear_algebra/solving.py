"""Linear equations, inverses and determinants. LAPACK computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.engine.autodiff.custom import custom_grad
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.engine.values.dtypes import COMPLEXES
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise import cast, compare, complex, logical
from wgsl_kernels.ops.linear_algebra import factorizations
from wgsl_kernels.ops.linear_algebra.matrices import (
    adjoint,
    as_matrices,
    real_parts,
    require_square,
    shared_batch,
)
from wgsl_kernels.ops.linear_algebra.matrix import matmul
from wgsl_kernels.ops.reductions import extremes
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.rules.host_kernels import host_kernel
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from wgsl_kernels.backends.cpu.kernel import Array
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec


@public(space="linalg")
class Slogdet(NamedTuple):
    """The sign of a determinant, of absolute value 1 or 0, and the logarithm of its size."""

    sign: Tensor
    logabsdet: Tensor


@public(space="linalg")
def det(x: TensorLike) -> Tensor:
    """Return the determinants of square matrices; the gradient is right for singular ones, too.

    Args:
        x: [..., n, n].

    Raises:
        ShapeError: The matrices are not square.

    Example:
        >>> linalg.det(tensor([[2.0, 0.0], [0.0, 3.0]])).item()
        6.0
    """
    return run("MatrixDeterminant", as_matrices("det", x))


@signature("MatrixDeterminant")
def _det_signature(x: Spec, /) -> Spec:
    require_square("MatrixDeterminant", "x", x)
    return x.like(shape=x.shape[:-2])


@host_kernel("MatrixDeterminant")
def _det_host(x: Array) -> Array:
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.asarray(np.linalg.det(x.astype(wide))).astype(x.dtype)


@gradient("MatrixDeterminant")
def _det_grad(dy: Tensor, x: Tensor) -> Tensor:
    return complex.conj(run("MatrixCofactors", x)) * _before_matrices(dy)


def _before_matrices(x: Tensor) -> Tensor:
    return shapes.reshape(x, (*x.shape, 1, 1))


@signature("MatrixCofactors")
def _cofactors_signature(x: Spec, /) -> Spec:
    require_square("MatrixCofactors", "x", x)
    return x


@host_kernel("MatrixCofactors")
def _cofactors_host(x: Array) -> Array:
    # of x = U S V^H: conj(U) C V^T times det(U) det(V^H), C the products of the other elements of S
    u, s, vh = np.linalg.svd(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
    size = s.shape[-1]
    others = np.repeat(s[..., None, :], size, axis=-2)
    others[..., range(size), range(size)] = 1
    phase = np.linalg.det(u) * np.linalg.det(vh)
    cofactors = np.conj(u * np.prod(others, axis=-1)[..., None, :]) @ np.conj(vh)
    return np.asarray(phase[..., None, None] * cofactors).astype(x.dtype)


@gradient("MatrixCofactors")
def _cofactors_grad(dy: Tensor, x: Tensor) -> Tensor:
    # C = det(x) x^-T; of regular matrices
    back = _inverse(x)
    turned = shapes.matrix_transpose(back)
    along = reductions.sum(complex.conj(turned) * dy, axis=(-2, -1))
    inner = matmul(complex.conj(turned), matmul(shapes.matrix_transpose(dy), complex.conj(turned)))
    straight = complex.conj(turned) * _before_matrices(along)
    return (straight - inner) * complex.conj(_before_matrices(det(x)))


@public(space="linalg")
def inv(x: TensorLike) -> Tensor:
    """Return the inverses of square matrices.

    Args:
        x: [..., n, n].

    Raises:
        ShapeError: The matrices are not square.
        ArgumentError: One is singular.

    Example:
        >>> linalg.inv(tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    given = as_matrices("inv", x)
    if given.shape[-1] != given.shape[-2]:
        raise ShapeError(f"inv: x has shape {show(given.shape)}; want [..., n, n].")
    return _inverse(given)


def _inverse(x: Tensor) -> Tensor:
    return run("MatrixSolve", x, creation.eye(x.shape[-1], dtype=x.dtype))


@public(space="linalg")
def matrix_power(x: TensorLike, n: int) -> Tensor:
    """Return square matrices to the power ``n``, by repeated squaring; below 0, of their inverses.

    Raises:
        ShapeError: The matrices are not square.
        ArgumentError: ``n`` is no integer, or below 0 and a matrix singular.

    Example:
        >>> linalg.matrix_power(tensor([[1.0, 1.0], [0.0, 1.0]]), 5).tolist()
        [[1.0, 5.0], [0.0, 1.0]]
    """
    given = as_matrices("matrix_power", x)
    if given.shape[-1] != given.shape[-2]:
        raise ShapeError(f"matrix_power: x has shape {show(given.shape)}; want [..., n, n].")
    left = integer("matrix_power", "n", n)
    factor = _inverse(given) if left < 0 else given
    left = -left if left < 0 else left
    power: Tensor | None = None
    while left:
        if left % 2:
            power = factor if power is None else matmul(power, factor)
        left //= 2
        factor = matmul(factor, factor) if left else factor
    if power is None:
        unit = creation.eye(given.shape[-1], dtype=given.dtype)
        return shapes.broadcast_to(unit, given.shape)
    return power


@public(space="linalg")
def matrix_rank(x: TensorLike, *, rtol: TensorLike | None = None) -> Tensor:
    """Return how many singular values of each matrix are above ``rtol`` times its largest.

    Args:
        x: [..., rows, cols].
        rtol: A number, or one for each matrix; without it max(rows, cols) times the epsilon of the
            dtype.

    Returns:
        int32.

    Example:
        >>> linalg.matrix_rank(tensor([[1.0, 2.0], [2.0, 4.0]])).item()
        1
    """
    values = factorizations.svdvals(x)
    if values.size == 0:
        return creation.zeros(values.shape[:-1], dtype="int32")
    limit = limit_of(as_matrices("matrix_rank", x), values, rtol)
    return reductions.sum(cast.astype(compare.greater(values, limit), "int32"), axis=-1)


def limit_of(x: Tensor, values: Tensor, rtol: TensorLike | None) -> Tensor:
    """Return up to which size a singular value counts as 0: [..., 1]."""
    largest = extremes.max(values, axis=-1, keepdims=True)
    if rtol is None:
        digits = np.finfo(np.float64 if values.dtype == "float64" else np.float32).eps
        return largest * float(max(x.shape[-2:]) * digits)
    given = as_tensor(rtol)
    return largest * (shapes.expand_dims(given, axis=-1) if given.ndim else given)


@public(space="linalg")
def pinv(x: TensorLike, *, rtol: TensorLike | None = None) -> Tensor:
    """Return the Moore-Penrose inverses of matrices.

    The gradient is that among matrices of the same rank. It is NaN of a matrix with an infinite
    element.

    Args:
        x: [..., rows, cols].
        rtol: As of `matrix_rank`.

    Returns:
        [..., cols, rows].

    Example:
        >>> linalg.pinv(tensor([[2.0], [0.0]])).tolist()
        [[0.5, 0.0]]

    Source: Golub and Pereyra, The Differentiation of Pseudo-Inverses, 1973.
    """
    given = as_matrices("pinv", x)

    def inverted(a: Tensor, save: Callable[[Any], None]) -> tuple[Tensor, Any]:
        y = _pseudo_inverse(a, rtol)
        save([a, y])
        return y, _pinv_grad

    y: Tensor = custom_grad(inverted)(given)
    return y


def _pseudo_inverse(x: Tensor, rtol: TensorLike | None) -> Tensor:
    if x.size == 0:
        return creation.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype=x.dtype)
    u, s, vh = factorizations.svd(x, full_matrices=False)
    is_left_out = compare.less_equal(s, limit_of(x, s, rtol))
    back = logical.where(is_left_out, 0.0, 1.0 / logical.where(is_left_out, 1.0, s))
    return matmul(adjoint(vh) * shapes.expand_dims(back, axis=-2), adjoint(u))


def _pinv_grad(dy: Tensor, saved: list[Tensor]) -> Tensor:
    # -Y^H dY Y^H + (I - X Y) dY^H Y Y^H + Y^H Y dY^H (I - Y X)
    x, y = saved
    up, turned = adjoint(dy), adjoint(y)
    inside = matmul(matmul(turned, dy), turned)
    left = matmul(matmul(up, y), turned)
    right = matmul(matmul(turned, y), up)
    beside = left - matmul(x, matmul(y, left))
    below = right - matmul(matmul(right, y), x)
    return beside + below - inside


@public(space="linalg")
def slogdet(x: TensorLike) -> Slogdet:
    """Return sign and logarithm of the absolute value of the determinants of square matrices.

    Args:
        x: [..., n, n]. The gradient needs regular matrices.

    Raises:
        ShapeError: The matrices are not square.

    Example:
        >>> [one.item() for one in linalg.slogdet(tensor([[-1.0, 0.0], [0.0, 1.0]]))]
        [-1.0, 0.0]
    """
    return Slogdet(*run_many("LogMatrixDeterminant", as_matrices("slogdet", x)))


@signature("LogMatrixDeterminant")
def _slogdet_signature(x: Spec, /) -> tuple[Spec, Spec]:
    require_square("LogMatrixDeterminant", "x", x)
    sign = x.like(shape=x.shape[:-2])
    return sign, real_parts(sign)


@host_kernel("LogMatrixDeterminant")
def _slogdet_host(x: Array) -> tuple[Array, Array]:
    sign, size = np.linalg.slogdet(x)
    return np.asarray(sign), np.asarray(size)


@gradient("LogMatrixDeterminant")
def _slogdet_grad(dy: tuple[Tensor, Tensor], x: Tensor, y0: Tensor) -> Tensor:
    # d log|det| = Re tr(x^-1 dx), d sign = i sign Im tr(x^-1 dx)
    dsign, dsize = dy
    along = dsize
    if x.dtype in COMPLEXES:
        turned = complex.imag(dsign * complex.conj(y0))
        along = complex.complex(dsize, turned)
    return adjoint(_inverse(x)) * _before_matrices(along)


@public(space="linalg")
def solve(x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return the solution ``y`` of ``x1 @ y = x2``.

    Args:
        x1: [..., n, n].
        x2: [n], or [..., n, cols]; the axes before the matrices broadcast.

    Returns:
        The shape of ``x2``, with the broadcast axes.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: A matrix is singular.

    Example:
        >>> linalg.solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 2.0])).tolist()
        [1.0, 0.5]
    """
    return of_columns("MatrixSolve", as_matrices("solve", x1), x2)


def of_columns(kernel: str, a: Tensor, b: TensorLike, **attrs: Any) -> Tensor:
    """Run a kernel of matrices and columns, of which a vector is one."""
    given = as_tensor(b)
    if given.ndim != 1:
        return run(kernel, a, given, **attrs)
    return shapes.squeeze(run(kernel, a, shapes.expand_dims(given, axis=1), **attrs), axis=-1)


@signature("MatrixSolve", promote=("a", "b"))
def _solve_signature(a: Spec, b: Spec, /) -> Spec:
    return solution_spec("MatrixSolve", a, b)


def solution_spec(kernel: str, a: Spec, b: Spec) -> Spec:
    """Return the spec of solutions of square systems.

    Raises:
        ShapeError: The matrices are not square, or the columns do not fit.
    """
    require_square(kernel, "a", a)
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError(
            f"{kernel}: a has shape {show(a.shape)} and b {show(b.shape)}; want [..., n, n] and "
            "[..., n, cols]."
        )
    return a.like(shape=(*shared_batch(kernel, a, b), *b.shape[-2:]))


@host_kernel("MatrixSolve")
def _solve_host(a: Array, b: Array) -> Array:
    return np.linalg.solve(a, b)


@gradient("MatrixSolve")
def _solve_grad(dy: Tensor, a: Tensor, b_shape: Shape, y: Tensor) -> tuple[Tensor, Tensor]:
    db = run("MatrixSolve", adjoint(a), dy)
    return unbroadcast(-matmul(db, adjoint(y)), a.shape), unbroadcast(db, b_shape)
