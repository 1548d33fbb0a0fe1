"""Samples of the gradient of attention.

Errors, in units of eps. A weight has its score's, the rounding of the difference to its row's
logarithm, 2 ULP of e^x. What it is multiplied by, dy value^T - level, rounds for each number of a
value and twice more; their product rounds twice, and each sum once for every term. The logarithms
are not those of the scores' sums, so that extreme scores have weights beyond float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import Array, Bound, absolute
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples.linear_algebra.attention import EPS, scores_and_errors

Shape = tuple[int, ...]


def gradient_bound(of: str, *, causal: bool, scale: float) -> Bound:
    """Allow the errors above, of the gradient of query, key or value."""

    def amount(
        q: Array, k: Array, v: Array, log_sums: Array, level: Array, dy: Array, *masks: Array
    ) -> Array:
        mask = masks[0] if masks else None
        scores, errors = scores_and_errors(q, k, mask, causal, scale)
        sharing = q.shape[1] // k.shape[1]
        keys, values = (np.abs(np.repeat(one, sharing, 1)) for one in (k, v))
        shifted = np.where(np.isfinite(scores), scores - log_sums[..., None], 0.0)
        weights = np.where(np.isfinite(scores), np.exp(shifted), 0.0)
        of_weights = np.where(np.isfinite(scores), errors, 0.0) + EPS * (np.abs(shifted) + 4)
        sizes = np.abs(dy) @ np.swapaxes(values, -1, -2) + np.abs(level)[..., None]
        terms = k.shape[2] if of == "query" else q.shape[2] * sharing
        if of == "value":
            off = weights * (of_weights + EPS * (terms + 1))
            return _shared(np.swapaxes(off, -1, -2) @ np.abs(dy), sharing)
        off = weights * sizes * (of_weights + EPS * (v.shape[3] + terms + 5)) * abs(scale)
        if of == "query":
            return np.asarray(off @ keys)
        return _shared(np.swapaxes(off, -1, -2) @ np.abs(q), sharing)

    return absolute(amount)


def _shared(x: Array, sharing: int) -> Array:
    """Return the sum over heads that share keys."""
    return np.asarray(x.reshape(x.shape[0], -1, sharing, *x.shape[2:]).sum(2))


def _gradient(*inputs: wk.Tensor, of: str, **attrs: Any) -> wk.Tensor:
    names = ("query", "key", "value", "log_sums", "level", "dy", "mask")
    given: dict[str, wk.Tensor] = dict(zip(names, inputs, strict=False))
    made = wk.engine().run_kernel("AttentionGradient", given, attrs)[names.index(of)]
    assert isinstance(made, wk.Tensor)
    return made


def _sample(
    of: str,
    query: Shape,
    key: Shape,
    value: Shape,
    mask: Shape | None = None,
    *,
    mask_dtype: str = "float32",
    causal: bool = False,
    scale: float = 0.5,
) -> Sample:
    """A row of one output; a query's logarithm is so large that weights are below 1 or about it."""
    rows = query[:3]
    shapes = [query, key, value, rows, rows, (*rows, value[3])]
    dtypes = ["float32"] * 6
    low, high = [-1.0, -1.0, -1.0, 1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 3.0, 1.0, 1.0]
    if mask is not None:
        shapes.append(mask)
        dtypes.append(mask_dtype)
        low.append(0 if mask_dtype == "bool" else -1.0)
        high.append(2 if mask_dtype == "bool" else 1.0)
    attrs: dict[str, Any] = {"of": of, "causal": causal, "scale": scale}
    second = max(map(np.prod, shapes)) < 80
    return Sample(
        "AttentionGradient", _gradient, tuple(shapes), tuple(dtypes), attrs, tuple(low),
        tuple(high), gradient_bound(**attrs), second_order=bool(second),
        special=("extreme",),
    )  # fmt: skip


_SMALL = ((1, 2, 3, 4), (1, 1, 5, 4), (1, 1, 5, 3))
_TILES = ((1, 2, 35, 6), (1, 2, 40, 6), (1, 2, 40, 36))

SAMPLES = [
    *(_sample(of, *_SMALL, causal=True) for of in ("query", "key", "value")),
    *(_sample(of, *_TILES, causal=True) for of in ("query", "key", "value")),
    _sample("query", (2, 2, 3, 2), (2, 2, 4, 2), (2, 2, 4, 2), (1, 2, 1, 4)),
    _sample("key", (2, 2, 3, 2), (2, 2, 4, 2), (2, 2, 4, 2), (2, 1, 3, 4), mask_dtype="bool"),
    _sample(
        "value", (1, 4, 40, 40), (1, 2, 33, 40), (1, 2, 33, 8), (1, 1, 40, 33), mask_dtype="bool"
    ),
    _sample("query", (1, 2, 3, 4), (1, 2, 0, 4), (1, 2, 0, 4)),
]
"""Heads that share keys, masks, several tiles, no keys."""
