"""How products (``shaders/templates/product.wesl``) are dispatched."""

from __future__ import annotations

import math
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.declare.variants import declare
from wgsl_kernels.backends.webgpu.products.tilings import (
    STRIDED,
    VARIANTS,
    Product,
    Vec4Axes,
    candidates_for,
)

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
