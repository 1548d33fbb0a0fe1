"""Convolution in groups against convolutions of the groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wgsl_kernels as wk

CASES: list[tuple[tuple[int, ...], int, int, dict[str, Any]]] = [
    ((5,), 6, 9, {"groups": 3}),
    ((3, 3), 6, 9, {"groups": 3, "strides": 2, "pad": "same"}),
    ((3, 3), 8, 16, {"groups": 2, "pad": 1, "dilations": 2}),
    ((1, 1), 8, 8, {"groups": 2, "pad": 1}),
    ((2, 3), 12, 24, {"groups": 3}),
    ((3, 3), 6, 12, {"groups": 6}),
    ((2, 2, 2), 8, 8, {"groups": 2, "pad": "same"}),
]
IDS = [f"{window}-{inputs}-{options}" for window, inputs, _, options in CASES]


def _convolve(x: Any, filter: Any, **options: Any) -> wk.Tensor:
    if filter.ndim == 3:
        return wk.conv1d(x, filter, **options)
    return (wk.conv2d if filter.ndim == 4 else wk.conv3d)(x, filter, **options)


def _apart(x: wk.Tensor, filter: wk.Tensor, groups: int, **options: Any) -> wk.Tensor:
    pairs = zip(wk.split(x, groups, axis=-1), wk.split(filter, groups, axis=-1), strict=True)
    return wk.concat([_convolve(*pair, **options) for pair in pairs], axis=-1)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize(("window", "inputs", "outputs", "options"), CASES, ids=IDS)
def test_groups_are_convolved_apart_and_so_are_their_gradients(
    window: tuple[int, ...], inputs: int, outputs: int, options: dict[str, Any], backend: str
) -> None:
    rng = np.random.default_rng(3)
    with wk.use_backend(backend):
        x = wk.tensor(rng.normal(size=(2, *[6] * len(window), inputs)), dtype="float32")
        shape = (*window, inputs // options["groups"], outputs)
        filter = wk.tensor(rng.normal(size=shape), dtype="float32")
        y, expected = _convolve(x, filter, **options), _apart(x, filter, **options)
        np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)
        weights = wk.tensor(rng.normal(size=y.shape), dtype="float32")
        found = wk.grads(lambda x, w: (_convolve(x, w, **options) * weights).sum())(x, filter)
        wanted = wk.grads(lambda x, w: (_apart(x, w, **options) * weights).sum())(x, filter)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)


def test_groups_are_one_dispatch() -> None:
    with wk.use_backend("webgpu"):
        x, filter = wk.ones((2, 6, 6, 8)), wk.ones((3, 3, 2, 8))
        found = wk.profile(lambda: wk.conv2d(x, filter, groups=4))
        assert [one.name for one in found.kernels] == ["Conv2D"]


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize(
    ("filter", "groups", "expected"),
    [
        ((3, 3, 3, 8), 2, r"want filter\[2\] \* groups == 8, groups being 2"),
        ((3, 3, 2, 6), 4, "want out channels, the last axis, that groups divides"),
        ((3, 3, 8, 8), 0, "groups is 0; want 1 or more"),
    ],
)
def test_groups_that_do_not_fit_are_refused(
    filter: tuple[int, ...], groups: int, expected: str, backend: str
) -> None:
    with wk.use_backend(backend), pytest.raises((wk.ShapeError, wk.ArgumentError), match=expected):
        wk.conv2d(wk.ones((1, 5, 5, 8)), wk.ones(filter), groups=groups)
