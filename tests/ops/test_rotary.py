"""Rotary embeddings: what they turn, in how many dispatches, and attention that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.refusal import refusal

import wgsl_kernels as wk

Array = np.ndarray[Any, Any]
BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


def _normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


@BACKENDS
@pytest.mark.parametrize("interleaved", [False, True])
def test_pairs_are_complex_numbers_times_a_power_of_i(interleaved: bool, backend: str) -> None:
    x = _normal(2, 3, 5, 8)
    angles = np.arange(7.0)[:, None] / 100.0 ** (np.arange(3) / 3)
    places = np.array([6, 0, 3, 1, 1], np.int32)
    with wk.use_backend(backend):
        cos, sin = wk.rotary_angles(7, 6, base=100)
        y = wk.rotary_embedding(x, cos, sin, positions=places, interleaved=interleaved).numpy()

    first, second = (np.s_[..., 0:6:2], np.s_[..., 1:6:2]) if interleaved else (
        np.s_[..., :3], np.s_[..., 3:6])  # fmt: skip
    turned = (x[first] + 1j * x[second]) * np.exp(1j * angles[places])
    np.testing.assert_allclose(y[first], turned.real, rtol=0, atol=2e-6)
    np.testing.assert_allclose(y[second], turned.imag, rtol=0, atol=2e-6)
    np.testing.assert_array_equal(y[..., 6:], x[..., 6:])


def test_it_is_one_dispatch_with_the_maps_behind_it(auto_fusion: None) -> None:
    with wk.use_backend("webgpu"):
        x, places = wk.tensor(_normal(2, 3, 5, 8)), wk.tensor([4, 3, 2, 1, 0])
        cos, sin = (one.numpy() for one in wk.rotary_angles(5, 8))
        given = wk.tensor(cos), wk.tensor(sin)

        def at_places() -> wk.Tensor:
            return wk.rotary_embedding(x, *given, positions=places)

        def in_order() -> wk.Tensor:
            return wk.rotary_embedding(x, *given) * 2.0 + 1.0

        for f in (at_places, in_order):
            f().numpy()
            f().numpy()
            assert len(wk.explain(f).dispatches) == 1


@BACKENDS
def test_a_position_outside_is_told(backend: str) -> None:
    with wk.use_backend(backend):
        cos, sin = wk.rotary_angles(3, 4)
        for one in (3, -1):
            places = wk.tensor([0, one])
            with pytest.raises(wk.IndexOutOfRange, match=f"RotaryEmbedding: positions .*{one}"):
                wk.rotary_embedding(_normal(2, 4), cos, sin, positions=places + 0).numpy()
            with pytest.raises(wk.IndexOutOfRange, match=f"RotaryEmbedding: positions .*{one}"):
                wk.rotary_embedding(_normal(2, 4), cos, sin, positions=[0, one]).numpy()


@BACKENDS
def test_attention_depends_on_how_far_apart_positions_are(backend: str) -> None:
    with wk.use_backend(backend):
        layer = wk.nn.multi_head_attention(
            8, heads=2, key_heads=1, generator=wk.random.Generator(3)
        )
        x, rotary = wk.tensor(_normal(2, 6, 8)), wk.rotary_angles(16, 4)
        whole = layer(x, causal=True, rotary=rotary).numpy()
        assert np.abs(whole - layer(x, causal=True).numpy()).max() > 1e-3
        later = rotary[0][5:], rotary[1][5:]
        np.testing.assert_allclose(
            layer(x, causal=True, rotary=later).numpy(), whole, rtol=0, atol=1e-5
        )
        cache, parts = layer.make_cache(batch=2, length=8), []
        for t in (0, 1, 2, 4):
            y, cache = layer(x[:, t : t + (2 if t > 1 else 1)], cache=cache, rotary=rotary)
            parts.append(y.numpy())
        np.testing.assert_allclose(np.concatenate(parts, 1), whole, rtol=0, atol=1e-5)
        with pytest.raises(wk.ArgumentError, match="rotary turns positions of x; want it without"):
            layer(x, x, rotary=rotary)
        with pytest.raises(wk.ArgumentError, match="rotary is Tensor; want cosines and sines"):
            layer(x, rotary=rotary[0])  # type: ignore[call-overload]  # what is no pair


@BACKENDS
def test_examples_of_a_batch_are_turned_at_once(backend: str) -> None:
    x = _normal(4, 3, 6)
    with wk.use_backend(backend):
        cos, sin = wk.rotary_angles(3, 6)
        each = wk.vmap(lambda one: wk.rotary_embedding(one, cos, sin, axis=0))(x)
        np.testing.assert_array_equal(each.numpy(), wk.rotary_embedding(x, cos, sin).numpy())


X, COS = np.ones((2, 3, 5, 8), np.float32), np.ones((5, 4), np.float32)
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "integers": (
        lambda: wk.rotary_embedding(X, COS, COS, positions=np.ones(5, np.float32)),
        wk.DTypeError,
        r"RotaryEmbedding: positions has dtype float32",
    ),
    "steps": (
        lambda: wk.rotary_embedding(X, COS[:4], COS[:4]),
        wk.ShapeError,
        r"cos has shape \[4, 4\]; want \[5 or 2, 5, half\] for x of \[2, 3, 5, 8\], with half at",
    ),
    "wide": (lambda: wk.rotary_embedding(X[..., :6], COS, COS), wk.ShapeError, r"at most 3"),
    "sin": (lambda: wk.rotary_embedding(X, COS, COS[:4]), wk.ShapeError, r"and sin \[4, 4\]; want"),
    "axis": (lambda: wk.rotary_embedding(X, COS, COS, axis=3), wk.ArgumentError, r"the last of 4"),
    "places": (
        lambda: wk.rotary_embedding(X, COS, COS, positions=[1, 2]),
        wk.ShapeError,
        r"positions has shape \[2\]; want \[steps\] or \[batch, steps\] of x, \[5\] or \[2, 5\]",
    ),
    "row": (lambda: wk.rotary_embedding(X[0, 0, 0], COS, COS), wk.ShapeError, r"x has shape \[8\]"),
    "odd": (lambda: wk.rotary_angles(3, 5), wk.ArgumentError, r"size is 5; want an even number"),
    "base": (lambda: wk.rotary_angles(3, 4, base=0), wk.ArgumentError, r"base is 0; want a number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_refused_alike_on_both_backends(case: str) -> None:
    f, error, words = WRONG[case]
    messages = {refusal(backend, f, error) for backend in ("cpu", "webgpu")}

    assert len(messages) == 1
    with pytest.raises(error, match=words):
        f()
