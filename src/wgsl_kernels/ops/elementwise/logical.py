"""Logic of bools, and the choice between two tensors, elementwise, with broadcasting."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import select
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.engine.registry.facts import exact
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.host import weak_dtype
from wgsl_kernels.engine.values.shapes import broadcast, require_dtype
from wgsl_kernels.ops.rules.elementwise import elementwise
from wgsl_kernels.ops.rules.specs import NUMBERS

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.spec import Shape, Spec

BECAUSE = "its output is of bools"
_logical = functools.partial(
    elementwise, because=BECAUSE, takes=("bool",), promote=False, exact=NUMBERS
)


@public(numpy="logical_and", tfjs="logicalAnd", method=True)
@_logical("LogicalAnd", "elementwise/logical/logical_and.wgsl", cpu=np.logical_and)
def logical_and(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a`` and ``b`` hold, both of bools.

    Example:
        >>> wk.logical_and([True, True], [True, False]).tolist()
        [True, False]
    """
    return run("LogicalAnd", a, b)


@public(numpy="logical_not", tfjs="logicalNot", method=True)
@_logical("LogicalNot", "elementwise/logical/logical_not.wgsl", cpu=np.logical_not)
def logical_not(x: TensorLike) -> Tensor:
    """Return whether ``x``, of bools, does not hold.

    Example:
        >>> wk.logical_not([True, False]).tolist()
        [False, True]
    """
    return run("LogicalNot", x)


@public(numpy="logical_or", tfjs="logicalOr", method=True)
@_logical("LogicalOr", "elementwise/logical/logical_or.wgsl", cpu=np.logical_or)
def logical_or(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a`` or ``b`` or both hold, both of bools.

    Example:
        >>> wk.logical_or([False, True], [False, False]).tolist()
        [False, True]
    """
    return run("LogicalOr", a, b)


@public(numpy="logical_xor", tfjs="logicalXor", method=True)
@_logical("LogicalXor", "elementwise/logical/logical_xor.wgsl", cpu=np.logical_xor)
def logical_xor(a: TensorLike, b: TensorLike) -> Tensor:
    """Return whether ``a`` or ``b`` but not both hold, both of bools.

    Example:
        >>> wk.logical_xor([True, True], [True, False]).tolist()
        [False, True]
    """
    return run("LogicalXor", a, b)


@public(numpy="where", tfjs="where")
def where(condition: TensorLike, x1: TensorLike, x2: TensorLike) -> Tensor:
    """Return ``x1`` where ``condition`` holds, else ``x2``; all three broadcast.

    Args:
        condition: Bools.
        x1: Any dtype.
        x2: Any dtype; the result has the common one.

    Example:
        >>> where(tensor([True, False]), tensor([1.0, 2.0]), 0.0).numpy()
        array([1., 0.], dtype=float32)
    """
    if isinstance(condition, bool):  # beside a tensor it would take the dtype of that
        condition = as_tensor(condition, "bool")
    return run("Select", condition, _beside(x1, x2), _beside(x2, x1))


def _beside(value: TensorLike, other: TensorLike) -> TensorLike:
    """Return a Python scalar as a tensor of the dtype of ``other``, if that is a tensor."""
    if isinstance(value, bool | int | float | complex) and isinstance(other, Tensor):
        return as_tensor(value, weak_dtype(value, other.dtype))
    return value


@signature("Select", promote=("t", "e"))
@exact(*NUMBERS)
def _select_signature(condition: Spec, t: Spec, e: Spec, /) -> Spec:
    require_dtype("Select", "condition", condition, "bool")
    return t.like(shape=broadcast("Select", condition=condition, t=t, e=e))


@cpu_kernel("Select")
def _select_cpu(condition: Array, t: Array, e: Array) -> Array:
    return select(condition, t, e)


wgsl_kernel("Select", "elementwise/logical/select.wgsl")


@gradient("Select")
def _select_grad(
    dy: Tensor, condition: Tensor, t_shape: Shape, e_shape: Shape
) -> tuple[None, Tensor, Tensor]:
    dt, de = where(condition, dy, 0.0), where(condition, 0.0, dy)
    return None, unbroadcast(dt, t_shape), unbroadcast(de, e_shape)
