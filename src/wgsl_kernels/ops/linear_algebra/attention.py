"""Attention: means of values, weighted by how well keys fit queries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.backends.cpu.numerics import finite_max
from wgsl_kernels.backends.cpu.precision import silent
from wgsl_kernels.backends.cpu.products import matmul
from wgsl_kernels.backends.cpu.sums import total
from wgsl_kernels.backends.webgpu.declare.kernel import wgsl_kernel
from wgsl_kernels.backends.webgpu.declare.variants import declare
from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.gradients import gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.attributes import flag, number
from wgsl_kernels.engine.values.dtypes import is_float, promote
from wgsl_kernels.engine.values.shapes import broadcast_shapes, show
from wgsl_kernels.ops.elementwise import cast, logical
from wgsl_kernels.ops.linear_algebra.attention_blocks import (
    SCORES_ON_CPU,
    AttentionSizes,
    blocks_of,
    check_inputs,
    fit,
    grouped,
    masked,
    sums_dtype,
)
from wgsl_kernels.ops.linear_algebra.attention_gradient import attention_gradients
from wgsl_kernels.ops.linear_algebra.attention_products import attention_by_products
from wgsl_kernels.ops.linear_algebra.attention_tiles import (
    PRODUCTS,
    TILES,
    WAYS,
    attention_by_tiles,
    by_chosen_way,
)
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu
    from wgsl_kernels.engine.autodiff.tape import Lazy
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Shape, Spec

_OP = "scaled_dot_product_attention"


@public()
def scaled_dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    *,
    mask: TensorLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """Return ``softmax(query @ key.T * scale) @ value``, for each head.

    Args:
        query: [..., heads, steps, size], float.
        key: [..., key heads, length, size]. Each serves ``heads / key heads`` queries, which stand
            side by side.
        value: [..., key heads, length, value size].
        mask: What broadcasts to [..., heads, steps, length]: bools, True where a query may attend
            to a key, or floats that are added to the scores. A query that may attend to none gives
            zeros.
        causal: Whether a query attends only to keys that are not after it; the last query stands at
            the last key.
        scale: Of the scores; ``1 / sqrt(size)``, if left out.

    Returns:
        [..., heads, steps, value size].

    Raises:
        ShapeError: The shapes do not fit each other.
        DTypeError: ``mask`` is neither bool nor float.

    Example:
        >>> x = wk.ones((2, 4, 8))
        >>> scaled_dot_product_attention(x, x, x, causal=True).shape
        (2, 4, 8)

    Source: Vaswani et al., Attention Is All You Need, 2017; Ainslie et al., GQA: Training
    Generalized Multi-Query Transformer Models from Multi-Head Checkpoints, 2023.
    """
    q, k, v = as_floats(query), as_floats(key), as_floats(value)
    _check(q, k, v)
    allowed = None if mask is None else _mask(mask, (*q.shape[:-1], k.shape[-2]))
    factor = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else number(_OP, "scale", scale)
    if allowed is not None and allowed.dtype != "bool":
        dtype = promote(q.dtype, k.dtype, v.dtype, allowed.dtype)
        q, allowed = (run("Cast", one, dtype=dtype) for one in (q, allowed))
    attrs = {"causal": flag(_OP, "causal", causal), "scale": factor}
    four = [_reshaped(one, _in_four_axes(one.shape)) for one in (q, k, v)]
    y, _ = run_many("Attention", *four, allowed, **attrs)
    return _reshaped(y, (*q.shape[:-1], v.shape[-1]))


def both(allowed: Tensor, mask: TensorLike) -> Tensor:
    """Return a mask that lets through what two do: the first is bool, the other bool or float."""
    other = as_tensor(mask)
    if other.dtype == "bool":
        return logical.logical_and(allowed, other)
    return logical.where(allowed, other, -math.inf)


def _reshaped(x: Tensor, shape: Shape) -> Tensor:
    return x if x.shape == shape else shapes.reshape(x, shape)


def _in_four_axes(shape: Shape) -> Shape:
    return (math.prod(shape[:-3]), *shape[-3:])


def _mask(mask: TensorLike, shape: Shape) -> Tensor:
    """Return what broadcasts to ``shape`` with all axes before the last three as one."""
    given = as_tensor(mask)
    if given.dtype != "bool" and not is_float(given.dtype):
        raise DTypeError(f"{_OP}: mask has dtype {given.dtype}; want bool or a float.")
    if broadcast_shapes(given.shape, shape) != shape:
        raise ShapeError(
            f"{_OP}: mask has shape {show(given.shape)}; want what broadcasts to {show(shape)}, "
            "[..., heads, steps, length]."
        )
    own = (1,) * (len(shape) - given.ndim) + given.shape
    if math.prod(own[:-3]) != 1 and own[:-3] != shape[:-3]:
        own = (*shape[:-3], *own[-3:])
        given = shapes.broadcast_to(given, own)
    return _reshaped(given, _in_four_axes(own))


def _check(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuse queries, keys and values that do not fit each other.

    Raises:
        ShapeError: They do not.
    """
    for name, one in (("query", q), ("key", k), ("value", v)):
        if one.ndim < 3:
            raise ShapeError(
                f"{_OP}: {name} has shape {show(one.shape)}; want at least three axes, [..., "
                "heads, length, size]."
            )
    if not fit(q.shape, k.shape, v.shape):
        raise ShapeError(
            f"{_OP}: query has shape {show(q.shape)}, key {show(k.shape)}, value {show(v.shape)}; "
            "want [..., heads, steps, size], [..., key heads, length, size] and [..., key heads, "
            "length, value size], with key heads that divide heads."
        )


@signature("Attention", promote=("query", "key", "value"), floats=("query", "key", "value"))
def _attention_signature(
    query: Spec,
    key: Spec,
    value: Spec,
    mask: Spec | None = None,
    /,
    *,
    causal: bool = False,
    scale: float = 1.0,
) -> dict[str, Spec]:
    del causal, scale  # any will do
    check_inputs("Attention", query, key, value, mask)
    y = query.like(shape=(*query.shape[:3], value.shape[3]))
    return {"y": y, "log_sums": query.like(shape=query.shape[:3], dtype=sums_dtype(query))}


@cpu_kernel("Attention")
@silent
def _attention_cpu(
    query: Array, key: Array, value: Array, mask: Array | None, *, causal: bool, scale: float
) -> tuple[Array, Array]:
    sizes = AttentionSizes.of(query.shape, key.shape, value.shape)
    wide = np.dtype(np.float32) if query.dtype == np.float16 else query.dtype
    q = grouped(query, sizes)
    k, v = (one.reshape(sizes.groups, *one.shape[2:]) for one in (key, value))
    y = np.zeros((*q.shape[:2], sizes.value_size), query.dtype)
    log_sums = np.full(q.shape[:2], -np.inf, wide)
    for block in blocks_of(sizes, SCORES_ON_CPU, causal=causal) if sizes.scores else ():
        groups, rows = block.places
        keys = k[groups, : block.keys].astype(wide, copy=False)
        queries = q[groups, rows].astype(wide, copy=False) * wide.type(scale)
        scores = matmul(queries, np.swapaxes(keys, -1, -2))
        scores = masked(scores, mask, sizes, block, causal=causal)
        top = finite_max(scores, -1)
        scores -= top
        np.exp(scores, out=scores)
        sums = total(scores, (2,), keepdims=True)
        found = matmul(scores, v[groups, : block.keys].astype(wide, copy=False))
        found /= np.where(sums == 0, 1, sums)
        y[groups, rows] = found
        log_sums[groups, rows] = (top + np.log(sums))[..., 0]
    return y.reshape(*query.shape[:3], sizes.value_size), log_sums.reshape(query.shape[:3])


@wgsl_kernel("Attention", dtypes=("float32", "float16", "bool"))
def _attention_webgpu(
    gpu: Gpu,
    query: GpuArray,
    key: GpuArray,
    value: GpuArray,
    mask: GpuArray | None,
    *,
    causal: bool,
    scale: float,
) -> tuple[GpuArray, GpuArray]:
    sizes = AttentionSizes.of(query.shape, key.shape, value.shape)
    if not sizes.scores:
        y = gpu.full((*query.shape[:3], sizes.value_size), query.dtype, 0.0)
        return y, gpu.full(query.shape[:3], "float32", -math.inf)
    arrays = {"query": query, "key": key, "value": value}
    ways = {PRODUCTS: attention_by_products, TILES: attention_by_tiles}
    return by_chosen_way(gpu, sizes, arrays, mask, ways, causal=causal, scale=scale)


declare("Attention", WAYS)


@gradient("Attention", none=True)
def _attention_grad(
    dys: tuple[Tensor | None, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    y: Tensor,
    log_sums: Tensor,
    causal: bool,
    scale: float,
) -> tuple[Tensor | Lazy | None, ...]:
    # With weights p = e^(s - log_sums): ds = p * (dy v^T - (sum(dy * y) - dlog_sums))
    dy, of_sums = dys
    if dy is None:
        dy = creation.zeros(y.shape, dtype=y.dtype)
    wide = log_sums.dtype
    both_wide = [cast.astype(one, wide, copy=False) for one in (dy, y)]
    level = reduce.sum(both_wide[0] * both_wide[1], axis=-1)
    if of_sums is not None:
        level = level - of_sums
    inputs = (query, key, value, log_sums, level, dy, mask)
    return attention_gradients(*inputs, causal=causal, scale=scale)
