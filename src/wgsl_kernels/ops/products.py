"""How the WGSL products (``shaders/include/product.wgsl``) are launched: tiles, parts, grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.array import GpuArray
    from wgsl_kernels.backends.webgpu.gpu import Gpu
    from wgsl_kernels.engine.dtypes import DType
    from wgsl_kernels.engine.spec import Shape

ITERATIONS = 60_000
"""Loop iterations of one invocation; some drivers stop silently after 65,535."""

GROUPS_WANTED = 64
"""Workgroups that keep a device busy: a small product with a long sum is split to reach them."""

SHORTEST_SUM = 256
"""Terms that a part sums at least, where it is split for that reason."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """What a shader covers.

    Attributes:
        suffix: What its file's name ends with.
        rows: Rows that a workgroup sums.
        cols: Columns that it sums.
        depth: Channels that it sums at a time.
        iterations: Loop iterations that each time takes.
    """

    suffix: str
    rows: int
    cols: int
    depth: int
    iterations: int

    def iterations_of(self, channels: int) -> int:
        """Return the loop iterations of one tap of ``channels``."""
        return math.ceil(channels / self.depth) * self.iterations + 1


REGISTERS = Tiling("", rows=32, cols=64, depth=1, iterations=1)
VEC4 = Tiling("_vec4", rows=32, cols=64, depth=4, iterations=1)
VEC4_ROWS = Tiling("_vec4_rows", rows=32, cols=64, depth=1, iterations=1)
STAGED = Tiling("_staged", rows=64, cols=64, depth=16, iterations=17)


@dataclass(frozen=True, slots=True)
class Product:
    """A product's sizes, and how its sum is cut.

    Attributes:
        batches: Products of the same sizes.
        rows: Rows of the result.
        cols: Columns of the result.
        taps: The sum's outer length.
        channels: Its inner length.
        tap_block: Taps that one part sums.
        channel_block: Channels that one part sums of each tap.
    """

    batches: int
    rows: int
    cols: int
    taps: int
    channels: int
    tap_block: int = 0
    channel_block: int = 0

    @property
    def terms(self) -> int:
        """How many products one result sums."""
        return self.taps * self.channels

    @property
    def parts(self) -> int:
        """How many sums each result is made of."""
        return math.ceil(self.taps / self.tap_block) * math.ceil(self.channels / self.channel_block)

    def groups(self, tiling: Tiling) -> int:
        """Return the workgroups that cover every result once."""
        tiles = math.ceil(self.rows / tiling.rows) * math.ceil(self.cols / tiling.cols)
        return self.batches * tiles

    def cut(self, tiling: Tiling) -> Product:
        """Return the product with its sum cut so that no invocation loops too long."""
        wanted = math.ceil(GROUPS_WANTED / self.groups(tiling))
        longest = max(math.ceil(self.terms / wanted), SHORTEST_SUM)
        times = math.ceil(min(longest, ITERATIONS // 2) / tiling.depth)
        channel_block = min(self.channels, times * tiling.depth)
        most = ITERATIONS // tiling.iterations_of(channel_block)
        tap_block = max(min(longest // channel_block, most, self.taps), 1)
        return replace(self, tap_block=tap_block, channel_block=channel_block)

    def fields(self) -> dict[str, int]:
        """Return the fields that shaders name."""
        names = ("batches", "rows", "cols", "taps", "channels", "tap_block", "channel_block")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Shaders:
    """The shaders of a product.

    Attributes:
        whole: Sums all in one part; with ``_staged`` before its ending, for GPUs.
        last: Sums the parts of a sum that was cut.
        parts: Writes these parts, where it is not ``whole`` that does.
        has_staged: Whether there are variants for GPUs.
    """

    whole: str
    last: str
    parts: str = ""
    has_staged: bool = True


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
    in_fours: Tiling = REGISTERS,
) -> GpuArray:
    """Return a product as a new array.

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
        in_fours: The tiling for adapters that are CPUs, where the operands' layout allows more.
    """
    y = gpu.empty(shape, dtype)
    size = math.prod(shape)
    if size == 0:
        return y
    after = dict(epilogue or {})
    sums: DType = "int32" if dtype == "int32" else "float32"
    if product.terms == 0:
        nothing = gpu.empty((0,), sums)
        ends = {"parts_count": 0, **(last_params or {})}
        gpu.dispatch(shaders.last, {**after, "parts": nothing, "y": y}, params=ends)
        return y
    tiling = in_fours if gpu.is_software or not shaders.has_staged else STAGED
    cut = product.cut(tiling)
    fields = {**params, **cut.fields(), "part_size": size}
    grid = gpu.grid(cut.groups(tiling) * cut.parts, 1)
    if cut.parts == 1:
        shader = shaders.whole.replace(".wgsl", f"{tiling.suffix}.wgsl")
        gpu.dispatch(shader, {**operands, **after, "y": y}, params=fields, groups=grid)
        return y
    parts = gpu.empty((cut.parts, *shape), sums)
    shader = (shaders.parts or shaders.whole).replace(".wgsl", f"{tiling.suffix}.wgsl")
    gpu.dispatch(shader, {**operands, "y": parts}, params=fields, groups=grid)
    ends = {"parts_count": cut.parts, **(last_params or {})}
    gpu.dispatch(shaders.last, {**after, "parts": parts, "y": y}, params=ends)
    return y


def lie_in_fours(x: GpuArray, along: int) -> bool:
    """Say whether the elements along an axis are next to each other, in whole groups of four."""
    along %= len(x.shape)
    steps = [
        step
        for axis, (length, step) in enumerate(zip(x.shape, x.strides, strict=True))
        if length != 1 and axis != along
    ]
    return x.strides[along] == 1 and not any(n % 4 for n in (*steps, x.shape[along], x.offset))
