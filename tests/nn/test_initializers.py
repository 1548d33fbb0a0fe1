"""First values: their variances, and orthogonality."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("initializer", "variance"),
    [
        (wk.nn.glorot_normal, 2 / (9 * 40 + 9 * 60)),
        (wk.nn.glorot_uniform, 2 / (9 * 40 + 9 * 60)),
        (wk.nn.he_normal, 2 / (9 * 40)),
        (wk.nn.he_uniform, 2 / (9 * 40)),
        (wk.nn.lecun_normal, 1 / (9 * 40)),
        (wk.nn.lecun_uniform, 1 / (9 * 40)),
    ],
)
def test_variances_are_those_of_the_papers(
    initializer: Callable[..., wk.Tensor], variance: float
) -> None:
    generator = wk.random.default_rng(0)
    values = initializer((3, 3, 40, 60), generator=generator).numpy().astype(np.float64)
    assert abs(values.mean()) < 4 * np.sqrt(variance / values.size)
    assert values.var() == pytest.approx(variance, rel=0.03)
    other = initializer((3, 3, 40, 60), generator=wk.random.default_rng(0)).numpy()
    np.testing.assert_array_equal(values.astype(np.float32), other)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 2, 3, 4)])
def test_the_shorter_side_is_orthonormal(shape: tuple[int, ...]) -> None:
    w = wk.nn.orthogonal(shape).numpy().reshape(-1, shape[-1])
    product = w @ w.T if w.shape[0] < w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-5)
