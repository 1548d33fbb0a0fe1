"""The gradient of attention, from the logarithm of each query's sum instead of all weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.products import matmul
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.variants import declare
from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.execution.run import run_many
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.ops.elementwise import cast
from wgsl_kernels.ops.linear_algebra.attention_blocks import (
    SCORES_ON_CPU,
    AttentionSizes,
    blocks_of,
    check_inputs,
    grouped,
    masked,
    sums_dtype,
)
from wgsl_kernels.ops.linear_algebra.attention_products import gradient_by_products
from wgsl_kernels.ops.linear_algebra.attention_scores import mask_gradient, scores_of
from wgsl_kernels.ops.linear_algebra.attention_tiles import (
    PRODUCTS,
    TILES,
    WAYS,
    by_chosen_way,
    gradient_by_tiles,
)
from wgsl_kernels.ops.linear_algebra.matrix import matmul as product
from wgsl_kernels.ops.reductions import reduce

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.autodiff.tape import Lazy
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.spec import Spec


def attention_gradients(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_sums: Tensor,
    level: Tensor,
    dy: Tensor,
    mask: Tensor | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[Lazy | None, ...]:
    """Return the gradients of Attention's inputs.

    Args:
        query: [batch, heads, steps, size].
        key: [batch, key heads, length, size].
        value: [batch, key heads, length, value size].
        log_sums: [batch, heads, steps]: the logarithm of what each query's weights are divided by.
        level: [batch, heads, steps]: what a weight's slope is relative to.
        dy: [batch, heads, steps, value size]: the upstream gradient of the means.
        mask: As Attention takes it.
        causal: As Attention takes it.
        scale: Likewise.
    """
    inputs = (query, key, value, log_sums, level, dy)
    found = run_many("AttentionGradient", *inputs, mask, causal=causal, scale=scale)
    if mask is None or mask.dtype == "bool":
        return (*found, None)
    return (*found, lambda: mask_gradient(*inputs, mask, causal=causal, scale=scale))


@signature("AttentionGradient", promote=("query", "key", "value", "dy"))
def _attention_gradient_signature(
    query: Spec,
    key: Spec,
    value: Spec,
    log_sums: Spec,
    level: Spec,
    dy: Spec,
    mask: Spec | None = None,
    /,
    *,
    causal: bool = False,
    scale: float = 1.0,
) -> dict[str, Spec]:
    del causal, scale  # any will do
    kernel = "AttentionGradient"
    check_inputs(kernel, query, key, value, mask)
    for name, one in (("log_sums", log_sums), ("level", level)):
        if one.dtype != sums_dtype(query):
            raise DTypeError(f"{kernel}: {name} has dtype {one.dtype}; want {sums_dtype(query)}.")
        if one.shape != query.shape[:3]:
            raise ShapeError(
                f"{kernel}: {name} has shape {show(one.shape)}; want {show(query.shape[:3])}, "
                "[batch, heads, steps]."
            )
    want = (*query.shape[:3], value.shape[3])
    if dy.shape != want:
        raise ShapeError(
            f"{kernel}: dy has shape {show(dy.shape)}; want {show(want)}, [batch, heads, steps, "
            "value size]."
        )
    return {"d_query": query, "d_key": key, "d_value": value}


@cpu_kernel("AttentionGradient")
@silent
def _attention_gradient_cpu(
    query: Array,
    key: Array,
    value: Array,
    log_sums: Array,
    level: Array,
    dy: Array,
    mask: Array | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[Array, Array, Array]:
    sizes = AttentionSizes.of(query.shape, key.shape, value.shape)
    wide = log_sums.dtype
    q, upstream = (grouped(one, sizes).astype(wide, copy=False) for one in (query, dy))
    sums, levels = (grouped(one, sizes)[..., None] for one in (log_sums, level))
    sums = np.where(sums == -np.inf, 0, sums)  # of a query without keys
    k, v = (
        one.reshape(sizes.groups, *one.shape[2:]).astype(wide, copy=False) for one in (key, value)
    )
    d_query, d_key, d_value = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for block in blocks_of(sizes, SCORES_ON_CPU, causal=causal) if sizes.scores else ():
        groups, rows = block.places
        keys = slice(0, block.keys)
        queries, dys = q[groups, rows] * wide.type(scale), upstream[groups, rows]
        weights = matmul(queries, np.swapaxes(k[groups, keys], -1, -2))
        weights = masked(weights, mask, sizes, block, causal=causal)
        weights -= sums[groups, rows]
        np.exp(weights, out=weights)
        slopes = matmul(dys, np.swapaxes(v[groups, keys], -1, -2))
        slopes -= levels[groups, rows]
        slopes *= weights
        d_query[groups, rows] = matmul(slopes, k[groups, keys]) * wide.type(scale)
        d_key[groups, keys] += matmul(np.swapaxes(slopes, -1, -2), queries)
        d_value[groups, keys] += matmul(np.swapaxes(weights, -1, -2), dys)
    found = ((d_query, query), (d_key, key), (d_value, value))
    dq, dk, dv = (d.reshape(x.shape).astype(x.dtype, copy=False) for d, x in found)
    return dq, dk, dv


@wgsl_kernel("AttentionGradient", dtypes=("float32", "float16", "bool"))
def _attention_gradient_webgpu(
    gpu: Gpu,
    query: GpuArray,
    key: GpuArray,
    value: GpuArray,
    log_sums: GpuArray,
    level: GpuArray,
    dy: GpuArray,
    mask: GpuArray | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[GpuArray, GpuArray, GpuArray]:
    sizes = AttentionSizes.of(query.shape, key.shape, value.shape)
    if not sizes.scores:
        dq, dk, dv = (gpu.full(one.shape, one.dtype, 0.0) for one in (query, key, value))
        return dq, dk, dv
    arrays = {"query": query, "key": key, "value": value}
    arrays |= {"log_sums": log_sums, "level": level, "dy": dy}
    ways = {PRODUCTS: gradient_by_products, TILES: gradient_by_tiles}
    return by_chosen_way(gpu, sizes, arrays, mask, ways, causal=causal, scale=scale)


declare("AttentionGradient", WAYS)


@gradient("AttentionGradient")
def _attention_gradient_grad(
    upstream: tuple[Tensor, Tensor, Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_sums: Tensor,
    level: Tensor,
    dy: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float,
) -> tuple[Lazy | None, ...]:
    # With weights p = e^(s - log_sums), slopes t = dy v^T - level and u = p t:
    #   dq = scale u k, dk = scale u^T q, dv = p^T dy
    # For upstream gradients gq, gk, gv: du = scale (gq k^T + q gk^T), dp = t du + dy gv^T,
    # dt = p du, and of the scores ds = p dp.
    inputs = (query, key, value, log_sums, level, dy, mask)
    given = scores_of(*inputs, causal=causal, scale=scale)
    q, k, v, weights, slopes = given.query, given.key, given.value, given.weights, given.slopes
    gq, gk, gv = (
        cast.astype(g, weights.dtype, copy=False).reshape(like.shape)
        for g, like in zip(upstream, (q, k, v), strict=True)
    )
    of_products = (product(gq, k, transpose_b=True) + product(q, gk, transpose_b=True)) * scale
    of_slopes = weights * of_products
    of_scores = slopes * of_slopes + weights * product(given.dy, gv, transpose_b=True)
    products = weights * slopes

    def like(x: Tensor, found: Tensor) -> Tensor:
        return cast.astype(found.reshape(x.shape), x.dtype, copy=False)

    return (
        lambda: like(query, (product(of_scores, k) + product(products, gk)) * scale),
        lambda: like(
            key,
            (product(of_scores, q, transpose_a=True) + product(products, gq, transpose_a=True))
            * scale,
        ),
        lambda: like(value, product(of_slopes, given.dy, transpose_a=True)),
        lambda: like(log_sums, -reduce.sum(of_scores, axis=-1)),
        lambda: like(level, -reduce.sum(of_slopes, axis=-1)),
        lambda: like(dy, product(of_slopes, v) + product(weights, gv)),
        None if mask is None or mask.dtype == "bool" else lambda: given.of_mask(of_scores, mask),
    )
