"""Tensors of what a user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.host_tensors import of_host
from wgsl_kernels.engine.execution.recorded_values import any_watched, of_watched
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.dtypes import canonical
from wgsl_kernels.engine.values.host import as_array
from wgsl_kernels.engine.values.shapes import lengths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.dtypes import DTypeLike


@public(tfjs="tensor scalar tensor1d tensor2d tensor3d tensor4d tensor5d tensor6d")
def tensor(
    values: TensorLike,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """Return a new tensor with a copy of ``values``.

    Where a tape watches ``values``, or a tensor in these lists, the copy is made on the device and
    gradients go on through it; `variable` makes a leaf, where they end.

    Args:
        values: A scalar, nested lists, an array, or a tensor.
        shape: The tensor's shape where it differs from that of ``values``; a scalar fills it.
        dtype: Without it Python and NumPy floats become float32, integers int32, but for NumPy's
            int8 and uint8, and bool, str and complex values bool, string and complex64. What the
            backend lacks, as float64 all but ``cpu``, lives on ``cpu``, and so does what is
            computed of it.
        device: The backend that it is on; without one the backend in force.

    Raises:
        ShapeError: ``values`` are ragged or do not fill ``shape``.
        DTypeError: No tensor can have this dtype; or the backend cannot, and ``config.fallback``
            is "error".
        ArgumentError: An integer does not fit the dtype, or no backend has that name.
    """
    if device is not None:
        with use_backend(device):
            return tensor(values, shape, dtype)
    wanted = None if shape is None else lengths("tensor", "shape", shape)
    if context.current().interceptors and any_watched(values):
        return of_watched(values, wanted, dtype)
    return of_host(values, wanted, dtype)


def as_tensor(value: TensorLike, dtype: Any = None) -> Tensor:
    """Return ``value`` itself where it is a tensor, else a new tensor of it.

    Raises:
        DTypeError: It is a tensor of another dtype than ``dtype``.
    """
    if not isinstance(value, Tensor):
        return tensor(value, dtype=dtype)
    if dtype is not None and value.dtype != canonical(dtype):
        raise DTypeError(f"tensor has dtype {value.dtype}; want {canonical(dtype)}. Cast it first.")
    return value


def as_floats(value: TensorLike) -> Tensor:
    """Return ``value`` itself where it is a tensor, else a new one, of floats for integers."""
    if isinstance(value, Tensor):
        return value
    given = as_array(value)
    return tensor(given, dtype="float32" if given.dtype.kind in "biu" else None)
