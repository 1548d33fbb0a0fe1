"""Attention: means of values, weighted by how well keys fit queries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import flag, number
from wgsl_kernels.engine.values.dtypes import is_float
from wgsl_kernels.engine.values.shapes import broadcast_shapes, show
from wgsl_kernels.ops.elementwise import compare, logical
from wgsl_kernels.ops.linear_algebra import matrix
from wgsl_kernels.ops.reductions import reduce, softmax
from wgsl_kernels.ops.shapes import ranges

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

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
    if flag(_OP, "causal", causal):
        allowed = both(_not_after(q.shape[-2], k.shape[-2]), allowed)
    factor = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else number(_OP, "scale", scale)
    heads, keys = q.shape[-3], k.shape[-3]
    if heads == keys:
        return _attended(q * factor, k, v, allowed)
    parts = (keys, heads // keys)
    grouped = q.reshape((*q.shape[:-3], *parts, *q.shape[-2:]))
    if allowed is not None and allowed.ndim > 2:
        split = parts if allowed.shape[-3] == heads else (1, 1)
        allowed = allowed.reshape((*allowed.shape[:-3], *split, *allowed.shape[-2:]))
    y = _attended(grouped * factor, k.expand_dims(-3), v.expand_dims(-3), allowed)
    return y.reshape((*y.shape[:-4], heads, *y.shape[-2:]))


def both(allowed: Tensor, mask: TensorLike | None) -> Tensor:
    """Return a mask that lets through what two do: the first is bool, the other bool or float."""
    if mask is None:
        return allowed
    other = as_tensor(mask)
    if other.dtype == "bool":
        return logical.logical_and(allowed, other)
    return logical.where(allowed, other, -math.inf)


def _attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    scores = matrix.matmul(q, k, transpose_b=True)
    if mask is None:
        return matrix.matmul(softmax.softmax(scores), v)
    if mask.dtype == "bool":
        scores, allowed = logical.where(mask, scores, -math.inf), mask
    else:
        scores = scores + mask
        allowed = compare.greater(scores, -math.inf)
    is_any = reduce.any(allowed, axis=-1, keepdims=True)
    weights = softmax.softmax(logical.where(is_any, scores, 0.0))
    return matrix.matmul(logical.where(is_any, weights, 0.0), v)


def _not_after(steps: int, length: int) -> Tensor:
    """Return which keys are not after a query, [steps, length]."""
    places = ranges.arange(length - steps, length, dtype="int32")
    return ranges.arange(length, dtype="int32") <= places.reshape((steps, 1))


def _mask(mask: TensorLike, shape: tuple[int, ...]) -> Tensor:
    given = as_tensor(mask)
    if given.dtype != "bool" and not is_float(given.dtype):
        raise DTypeError(f"{_OP}: mask has dtype {given.dtype}; want bool or a float.")
    if broadcast_shapes(given.shape, shape) != shape:
        raise ShapeError(
            f"{_OP}: mask has shape {show(given.shape)}; want what broadcasts to {show(shape)}, "
            "[..., heads, steps, length]."
        )
    return given


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
    fits = (
        q.shape[:-3] == k.shape[:-3] == v.shape[:-3]
        and q.shape[-1] == k.shape[-1]
        and k.shape[-3:-1] == v.shape[-3:-1]
        and k.shape[-3] > 0
        and q.shape[-3] % k.shape[-3] == 0
    )
    if not fits:
        raise ShapeError(
            f"{_OP}: query has shape {show(q.shape)}, key {show(k.shape)}, value {show(v.shape)}; "
            "want [..., heads, steps, size], [..., key heads, length, size] and [..., key heads, "
            "length, value size], with key heads that divide heads."
        )
