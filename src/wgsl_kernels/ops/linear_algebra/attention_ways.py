"""Which way attention goes on webgpu: in tiles, or as products of matrices block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.ops.linear_algebra.attention_tiles import fits_tiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.ops.linear_algebra.attention_sizes import Sizes

PRODUCTS, TILES = "products", "tiles"
WAYS = (PRODUCTS, TILES)


def choose_way(
    gpu: Gpu,
    sizes: Sizes,
    arrays: Mapping[str, GpuArray],
    run: Callable[[str], object],
    *,
    causal: bool,
) -> str:
    """Return the way to go: the tuner's choice where it has measured, else the policy's."""
    if not fits_tiles(gpu, sizes, arrays):
        return PRODUCTS
    static = TILES if gpu.policy.tiles_attention(sizes.rows) else PRODUCTS
    lengths = sizes.groups, sizes.rows, sizes.length, sizes.size, sizes.value_size
    shape_class = (*map(size_class, lengths), causal)
    work = sizes.scores * (sizes.size + sizes.value_size)
    return gpu.choose(shape_class, WAYS, static, run, work)
