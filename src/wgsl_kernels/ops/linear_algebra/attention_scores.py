"""The weights of attention and what they depend on, in ops: of every query and key."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.execution.unbroadcast import unbroadcast
from wgsl_kernels.ops.elementwise import cast, exponential, logical
from wgsl_kernels.ops.linear_algebra import matrix
from wgsl_kernels.ops.linear_algebra.attention_blocks import AttentionSizes
from wgsl_kernels.ops.shapes import ranges
from wgsl_kernels.ops.shapes import shape as shapes

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor


@dataclass(frozen=True)
class Scores:
    """The weights of attention as a function of all that they depend on.

    All have [groups, rows, ...] for queries and [groups, length, ...] for keys, as ``sizes`` has
    them.

    Attributes:
        sizes: The sizes.
        query: [groups, rows, size].
        key: [groups, length, size].
        value: [groups, length, value size].
        dy: [groups, rows, value size]: the upstream gradient of the means.
        weights: [groups, rows, length]: e to the power of scores less ``log_sums``.
        slopes: [groups, rows, length]: ``dy @ value.T`` less the level of each row.
    """

    sizes: AttentionSizes
    query: Tensor
    key: Tensor
    value: Tensor
    dy: Tensor
    weights: Tensor
    slopes: Tensor

    def of_heads(self, x: Tensor) -> Tensor:
        """Return [batch, heads, steps, ...] of [groups, rows, ...]."""
        sizes = self.sizes
        heads = sizes.key_heads * sizes.sharing
        return shapes.reshape(x, (sizes.batch, heads, sizes.steps, *x.shape[2:]))

    def of_mask(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the gradient of an added mask, for that of the scores, [groups, rows, length]."""
        whole = unbroadcast(self.of_heads(x), mask.shape)
        return cast.astype(whole, mask.dtype, copy=False)


def scores_of(
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
) -> Scores:
    """Return the weights and their slopes for the inputs of AttentionGradient.

    They are differentiable in each of these. float16 is computed in float32.
    """
    sizes = AttentionSizes.of(query.shape, key.shape, value.shape)
    wide = log_sums.dtype

    def grouped(x: Tensor, count: int) -> Tensor:
        groups = shapes.reshape(x, (sizes.groups, count, *x.shape[3:]))
        return cast.astype(groups, wide, copy=False)

    q, upstream = grouped(query, sizes.rows), grouped(dy, sizes.rows)
    k, v = grouped(key, sizes.length), grouped(value, sizes.length)
    scores = matrix.matmul(q * scale, k, transpose_b=True)
    heads = shapes.reshape(scores, (*query.shape[:3], sizes.length))
    if mask is not None and mask.dtype == "bool":
        heads = logical.where(mask, heads, -math.inf)
    elif mask is not None:
        heads = heads + cast.astype(mask, wide, copy=False)
    if causal:
        heads = logical.where(_not_after(sizes), heads, -math.inf)
    sums = logical.where(log_sums == -math.inf, 0.0, log_sums)  # of a query without keys
    weights = exponential.exp(heads - shapes.expand_dims(sums, -1))
    levels = grouped(shapes.expand_dims(level, -1), sizes.rows)
    slopes = matrix.matmul(upstream, v, transpose_b=True) - levels
    return Scores(sizes, q, k, v, upstream, shapes.reshape(weights, scores.shape), slopes)


def _not_after(sizes: AttentionSizes) -> Tensor:
    """Return which keys are not after a query, [steps, length]; the last is at the last key."""
    steps, length = sizes.steps, sizes.length
    places = ranges.arange(length - steps, length, dtype="int32")
    return ranges.arange(length, dtype="int32") <= shapes.reshape(places, (steps, 1))


def mask_gradient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_sums: Tensor,
    level: Tensor,
    dy: Tensor,
    mask: Tensor,
    *,
    causal: bool,
    scale: float,
) -> Tensor:
    """Return the gradient of what is added to the scores; before it is summed it is as large."""
    inputs = (query, key, value, log_sums, level, dy, mask)
    found = scores_of(*inputs, causal=causal, scale=scale)
    return found.of_mask(found.weights * found.slopes, mask)
