"""Attention against NumPy, its masks, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

EVERYWHERE = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
Array = np.ndarray[Any, Any]


def _reference(q: Array, k: Array, v: Array, allowed: Array, added: Array | float = 0.0) -> Array:
    q, k, v = (one.astype(np.float64) for one in (q, k, v))
    times = q.shape[-3] // k.shape[-3]
    k, v = np.repeat(k, times, -3), np.repeat(v, times, -3)
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + added
    weights = np.where(allowed, np.exp(scores - scores.max(-1, keepdims=True)), 0.0)
    total = weights.sum(-1, keepdims=True)
    return np.asarray(np.where(total > 0, weights / np.where(total > 0, total, 1), 0) @ v)


def _inputs(heads: int, key_heads: int, steps: int, length: int) -> list[Array]:
    rng = np.random.default_rng(1)
    shapes = [(2, heads, steps, 4), (2, key_heads, length, 4), (2, key_heads, length, 5)]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


@EVERYWHERE
@pytest.mark.parametrize(("heads", "key_heads"), [(3, 3), (4, 2), (4, 1)])
@pytest.mark.parametrize("masked", ["none", "causal", "bool", "heads", "floats"])
def test_attention_is_that_of_numpy(heads: int, key_heads: int, masked: str, backend: str) -> None:
    q, k, v = _inputs(heads, key_heads, 3, 5)
    rng = np.random.default_rng(2)
    options: dict[str, Any] = {}
    allowed, added = np.ones((3, 5), bool), np.zeros((3, 5), np.float32)
    if masked == "causal":
        options["causal"], allowed = True, np.tril(allowed, 2)
    elif masked == "floats":
        options["mask"] = added = rng.normal(size=(3, 5)).astype(np.float32)
    elif masked != "none":
        shape = (3, 5) if masked == "bool" else (2, heads, 3, 5)
        options["mask"] = allowed = rng.random(shape) < 0.6
        allowed[..., 1, :] = False  # a query that attends to nothing
    with wk.use_backend(backend):
        found = wk.scaled_dot_product_attention(q, k, v, **options).numpy()
    expected = _reference(q, k, v, allowed, added)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@EVERYWHERE
def test_gradients_are_finite_where_nothing_is_attended_to(backend: str) -> None:
    q, k, v = (wk.tensor(one) for one in _inputs(2, 2, 3, 3))
    mask = np.tril(np.ones((3, 3), bool), -1)
    with wk.use_backend(backend):
        slopes = wk.grads(
            lambda q, k, v: (wk.scaled_dot_product_attention(q, k, v, mask=mask) ** 2).sum()
        )(q, k, v)
    for one in slopes:
        assert np.isfinite(one.numpy()).all()
    assert (slopes[0].numpy()[:, :, 0] == 0).all()


def test_its_gradient_is_that_of_differences() -> None:
    q, k, v = _inputs(4, 2, 3, 3)
    with wk.use_backend("cpu"):
        wk.testing.check_gradient(
            lambda q, k, v: wk.scaled_dot_product_attention(q, k, v, causal=True), (q, k, v)
        )


@EVERYWHERE
@pytest.mark.parametrize(
    ("shapes", "mask", "expected"),
    [
        (((2, 3), (2, 3, 4), (2, 3, 4)), None, "query has shape .* want at least three axes"),
        (((3, 2, 4), (2, 2, 4), (2, 2, 4)), None, "key heads that divide heads"),
        (((2, 2, 4), (2, 2, 5), (2, 2, 4)), None, "key heads that divide heads"),
        (((2, 2, 4), (2, 3, 4), (2, 3, 4)), (4, 3), "mask has shape"),
    ],
)
def test_what_does_not_fit_is_refused(
    shapes: tuple[tuple[int, ...], ...], mask: tuple[int, ...] | None, expected: str, backend: str
) -> None:
    given = None if mask is None else np.ones(mask, bool)
    with wk.use_backend(backend), pytest.raises(wk.ShapeError, match=expected):
        wk.scaled_dot_product_attention(*map(wk.ones, shapes), mask=given)


def test_a_mask_of_integers_is_refused() -> None:
    x = wk.ones((2, 3, 4))
    with pytest.raises(wk.DTypeError, match="mask has dtype int32; want bool or a float"):
        wk.scaled_dot_product_attention(x, x, x, mask=np.ones((3, 3), np.int32))
