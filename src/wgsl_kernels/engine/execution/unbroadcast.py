"""The gradient of broadcasting: summed over the axes along which there was one element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.shapes import broadcast_shapes, lengths, show
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.spec import Shape


def unbroadcast(dy: Tensor, shape: Shape) -> Tensor:
    """Return ``dy`` summed over the axes along which ``shape`` was broadcast to dy's shape."""
    if not isinstance(dy, Tensor):
        raise ArgumentError(f"unbroadcast: dy is {shown(dy)}; want a tensor.")
    if type(shape) is tuple and dy.shape == shape:
        return dy
    shape = lengths("unbroadcast", "shape", shape)
    if broadcast_shapes(shape, dy.shape) != dy.shape:
        raise ShapeError(
            f"unbroadcast: dy has shape {show(dy.shape)}, to which {show(shape)} does not "
            "broadcast."
        )
    extra = dy.ndim - len(shape)
    axes = tuple(
        axis
        for axis in range(dy.ndim)
        if axis < extra or (shape[axis - extra] == 1 and dy.shape[axis] != 1)
    )
    total = run("Sum", dy, axis=axes, keep_dims=False) if axes else dy
    return total if total.shape == shape else run("Reshape", total, shape=shape)
