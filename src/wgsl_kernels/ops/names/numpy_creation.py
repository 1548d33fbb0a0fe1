"""NumPy's functions that make arrays like a tensor: on its backend, of a dtype that it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.tensors.committed import CommittedTensor, committed
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import tensor_dtype
from wgsl_kernels.ops.names import compositions, namespace
from wgsl_kernels.ops.shapes import creation, ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from collections.abc import Callable


def _committed_as(like: Tensor, made: Tensor) -> Tensor:
    return committed(made) if isinstance(like, CommittedTensor) else made


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | None = None,
) -> Any:
    del order, subok  # a tensor is row-major, and there is one class
    given = as_tensor(a)
    size = given.shape if shape is None else shape
    try:
        wanted = given.dtype if dtype is None else tensor_dtype(dtype)
    except DTypeError:  # such as records: no value is read for NumPy's array of them
        return np.full(size, fill_value, dtype)
    if isinstance(fill_value, Tensor) or np.ndim(fill_value) or wanted == "string":
        return NotImplemented
    made = creation.full(size, fill_value, wanted, device=device or given.backend)
    return _committed_as(given, made)


def _like(op: Callable[[Any], Tensor], fill_value: int) -> Callable[..., Any]:
    def made(a: Any, dtype: Any = None, *args: Any, **options: Any) -> Any:
        if dtype is None and options.keys() <= {"order", "subok"}:
            with use_backend(a.backend):
                return _committed_as(a, op(a))
        return _full_like(a, fill_value, dtype, *args, **options)

    return made


LIKE: dict[str, Callable[..., Any]] = {
    "empty_like": _like(compositions.empty_like, 0),
    "full_like": _full_like,
    "ones_like": _like(creation.ones_like, 1),
    "zeros_like": _like(creation.zeros_like, 0),
}
"""What runs for functions whose first argument says shape and dtype."""


def _array(
    object: Any,
    dtype: Any = None,
    order: str = "K",
    *,
    copy: bool | None = None,
    subok: bool = False,
    ndmin: int = 0,
    device: str | None = None,
) -> Tensor:
    del order, copy, subok  # a tensor never changes
    wanted = None if dtype is None else tensor_dtype(dtype)
    made = namespace.asarray(object, dtype=wanted, device=device)
    return shapes.reshape(made, (1,) * (ndmin - made.ndim) + made.shape)


def _arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: str | None = None
) -> Tensor:
    wanted = None if dtype is None else tensor_dtype(dtype)
    return ranges.arange(start, stop, step, dtype=wanted, device=device)


def _filled(fill_value: int) -> Callable[..., Tensor]:
    def made(
        shape: Any, dtype: Any = float, order: str = "C", *, device: str | None = None
    ) -> Tensor:
        del order
        return creation.full(shape, fill_value, tensor_dtype(dtype), device=device)

    return made


_LIKE_KEYWORD: dict[str, Callable[..., Tensor]] = {
    "np.arange": _arange,
    "np.array": _array,
    "np.asanyarray": _array,
    "np.asarray": _array,
    "np.empty": _filled(0),
    "np.ones": _filled(1),
    "np.zeros": _filled(0),
}


def creator(like: Tensor, name: str) -> Callable[..., Tensor] | None:
    """Return what NumPy's function ``name`` runs when it is given a tensor as ``like=``, or None.

    The result is on the backend of ``like``.
    """
    op = _LIKE_KEYWORD.get(name)
    if op is None:
        return None

    def made(*args: Any, **options: Any) -> Tensor:
        with use_backend(like.backend):
            return _committed_as(like, op(*args, **options))

    return made
