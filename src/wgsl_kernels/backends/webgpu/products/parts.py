"""Products of which an operand or the result is above the binding limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.backends.webgpu.control.parts import (
    added,
    excess,
    excess_of,
    joined,
    part_of,
    parts_of,
)
from wgsl_kernels.backends.webgpu.products.dispatching import sum_of_parts
from wgsl_kernels.engine.environment.errors import OutOfMemoryError
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.spec import Shape


class ProductCut(NamedTuple):
    """Which axes a product is cut along, counted from the last; None where one is taken whole.

    Attributes:
        y: That of the result; None where parts are added.
    """

    a: int | None
    b: int | None
    y: int | None


def is_above_limit(gpu: Gpu, shape: Shape, a: GpuArray, b: GpuArray) -> bool:
    """Say whether a product of a shape cannot bind what it needs at once."""
    return excess(gpu, a, b) > 1 or excess_of(gpu, shape, ITEMSIZE[a.dtype]) > 1


def in_parts(
    gpu: Gpu,
    product: Callable[[GpuArray, GpuArray], GpuArray],
    a: GpuArray,
    b: GpuArray,
    shape: Shape,
    cut: ProductCut,
) -> GpuArray:
    """Return a product of a shape from products of parts.

    ``product`` multiplies parts, maybe in parts again.

    Raises:
        OutOfMemoryError: There is nothing to cut there, or no room for the result.
    """
    gpu.check_room(shape, a.dtype)
    length = b.shape[cut.b] if cut.a is None and cut.b is not None else a.shape[cut.a or 0]
    if cut.y is not None:
        length = shape[cut.y]
    if length < 2:
        raise OutOfMemoryError(
            f"asked for a product of {show(a.shape)} and {show(b.shape)}.\n"
            f"The device binds at most {gpu.device.largest_binding} bytes at once "
            "(max-storage-buffer-binding-size). Split the tensor."
        )
    dtype, is_summed = a.dtype, cut.y is None
    least = max(excess(gpu, a, b), excess_of(gpu, shape, ITEMSIZE[dtype]))
    found: list[GpuArray] = []
    for one in parts_of(length, least):
        left = _operand(gpu, a, cut.a, one, is_summed)
        right = _operand(gpu, b, cut.b, one, is_summed)
        found.append(product(left, right))
    if cut.y is not None:
        return joined(gpu, found, cut.y)
    total = added(gpu, found)
    if total.dtype == dtype:
        return total
    return sum_of_parts(gpu, total, gpu.empty(shape, dtype), 1)


def _operand(
    gpu: Gpu, x: GpuArray, axis: int | None, part: tuple[int, int], is_summed: bool
) -> GpuArray:
    """Return a part of an operand, wide enough for sums of several to be rounded once."""
    found = x if axis is None else part_of(gpu, x, axis, *part)
    if is_summed and x.dtype == "float16":
        return gpu.map("elementwise/cast/to_real.wgsl", {"x": found}, found.shape, "float32")
    return found
