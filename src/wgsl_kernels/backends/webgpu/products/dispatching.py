"""How products (``shaders/templates/product.wesl``) are dispatched."""

from __future__ import annotations

import math
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.backends.webgpu.arrays.array import ITEMSIZE
from wgsl_kernels.backends.webgpu.control.parts import (
    added,
    excess,
    excess_of,
    joined,
    part_of,
    parts_of,
)
from wgsl_kernels.backends.webgpu.declare.variants import declare
from wgsl_kernels.backends.webgpu.products.tilings import (
    STRIDED,
    VARIANTS,
    Product,
    Vec4Axes,
    candidates_for,
)
from wgsl_kernels.engine.environment.errors import OutOfMemoryError
from wgsl_kernels.engine.values.shapes import show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.values.dtypes import DType
    from wgsl_kernels.engine.values.spec import Shape
    from wgsl_kernels.wgsl.syntax.places import Text


SUM_OF_PARTS = "lowering/sum_parts.wesl"


def declare_product(kernel: str) -> None:
    """Declare the variants that every kernel made of a product has."""
    declare(kernel, VARIANTS)


NO_CONFIGURATION: Mapping[str, bool | int] = MappingProxyType({})


def multiply(
    gpu: Gpu,
    operands: str | Text,
    product: Product,
    arrays: Mapping[str, GpuArray],
    shape: Shape,
    dtype: DType,
    *,
    params: Mapping[str, Any],
    layout: Vec4Axes = STRIDED,
    configuration: Mapping[str, bool | int] = NO_CONFIGURATION,
    of_whole: Mapping[str, bool | int] = NO_CONFIGURATION,
    add: Callable[[GpuArray, GpuArray, int], GpuArray] | None = None,
    notes: Sequence[str] = (),
) -> GpuArray:
    """Return a product as a new array.

    ``operands`` is the module that says how elements are read and stored, under
    ``shaders/operands``, or its text. ``configuration`` has further constants of the templates,
    ``of_whole`` those of a dispatch that writes whole sums. ``add`` writes the sums of parts, by
    default `sum_of_parts`.
    """
    size = math.prod(shape)
    if size == 0:
        return gpu.empty(shape, dtype)
    sums: DType = "int32" if dtype == "int32" else "float32"
    added = add or partial(sum_of_parts, gpu)
    if product.terms == 0:
        return added(gpu.empty((0,), sums), gpu.empty(shape, dtype), 0)
    candidates = candidates_for(product, layout, gpu.policy)
    read = "float16" if any(one.dtype == "float16" for one in arrays.values()) else dtype
    shape_class = (read, *candidates.shape_class)
    ways = {name: one.candidate for name, one in candidates.by_name.items()}

    def run(name: str) -> GpuArray:
        one = candidates.by_name[name]
        y = gpu.empty(shape, dtype)
        is_whole = one.parts == 1
        to = y if is_whole else gpu.empty((one.parts, *shape), sums)
        gpu.dispatch(
            one.candidate.template,
            {**arrays, "y": to},
            slots=operands,
            configuration={
                **one.configuration,
                **configuration,
                **(of_whole if is_whole else NO_CONFIGURATION),
                "INTEGER": dtype == "int32",
            },
            params={**params, **one.fields, "part_size": size},
            groups=gpu.grid(one.groups, 1),
            notes=notes,
        )
        return y if is_whole else added(to, y, one.parts)

    static = candidates.static
    return run(gpu.choose(shape_class, ways, static, run, product.work, slots=operands))


def sum_of_parts(gpu: Gpu, parts: GpuArray, y: GpuArray, count: int) -> GpuArray:
    """Write to ``y`` the sum of parts, [count, ...] in float32 or int32, and return ``y``."""
    gpu.dispatch(SUM_OF_PARTS, {"parts": parts, "y": y}, params={"parts_count": count})
    return y


def is_vec4_contiguous(shape: Shape, strides: Shape, offset: int, axis: int) -> bool:
    """Say whether a view's elements along an axis are contiguous in whole groups of four."""
    if strides[axis] != 1 or shape[axis] % 4 or offset % 4:
        return False
    axis %= len(shape)
    return not any(
        length != 1 and step % 4 and other != axis
        for other, (length, step) in enumerate(zip(shape, strides, strict=True))
    )


def is_vec4_along(x: GpuArray, axis: int) -> bool:
    return is_vec4_contiguous(x.shape, x.strides, x.offset, axis)


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
