"""NumPy's functions of its namespaces whose arguments differ from those of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.ops.elementwise import complex
from wgsl_kernels.ops.linear_algebra import (
    diagonals,
    factorizations,
    least_squares,
    norms,
    tensor_norms,
)
from wgsl_kernels.ops.shapes import shape
from wgsl_kernels.ops.signal import transforms

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and ord is not None:
        if x.ndim not in (1, 2):
            return NotImplemented
        axis = tuple(range(x.ndim))
    return tensor_norms.norm(x, "euclidean" if ord is None else ord, axis=axis, keepdims=keepdims)


def _several(op: Callable[..., Tensor], last: tuple[int, int] | None) -> Callable[..., Any]:
    def transformed(a: Any, s: Any = None, axes: Any = last, norm: str | None = None) -> Tensor:
        return op(a, s=s, axes=axes, norm=norm or "backward")

    return transformed


def _single(op: Callable[..., Tensor]) -> Callable[..., Any]:
    def transformed(a: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Tensor:
        return op(a, n=n, axis=axis, norm=norm or "backward")

    return transformed


def _of_lower(a: Any) -> Tensor:
    """Return the Hermitian matrices with these lower triangles, all that NumPy reads."""
    return diagonals.tril(a) + complex.conj(shape.matrix_transpose(diagonals.tril(a, -1)))


def _lower_alone(op: Callable[..., Any]) -> Callable[..., Any]:
    def of_lower(a: Any, UPLO: str = "L") -> Any:  # noqa: N803  NumPy's name
        return op(_of_lower(a)) if UPLO == "L" else NotImplemented

    return of_lower


def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return NotImplemented if upper else factorizations.cholesky(_of_lower(a))


def _lstsq(a: Any, b: Any, rcond: float | None = None) -> Any:
    x1, x2 = as_tensor(a), as_tensor(b)
    if x1.ndim != 2 or x2.ndim not in (1, 2):
        return NotImplemented
    if rcond is not None and rcond < 0:
        rcond = float(np.finfo(np.float64 if x1.dtype == "float64" else np.float32).eps)
    found = least_squares.lstsq(x1, x2, rtol=rcond)
    rank, (rows, cols) = found.rank.item(), x1.shape
    residuals = shape.reshape(found.residuals, (-1,))
    is_overdetermined = rows > cols == rank
    kept = residuals if is_overdetermined else residuals[:0]
    return found.solution, kept, rank, found.singular_values


_SINGLE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")

SPACES: dict[str, dict[str, Callable[..., Any]]] = {
    "np.linalg": {
        "cholesky": _cholesky,
        "eigh": _lower_alone(factorizations.eigh),
        "eigvalsh": _lower_alone(factorizations.eigvalsh),
        "lstsq": _lstsq,
        "matrix_norm": norms.matrix_norm,
        "norm": _norm,
    },
    "np.fft": {
        **{name: _single(getattr(transforms, name)) for name in _SINGLE},
        **{f"{name}2": _several(getattr(transforms, f"{name}n"), (-2, -1)) for name in _SINGLE[:4]},
        **{f"{name}n": _several(getattr(transforms, f"{name}n"), None) for name in _SINGLE[:4]},
    },
}
"""What runs for these; all others of the two namespaces are as the array API standard has them."""
