"""Norms and orthonormal vectors, classes compared, and averages."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk
from wgsl_kernels.testing import check_gradient

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4)).astype(np.float32)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("ord", [0, 1, 2, 3, -1, 0.5, math.inf, -math.inf])
def test_norms_of_vectors_are_those_of_numpy(ord: float, backend: str) -> None:
    with wk.use_backend(backend):
        found = wk.norm(X, ord, axis=1, keepdims=True).numpy()
    np.testing.assert_allclose(found, np.linalg.norm(X, ord, 1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("ord", ["fro", 1, -1, math.inf, -math.inf])
def test_norms_of_matrices_are_those_of_numpy(ord: Any) -> None:
    stack = np.stack([X, 2 * X - 1], axis=1)
    found = wk.norm(stack, ord, axis=(2, 0)).numpy()
    np.testing.assert_allclose(found, np.linalg.norm(stack, ord, (2, 0)), rtol=1e-5)


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_vectors_become_orthonormal_with_a_gradient(backend: str) -> None:
    with wk.use_backend(backend):
        q = wk.gram_schmidt(X)
        assert isinstance(q, wk.Tensor)
        np.testing.assert_allclose(wk.matmul(q, wk.transpose(q)).numpy(), np.eye(3), atol=1e-5)
        check_gradient(lambda x: wk.stack(list(wk.gram_schmidt(x))), [X])


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
def test_what_is_no_class_does_not_count(backend: str) -> None:
    with wk.use_backend(backend):
        found = wk.confusion_matrix([0, 1, 2, 7, -1, 1], [0, 2, 2, 0, 0, 9], 3)
        assert found.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
        scores = [[0.1, 0.5, 0.5], [math.nan, 1.0, 2.0], [3.0, 1.0, 2.0]]
        assert wk.in_top_k(scores, [1, 0, 1], 1).tolist() == [True, False, False]
        assert wk.in_top_k(scores, [0, 2, 2], 2).tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wk.norm(X, "nuc"), "norm: ord is 'nuc'; want a number or 'euc"),  # type: ignore[arg-type]  # that is refused
        (lambda: wk.norm(X, 3, axis=(0, 1)), "matrix_norm: ord is 3; want 'fro', 'nuc'"),
        (lambda: wk.norm(X, axis=(0, 1, 2)), "want one axis, two, or None"),
        (lambda: wk.gram_schmidt(X.T), "there are 4 vectors of length 3"),
        (lambda: wk.confusion_matrix([0], [0, 1], 2), "want the same"),
        (lambda: wk.in_top_k(X, [0], 1), r"targets has shape \[1\], predictions \[3, 4\]"),
        (lambda: wk.in_top_k(X, [0, 1, 2], 5), r"k is 5; want one in \[1, 4\]"),
        (lambda: wk.ensure_shape(X, (None, 3)), r"x has shape \[3, 4\]; want \[\?, 3\]"),
        (lambda: wk.moving_average(X, X, 0.5), "step is None; want its number with zero_debias"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(wk.WgslKernelsError, match=message):
        call()
