"""How the WGSL products (``shaders/include/product.wgsl``) are launched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.variants import declare
from wgsl_kernels.ops.tilings import ANYHOW, VARIANTS, Layout, Product, Ways, ways_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.dtypes import DType
    from wgsl_kernels.engine.spec import Shape


def declare_product(kernel: str) -> None:
    """Declare the variants that every kernel made of a product has."""
    declare(kernel, VARIANTS)


@dataclass(frozen=True, slots=True)
class Shaders:
    """The shaders of a product.

    Attributes:
        whole: Sums all in one part; a path that wants a suffix and the ending.
        last: Sums the parts of a sum that was cut.
        parts: Writes these parts, where it is not ``whole`` that does; a path like it.
    """

    whole: str
    last: str
    parts: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One dispatch of a way, but for the arrays."""

    shader: str
    params: Mapping[str, Any]
    groups: tuple[int, int, int]
    constants: Mapping[str, float]


@dataclass(frozen=True, eq=False, slots=True)
class Job:
    """A product with all that does not change while its operands' layouts stay.

    Attributes:
        ways: How it can be summed.
        shape_class: What a choice among them holds for.
        steps: The dispatch of each way that ran, without the one that adds parts.
    """

    ways: Ways
    shape_class: tuple[object, ...]
    steps: dict[str, Step]


Memo = dict[tuple[object, ...], Job]
"""Jobs for operands that lie in one way, by what else they depend on."""


def multiply(
    gpu: Gpu,
    shaders: Shaders,
    product: Product,
    operands: Mapping[str, GpuArray],
    shape: Shape,
    dtype: DType,
    *,
    params: Mapping[str, Any],
    epilogue: Mapping[str, GpuArray] | None = None,
    last_params: Mapping[str, Any] | None = None,
    last_constants: Mapping[str, float] | None = None,
    layout: Layout = ANYHOW,
    memo: Memo | None = None,
) -> GpuArray:
    """Return a product as a new array.

    The kernel must be one that may promise ``gpu.repeats()``: nothing but its attributes and how
    its inputs lie decides about the arguments.

    Args:
        gpu: The device.
        shaders: What runs.
        product: The sizes.
        operands: The arrays that the product reads, by binding.
        shape: The result's shape; so is ``dtype``.
        dtype: The result's dtype.
        params: Fields of the shaders' uniform struct.
        epilogue: Arrays that only ``whole`` and ``last`` read.
        last_params: Fields of ``last``.
        last_constants: Overrides that only ``whole`` and ``last`` have.
        layout: What the operands' layout allows.
        memo: Where to keep what was found out for operands that lie like these, if nothing but
            they and ``shaders`` and ``dtype`` decides about the other arguments.
    """
    size = math.prod(shape)
    after = epilogue or {}
    ends = last_params or {}
    sums: DType = "int32" if dtype == "int32" else "float32"
    if size == 0:
        return gpu.empty(shape, dtype)
    if product.terms == 0:
        y = gpu.empty(shape, dtype)
        arrays = {**after, "parts": gpu.empty((0,), sums), "y": y}
        gpu.dispatch(
            shaders.last, arrays, params={"parts_count": 0, **ends}, constants=last_constants
        )
        return y
    gpu.repeats()
    policy = gpu.policy
    key = (shaders.whole, dtype, policy)
    job = None if memo is None else memo.get(key)
    if job is None:
        ways = ways_of(product, layout, policy)
        job = Job(ways, (dtype, *ways.shape_class), {})
        if memo is not None:
            memo[key] = job

    def step_of(name: str) -> Step:
        way = job.ways.launches[name]
        is_whole = way.parts == 1
        stem = shaders.whole if is_whole else shaders.parts or shaders.whole
        return job.steps.setdefault(
            name,
            Step(
                f"{stem}{way.suffix}.wgsl",
                {**params, **way.fields, "part_size": size},
                gpu.grid(way.groups, 1),
                {**way.constants, **((last_constants or {}) if is_whole else {})},
            ),
        )

    def run(name: str) -> GpuArray:
        step = job.steps.get(name) or step_of(name)
        parts = job.ways.launches[name].parts
        y = gpu.empty(shape, dtype)
        to = y if parts == 1 else gpu.empty((parts, *shape), sums)
        gpu.dispatch(
            step.shader,
            {**operands, **(after if parts == 1 else {}), "y": to},
            params=step.params,
            groups=step.groups,
            constants=step.constants,
            key=None if memo is None else step,
        )
        if parts > 1:
            gpu.dispatch(
                shaders.last,
                {**after, "parts": to, "y": y},
                params={"parts_count": parts, **ends},
                constants=last_constants,
            )
        return y

    ways = job.ways
    return run(gpu.choose(job.shape_class, ways.names, ways.static, run, product.work))


def lie_in_fours(x: GpuArray, along: int) -> bool:
    """Say whether the elements along an axis are next to each other, in whole groups of four."""
    return are_fours(x.shape, x.strides, x.offset, along)


def are_fours(shape: Shape, strides: Shape, offset: int, along: int) -> bool:
    """Say the same of a layout."""
    if strides[along] != 1 or shape[along] % 4 or offset % 4:
        return False
    along %= len(shape)
    return not any(
        length != 1 and step % 4 and axis != along
        for axis, (length, step) in enumerate(zip(shape, strides, strict=True))
    )
