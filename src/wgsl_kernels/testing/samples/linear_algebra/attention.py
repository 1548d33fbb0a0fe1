"""Samples of attention.

Errors, in units of eps. A score rounds once for each number of its vectors, once for the scale and
once for the mask; what that is at most for a row's scores goes into each weight, and into the sum
that weights are divided by. So do the rounding of the difference to the row's largest score, 3 ULP
of e^x, and what scales the sums of earlier keys where a larger score comes: 4 for each of these and
their difference. Two sums over keys round for each of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, Bound, absolute
from wgsl_kernels.testing.sample import Sample

EPS = 2.0**-23


def scores_and_errors(
    q: Array, k: Array, mask: Array | None, causal: bool, scale: float
) -> tuple[Array, Array]:
    """Return the scores, -Inf where none counts, and of each how much it may be off."""
    steps, length = q.shape[-2], k.shape[-2]
    keys = np.swapaxes(np.repeat(k, q.shape[-3] // k.shape[-3], -3), -1, -2)
    scores, sizes = scale * (q @ keys), abs(scale) * (np.abs(q) @ np.abs(keys))
    errors = EPS * (q.shape[-1] + 3) * sizes
    if mask is not None and mask.dtype == np.bool_:
        scores = np.where(mask, scores, -np.inf)
    elif mask is not None:
        scores = scores + mask
        errors = errors + EPS * (np.abs(mask) + np.abs(scores))
    if causal:
        scores = np.where(np.tri(steps, length, length - steps, dtype=bool), scores, -np.inf)
    return scores, errors


def attention_bound(*, causal: bool = False, scale: float | None = None) -> Bound:
    """Allow the errors above, of inputs that are query, key, value and, if there is one, mask."""

    def amount(q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        factor = max(q.shape[-1], 1) ** -0.5 if scale is None else scale
        scores, errors = scores_and_errors(q, k, mask, causal, factor)
        top = np.max(scores, -1, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, 0.0)
        weights = np.exp(scores - top)
        total = np.sum(weights, -1, keepdims=True)
        weights /= np.where(total == 0, 1, total)
        finite = np.where(np.isfinite(scores), top - scores, 0.0)
        of_scores = np.max(np.where(np.isfinite(scores), errors, 0.0), -1, keepdims=True, initial=0)
        spread = np.max(finite, -1, keepdims=True, initial=0)
        of_sums = EPS * (2 * spread + 4 * (k.shape[-2] // 32 + 1) + 2 * k.shape[-2] + 12)
        values = np.abs(np.repeat(v, q.shape[-3] // v.shape[-3], -3))
        return np.asarray(2 * (of_scores + of_sums) * (weights @ values))

    return absolute(amount)


def _masked(q: wk.Tensor, k: wk.Tensor, v: wk.Tensor, mask: wk.Tensor, **attrs: Any) -> wk.Tensor:
    return wk.scaled_dot_product_attention(q, k, v, mask=mask, **attrs)


def _sample(
    *shapes: tuple[int, ...], dtypes: str | tuple[str, ...] = "float32", **attrs: Any
) -> Sample:
    """A row whose inputs are query, key, value and, where there are four shapes, a mask."""
    f = _masked if len(shapes) == 4 else wk.scaled_dot_product_attention
    is_bool = isinstance(dtypes, tuple) and dtypes[-1] == "bool"
    low: Any = (-2.0, -2.0, -2.0, 0) if is_bool else -2.0
    second = max(map(np.prod, shapes)) < 200
    bound = attention_bound(**attrs)
    return Sample(
        "Attention", f, shapes, dtypes, attrs, low, bound=bound, second_order=bool(second)
    )


_BOOL_MASK = ("float32", "float32", "float32", "bool")

SAMPLES = [
    _sample((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)),
    _sample((4, 3, 4), (2, 5, 4), (2, 5, 2), causal=True),
    _sample((2, 2, 3, 3), (2, 1, 4, 3), (2, 1, 4, 5), (2, 1, 3, 4), scale=0.3),
    _sample((2, 3, 4), (2, 5, 4), (2, 5, 4), (3, 5), dtypes=_BOOL_MASK),
    _sample((2, 40, 8), (2, 70, 8), (2, 70, 8), causal=True),
    _sample((4, 35, 6), (2, 33, 6), (2, 33, 36), (4, 1, 33), dtypes=_BOOL_MASK),
    _sample((1, 3, 5, 2), (1, 3, 3, 2), (1, 3, 3, 40), causal=True, scale=1.5),
    _sample((2, 1, 1, 4), (2, 1, 9, 4), (2, 1, 9, 4), causal=True),
    Sample("Attention", wk.scaled_dot_product_attention, ((2, 0, 4), (2, 3, 4), (2, 3, 4))),
    _sample((2, 3, 4), (2, 0, 4), (2, 0, 4)),
    _sample((2, 3, 8), (2, 4, 8), (2, 4, 8), dtypes="float16", causal=True),
]
"""Heads that share keys, masks, more queries than keys, several tiles, nothing, halves."""
