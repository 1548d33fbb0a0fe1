"""Products of matrices, and what is computed from them: attention, determinants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.onnx.graph import Constant
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import device
from wgsl_kernels.ops.linear_algebra.solving import det
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import OnnxNode


@operator("MatMul", raw=True)
def matmul(node: OnnxNode, a: Any, b: Any, *quantised: Any) -> Tensor:
    """Return the product of matrices, or of stacks of them."""
    return _product(node, device(a), b, quantised)


@operator("Gemm", raw=True)
def gemm(node: OnnxNode, a: Any, b: Any, c: Any = None, *quantised: Any) -> Tensor:
    """Return ``alpha * a @ b + beta * c``, either matrix transposed on request."""
    alpha, beta = node.attr("alpha"), node.attr("beta")
    found = _product(
        node,
        device(a),
        b,
        quantised,
        transpose_a=bool(node.attr("transA")),
        transpose_b=bool(node.attr("transB")),
    )
    found = found if alpha == 1 else found * alpha
    if c is None or beta == 0:
        return found
    more = device(c)
    total: Tensor = found + (more if beta == 1 else more * beta)
    return total


def _product(
    node: OnnxNode,
    a: Tensor,
    b: Any,
    quantised: Sequence[Any],
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Tensor:
    """Return a product, of codes as they are packed where ``b`` is a constant that has them.

    ``quantised`` are scales and zero points of blocks; see ``onnx/packing.py``.
    """
    block = node.attr("block_shape")
    is_direct = isinstance(b, Constant) and b.is_packed and b.array.ndim == 2
    if not isinstance(b, Constant) or transpose_a or not (block or is_direct):
        return ops.matmul(a, device(b), transpose_a=transpose_a, transpose_b=transpose_b)
    turned = bool(node.attr("is_turned"))
    block = block or (0, 0)
    blocks = [math.ceil(n / (m or max(n, 1))) for n, m in zip(b.array.shape, block, strict=True)]
    given = [None if one is None else ops.reshape(device(one), blocks) for one in quantised]
    scales, zeros = (*given, None, None)[:2]
    return ops.matmul_nbits(
        a,
        b.codes,
        scales,
        0 if zeros is None else zeros,
        kind=str(b.kind),
        block_size=block,
        transpose_b=transpose_b != turned,
        size=b.array.shape[1],
    )


@operator("Einsum")
def einsum(node: OnnxNode, *xs: Tensor) -> Tensor:
    """Return sums of products by an equation of subscripts."""
    return ops.einsum(node.attr("equation").replace(" ", ""), *xs)


@operator("Det", reads=True)
def determinant(node: OnnxNode, x: Tensor) -> Tensor:
    """Return the determinants of square matrices."""
    return det(x)


def _is_plain(attrs: Mapping[str, Any], inputs: int, outputs: int) -> bool:
    """Say whether attention has no cap, window or lengths, and its scores are not asked for."""
    windows = [value for name, value in attrs.items() if "window" in name]
    return (
        not attrs.get("softcap")
        and all(value == -1 for value in windows)
        and inputs <= 6
        and outputs <= 3
    )


@operator("Attention", since=23, when=_is_plain)
def attention(
    node: OnnxNode,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
) -> Any:
    """Return scaled dot product attention, and the keys and values with those of the past."""
    batch, is_flat = query.shape[0], query.ndim == 3
    q = _heads(query, node.attr("q_num_heads"))
    k, v = (_heads(one, node.attr("kv_num_heads")) for one in (key, value))
    past = 0 if past_key is None else past_key.shape[2]
    if past_key is not None and past_value is not None:
        k, v = ops.concat((past_key, k), 2), ops.concat((past_value, v), 2)
    steps, length = q.shape[2], k.shape[2]
    if mask is not None and mask.shape[-1] < length:  # the keys beyond it are not attended to
        more = [(0, 0)] * (mask.ndim - 1) + [(0, length - mask.shape[-1])]
        mask = ops.pad(mask, more, constant_value=False if mask.dtype == "bool" else -math.inf)
    if node.attr("is_causal"):
        rows = ops.reshape(ops.arange(steps, dtype="int32") + past, (-1, 1))
        earlier = ops.less_equal(ops.arange(length, dtype="int32"), rows)
        mask = _both(earlier, mask)
    y = ops.scaled_dot_product_attention(q, k, v, mask=mask, scale=node.attr("scale"))
    if is_flat:
        y = ops.reshape(ops.permute_dims(y, (0, 2, 1, 3)), (batch, steps, y.shape[1] * y.shape[3]))
    return (y, k, v)[: node.wanted]


def _heads(x: Tensor, count: int | None) -> Tensor:
    """Return [batch, heads, steps, size] of that, or of [batch, steps, heads * size]."""
    if x.ndim == 4 or count is None:
        return x
    return ops.permute_dims(
        ops.reshape(x, (*x.shape[:2], count, x.shape[2] // count)), (0, 2, 1, 3)
    )


def _both(allowed: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return allowed
    if mask.dtype == "bool":
        return ops.logical_and(allowed, mask)
    return ops.where(allowed, mask, ops.full_like(mask, -math.inf))


@operator("RotaryEmbedding", since=23)
def rotary_embedding(
    node: OnnxNode, x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None = None
) -> Tensor:
    """Return [batch, heads, steps, size], or [batch, steps, heads * size], turned by positions."""
    return _turned(node, x, cos, sin, positions)


@operator("RotaryEmbedding", domain="com.microsoft")
def contributed_rotary_embedding(
    node: OnnxNode, x: Tensor, positions: Tensor, cos: Tensor, sin: Tensor
) -> Tensor:
    """Return the same; positions of one number are where each batch begins.

    Raises:
        ArgumentError: Batches are packed, or positions are scaled.
    """
    if node.attr("is_packed_batching") or node.attr("scale") != 1:
        raise ArgumentError(
            "RotaryEmbedding: is_packed_batching or scale is set; want batches of one length, and "
            "a scale of 1."
        )
    if positions.size == 1 and positions.ndim == 1:
        steps = x.shape[-2 if x.ndim == 4 else 1]
        positions = positions + ops.arange(steps, dtype="int32")
    return _turned(node, x, cos, sin, positions)


def _turned(
    node: OnnxNode, x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None
) -> Tensor:
    how: dict[str, Any] = {"positions": positions, "interleaved": bool(node.attr("interleaved"))}
    half = node.attr("rotary_embedding_dim") // 2
    if half and half < cos.shape[-1]:
        cos, sin = cos[..., :half], sin[..., :half]
    if x.ndim == 4:
        return ops.rotary_embedding(x, cos, sin, **how)
    heads = node.attr("num_heads") or x.shape[-1] // (2 * cos.shape[-1])
    by_head = ops.reshape(x, (*x.shape[:2], heads, x.shape[-1] // heads))
    return ops.reshape(ops.rotary_embedding(by_head, cos, sin, axis=1, **how), x.shape)
