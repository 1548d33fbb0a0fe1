"""How products (``shaders/templates/product.wesl``) are dispatched."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.control.parts import part_of
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


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What becomes of a product's sums (``shaders/operands/epilogue.wesl``).

    Attributes:
        arrays: What it reads.
        configuration: Its constants.
        fields: Fields of the uniform struct.
        adds: What adds parts to the result in another way than ``sum_of_parts``.
    """

    arrays: Mapping[str, GpuArray] = field(default_factory=dict[str, "GpuArray"])
    configuration: Mapping[str, int] = field(default_factory=dict[str, int])
    fields: Mapping[str, Any] = field(default_factory=lambda: {"leakyrelu_alpha": 0.0})
    adds: Callable[[GpuArray, GpuArray, int], GpuArray] | None = None

    def part(self, gpu: Gpu, ndim: int, axis: int, first: int, count: int) -> Epilogue:
        """Return what becomes of a part of a result with so many axes: see `part_of`."""
        if not self.arrays:
            return self
        arrays = {
            name: part_of(gpu, one, axis, first, count)
            if axis == -1 or len(one.shape) == ndim
            else one
            for name, one in self.arrays.items()
        }
        return replace(self, arrays=arrays)


NO_EPILOGUE = Epilogue()
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
    epilogue: Epilogue = NO_EPILOGUE,
    configuration: Mapping[str, bool | int] = NO_CONFIGURATION,
    notes: Sequence[str] = (),
) -> GpuArray:
    """Return a product as a new array.

    Args:
        gpu: The device.
        operands: The module that says how elements are read and stored, under
            ``shaders/operands``, or its text.
        product: The sizes.
        arrays: What it reads, by binding.
        shape: The result's shape.
        dtype: The result's dtype.
        params: Fields of its uniform struct.
        layout: What the operands' layouts allow.
        epilogue: What becomes of the sums.
        configuration: Further constants of the templates.
        notes: What `explain` says of the dispatch.
    """
    size = math.prod(shape)
    if size == 0:
        return gpu.empty(shape, dtype)
    sums: DType = "int32" if dtype == "int32" else "float32"
    if product.terms == 0:
        return sum_of_parts(gpu, gpu.empty((0,), sums), gpu.empty(shape, dtype), 0, epilogue)
    candidates = candidates_for(product, layout, gpu.policy)
    shape_class = (dtype, *candidates.shape_class)
    ways = {n: (one.template, one.configuration) for n, one in candidates.by_name.items()}
    choice = gpu.product_choice(operands, shape_class, candidates.static, ways)

    def run(name: str) -> GpuArray:
        one = candidates.by_name[name]
        y = gpu.empty(shape, dtype)
        is_whole = one.parts == 1
        end, more = (epilogue.configuration, epilogue.arrays) if is_whole else ({}, {})
        to = y if is_whole else gpu.empty((one.parts, *shape), sums)
        gpu.dispatch(
            one.template,
            {**arrays, **more, "y": to},
            slots=operands,
            configuration={
                **one.configuration, **configuration, **end, "INTEGER": dtype == "int32",
            },
            params={**params, **epilogue.fields, **one.fields, "part_size": size},
            groups=gpu.grid(one.groups, 1),
            notes=notes,
        )  # fmt: skip
        return y if is_whole else sum_of_parts(gpu, to, y, one.parts, epilogue)

    return run(gpu.decide(choice, run, product.work))


def sum_of_parts(
    gpu: Gpu, parts: GpuArray, y: GpuArray, count: int, epilogue: Epilogue = NO_EPILOGUE
) -> GpuArray:
    """Write to ``y`` the sum of parts, with what becomes of it, and return ``y``.

    Args:
        gpu: The device.
        parts: [count, ...], float32 or int32.
        y: The result.
        count: How many parts there are; the sums of none are 0.
        epilogue: What becomes of the sums.
    """
    if epilogue.adds is not None:
        return epilogue.adds(parts, y, count)
    cols = y.shape[-1] if y.shape else 1
    gpu.dispatch(
        SUM_OF_PARTS,
        {**epilogue.arrays, "parts": parts, "y": y},
        params={"parts_count": count, "y_cols": cols, **epilogue.fields},
        configuration=epilogue.configuration,
    )
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
