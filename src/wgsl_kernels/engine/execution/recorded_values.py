"""Tensors made of tensors that a tape watches: by kernels, so that their gradients go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.execution.execute import run_tensors
from wgsl_kernels.engine.execution.host_tensors import of_host
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.tensors.watched_reads import is_watched
from wgsl_kernels.engine.values.dtypes import OBJECTS, WIDE, canonical, numpy_dtype
from wgsl_kernels.engine.values.host import default_dtype
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape


_DEEPEST = 64
"""Lists within lists that NumPy reads: deeper ones, and those that hold themselves, it refuses."""


def any_watched(values: Any, depth: int = 0) -> bool:
    """Say whether a tape of this thread or task watches ``values`` or a tensor in these lists."""
    if isinstance(values, Tensor):
        return is_watched(values)
    if not isinstance(values, (list, tuple)) or depth > _DEEPEST:
        return False
    return any(any_watched(one, depth + 1) for one in values)


def of_watched(values: Any, shape: Shape | None, dtype: Any) -> Tensor:
    """Return a new tensor of tensors, or of nested lists with tensors in them.

    Raises:
        ShapeError: The lists are ragged, or do not fill ``shape``.
    """
    parts = _leaves(values)
    wanted = _dtype_of(parts) if dtype is None else canonical(dtype)
    if context.current().double:
        wanted = WIDE.get(wanted, wanted)
    whole: Any = _packed(values, wanted)
    if shape is None or tuple(shape) == whole.shape:
        found: Tensor = whole
        return found
    if not whole.shape:
        return run_tensors("BroadcastTo", whole, shape=shape)
    return run_tensors("Reshape", whole, shape=shape)


def _leaves(values: Any) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        return [values]
    return [one for part in values for one in _leaves(part)]


def _dtype_of(leaves: list[Any]) -> DType:
    if len(leaves) == 1 and isinstance(leaves[0], Tensor):
        return leaves[0].spec.dtype
    kinds = [
        numpy_dtype(one.spec.dtype if isinstance(one, Tensor) else default_dtype(np.asarray(one)))
        for one in leaves
    ]
    return default_dtype(np.empty(0, np.result_type(*kinds)))


def _packed(values: Any, dtype: DType) -> Tensor:
    if isinstance(values, Tensor):
        return (
            run_tensors("Identity", values)
            if values.spec.dtype == dtype
            else run_tensors("Cast", values, dtype=dtype)
        )
    if not any_watched(values):
        return of_host(values, None, OBJECTS[dtype])
    parts = [_packed(one, dtype) for one in values]
    shapes = dict.fromkeys(one.shape for one in parts)
    if len(shapes) > 1:
        said = " and ".join(map(show, list(shapes)[:2]))
        raise ShapeError(f"tensor: the values make no array: its parts have shapes {said}.")
    return run_tensors("Pack", parts, axis=0)
