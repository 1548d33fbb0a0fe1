"""Attention on webgpu in tiles, whose scores are in workgroup memory alone, and when it is so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.backends.webgpu.arrays.array import row_major
from wgsl_kernels.backends.webgpu.control.parts import excess
from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.backends.webgpu.products.dispatching import is_vec4_along
from wgsl_kernels.ops.linear_algebra.attention_products import flags_of, mask_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.ops.linear_algebra.attention_blocks import AttentionSizes

Results = TypeVar("Results")

PRODUCTS, TILES = "products", "tiles"
WAYS = (PRODUCTS, TILES)
_TILE = 32  # rows, keys and columns of a tile, as in attention/tiles.wesl
_WIDEST = 4 * _TILE
_EVEN = 64
"""Elements that where an array's second part begins is a multiple of, so that vectors are whole."""


def _fits_tiles(gpu: Gpu, sizes: AttentionSizes, arrays: Sequence[GpuArray]) -> bool:
    """Say whether tiles can be taken.

    An invocation's sums have to fit into registers, and each array into a binding.
    """
    shortest, longest = sorted((sizes.size, sizes.value_size))
    return 0 < shortest <= longest <= _WIDEST and excess(gpu, *arrays) == 1


def attention_by_tiles(
    gpu: Gpu,
    sizes: AttentionSizes,
    arrays: Mapping[str, GpuArray],
    mask: GpuArray | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[GpuArray, GpuArray]:
    """Return what `attention_by_products` does."""
    query = arrays["query"]
    y = gpu.empty((*query.shape[:3], sizes.value_size), query.dtype)
    log_sums = gpu.empty(query.shape[:3], "float32")
    flags = {"BLOCKS": _blocks(sizes.value_size)}
    shader = "linear_algebra/attention/attention.wesl"
    results = {"y": y, "log_sums": log_sums}
    _dispatch(gpu, shader, sizes, arrays, mask, results, sizes.rows, flags, causal, scale)
    return y, log_sums


def gradient_by_tiles(
    gpu: Gpu,
    sizes: AttentionSizes,
    arrays: Mapping[str, GpuArray],
    mask: GpuArray | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[GpuArray, GpuArray, GpuArray]:
    """Return what `gradient_by_products` does."""
    query, key, value = (arrays[name] for name in ("query", "key", "value"))
    d_query = gpu.empty(query.shape, query.dtype)
    values_from = -(-key.size // _EVEN) * _EVEN
    d_keys = gpu.empty((values_from + value.size,), key.dtype)
    folder = "linear_algebra/attention_gradient/"
    flags = {"GRADIENT": True, "BLOCKS": _blocks(sizes.size)}
    results = {"d_query": d_query}
    shader = folder + "of_query.wesl"
    _dispatch(gpu, shader, sizes, arrays, mask, results, sizes.rows, flags, causal, scale)
    blocks = {"KEY_BLOCKS": _blocks(sizes.size), "VALUE_BLOCKS": _blocks(sizes.value_size)}
    flags = {"GRADIENT": True, **blocks}
    results, shader = {"d_keys": d_keys}, folder + "of_keys.wesl"
    fields = {"values_from": values_from}
    _dispatch(gpu, shader, sizes, arrays, mask, results, sizes.length, flags, causal, scale, fields)
    d_key = gpu.view(d_keys, key.shape, row_major(key.shape), 0)
    return d_query, d_key, gpu.view(d_keys, value.shape, row_major(value.shape), values_from)


def _blocks(size: int) -> int:
    """Return how many blocks of 32 columns hold so many: 1, 2 or 4."""
    return 1 << max(math.ceil(size / _TILE) - 1, 0).bit_length()


def _dispatch(
    gpu: Gpu,
    shader: str,
    sizes: AttentionSizes,
    arrays: Mapping[str, GpuArray],
    mask: GpuArray | None,
    results: Mapping[str, GpuArray],
    lines: int,
    flags: Mapping[str, bool | int],
    causal: bool,
    scale: float,
    fields: Mapping[str, int] | None = None,
) -> None:
    """Dispatch a shader with a workgroup for each tile of so many lines of each group."""
    vectors = [arrays[name] for name in ("query", "key", "value", "dy") if name in arrays]
    given: dict[str, GpuArray] = {**arrays, **results}
    params: dict[str, Any] = {
        "groups": sizes.groups,
        "key_heads": sizes.key_heads,
        "sharing": sizes.sharing,
        "steps": sizes.steps,
        "rows": sizes.rows,
        "length": sizes.length,
        "size": sizes.size,
        "value_size": sizes.value_size,
        "scale": scale,
        "values_from": 0,
        **(fields or {}),
    }
    absent = [name for name in ("dy", "mask") if name not in arrays]
    if mask is not None:
        given["mask"] = mask_view(gpu, mask, sizes)
        absent.remove("mask")
    for name in absent:
        params |= {f"{name}_strides": (0, 0, 0, 0), f"{name}_offset": 0}
    gpu.dispatch(
        shader,
        given,
        configuration={
            **flags,
            "VEC4": all(is_vec4_along(one, -1) for one in vectors),
            **flags_of(mask, causal=causal),
        },
        params=params,
        groups=gpu.grid(sizes.groups * math.ceil(lines / _TILE), 1),
    )


def by_chosen_way(
    gpu: Gpu,
    sizes: AttentionSizes,
    arrays: Mapping[str, GpuArray],
    mask: GpuArray | None,
    ways: Mapping[str, Callable[..., Results]],
    *,
    causal: bool,
    scale: float,
) -> Results:
    """Return what one of the ways gives: the tuner's choice where it has measured, or the policy's.

    Args:
        gpu: The device.
        sizes: The sizes, of which none that makes up scores is 0.
        arrays: What each way takes besides the mask.
        mask: As the kernel takes it.
        ways: Those of `WAYS`.
        causal: As the kernel takes it.
        scale: Likewise.
    """

    def run(name: str) -> Results:
        return ways[name](gpu, sizes, arrays, mask, causal=causal, scale=scale)

    bound = [*arrays.values()] if mask is None else [*arrays.values(), mask]
    if not _fits_tiles(gpu, sizes, bound):
        return run(PRODUCTS)
    static = TILES if gpu.policy.tiles_attention(sizes.rows) else PRODUCTS
    lengths = sizes.groups, sizes.rows, sizes.length, sizes.size, sizes.value_size
    shape_class = (*map(size_class, lengths), causal)
    work = sizes.scores * (sizes.size + sizes.value_size)
    return run(gpu.choose(shape_class, WAYS, static, run, work))
