"""What functions of matrices share: their checks, adjoints, diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.values.dtypes import is_exact
from wgsl_kernels.engine.values.shapes import broadcast_shapes, require_dtype, show
from wgsl_kernels.ops.elementwise import cast, complex, logical
from wgsl_kernels.ops.linear_algebra import diagonals
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec


def as_matrices(op: str, x: TensorLike) -> Tensor:
    """Return ``x`` as a tensor of floats.

    Raises:
        ShapeError: It has fewer than two axes.
    """
    given = as_tensor(x)
    if given.ndim < 2:
        raise ShapeError(f"{op}: x has shape {show(given.shape)}; want [..., rows, cols].")
    return cast.astype(given, "float32") if is_exact(given.dtype) else given


def require_square(kernel: str, name: str, spec: Spec) -> None:
    """Refuse what is no stack of square matrices of floats.

    Raises:
        DTypeError: The dtype is another.
        ShapeError: The matrices are not square.
    """
    require_dtype(kernel, name, spec, "float32", "complex64")
    if spec.ndim < 2 or spec.shape[-1] != spec.shape[-2]:
        raise ShapeError(f"{kernel}: {name} has shape {show(spec.shape)}; want [..., n, n].")


def shared_batch(kernel: str, a: Spec, b: Spec) -> Shape:
    """Return the axes before the matrices of two inputs, broadcast.

    Raises:
        ShapeError: They do not broadcast.
    """
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if batch is None:
        raise ShapeError(
            f"{kernel}: the axes before the matrices do not broadcast: a is {show(a.shape)}, b "
            f"is {show(b.shape)}."
        )
    return batch


def real_parts(spec: Spec) -> Spec:
    """Return the spec of the real parts of such a tensor."""
    narrow = {"complex64": "float32", "complex128": "float64"}
    return spec.like(dtype=narrow.get(spec.dtype, spec.dtype))


def adjoint(x: Tensor) -> Tensor:
    """Return the conjugate transposes of matrices."""
    return complex.conj(shapes.matrix_transpose(x))


def on_diagonal(x: Tensor) -> Tensor:
    """Return square matrices with 0 beside their main diagonal."""
    return diagonals.band_part(x, 0, 0)


def between_columns(x: Tensor) -> Tensor:
    """Return ``1 / (x[j] - x[i])`` at row i and column j, and 0 on the diagonal."""
    gap = shapes.expand_dims(x, axis=-2) - shapes.expand_dims(x, axis=-1)
    same = cast.astype(creation.eye(x.shape[-1]), "bool")
    return logical.where(same, 0.0, 1.0 / logical.where(same, 1.0, gap))
