"""Pooling over windows of more elements than some drivers let an invocation visit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.backends.webgpu.lowering import window as lower_window
from wgsl_kernels.ops.pooling import pool_dispatch

BACKENDS = ["cpu", "webgpu"]
EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)


def drawn(*shape: int) -> np.ndarray:
    """Return normal numbers, as float32."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@EVERYWHERE
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_windows_larger_than_a_driver_loops_are_seen_whole(kind: str, backend: str) -> None:
    x = drawn(1, 270, 260, 2)
    x[0, -1, -1, 0], x[0, 200, 5, 1] = 9, 9
    f = wk.max_pool if kind == "max" else wk.avg_pool
    with wk.use_backend(backend):
        y, dx = wk.value_and_grad(lambda x: f(x, (270, 260)))(wk.tensor(x))
        if kind == "max":
            assert y.tolist() == [[[[9.0, 9.0]]]]
            assert np.argwhere(dx.numpy()[0]).tolist() == [[200, 5, 1], [269, 259, 0]]
        else:
            np.testing.assert_allclose(y.numpy()[0, 0, 0], x.mean((0, 1, 2)), atol=1e-5)
            np.testing.assert_allclose(dx.numpy(), 1 / (270 * 260), rtol=1e-6)


@EVERYWHERE
@pytest.mark.parametrize("window", [(30_000, 1), (1, 70_000)])
def test_a_tall_or_wide_window_is_seen_whole(window: tuple[int, int], backend: str) -> None:
    x = np.arange(math.prod(window), dtype=np.float32).reshape(1, *window, 1)
    with wk.use_backend(backend):
        largest, dx = wk.value_and_grad(lambda x: wk.max_pool(x, window))(wk.tensor(x))
        mean, share = wk.value_and_grad(lambda x: wk.avg_pool(x, window))(wk.tensor(x))
        assert largest.numpy().item() == x[-1, -1, -1, -1]
        assert np.flatnonzero(dx.numpy()).tolist() == [x.size - 1]
        assert mean.numpy().item() == pytest.approx(x.mean(dtype=np.float64), rel=1e-4)
        np.testing.assert_allclose(share.numpy(), 1 / x.size, rtol=1e-6)


@EVERYWHERE
def test_the_mean_of_a_whole_image_is_as_accurate_as_a_sum(backend: str) -> None:
    x = np.full((1, 1500, 1500, 2), 0.1, np.float32)
    with wk.use_backend(backend):
        found = wk.avg_pool(wk.tensor(x), 1500).numpy().reshape(2)
    np.testing.assert_allclose(found, np.float32(0.1), rtol=421 * 2.0**-24)


@pytest.mark.parametrize("loops", [3, 40])
@pytest.mark.parametrize("options", [{}, {"dilations": 2}])
def test_windows_in_bands_give_the_same(
    monkeypatch: pytest.MonkeyPatch, loops: int, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(pool_dispatch, "LOOPS", loops)
    monkeypatch.setattr(lower_window, "LOOPS", loops)
    monkeypatch.setattr(lower_window, "SMALL", 1)
    images, volumes = (drawn(2, 9, 8, 3), (4, 5)), (drawn(1, 5, 4, 6, 2), (3, 2, 3))
    for f, (x, size) in (
        (wk.max_pool, images),
        (wk.avg_pool, images),
        (wk.max_pool3d, volumes),
        (wk.avg_pool3d, volumes),
    ):
        found = []
        for backend in BACKENDS:
            with wk.use_backend(backend), wk.config.using(small_ops="device"):
                given = wk.tensor(x)
                y = f(given, size, strides=1, pad="same", **options)
                dx = wk.grad(lambda x, f=f, n=size: f(x, n, strides=1, pad="same", **options))(
                    given
                )
                found.append((y.numpy(), dx.numpy()))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
