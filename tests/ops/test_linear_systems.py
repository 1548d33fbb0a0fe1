"""Triangular systems and least squares against SciPy and NumPy, of any rank, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import wgsl_kernels as wk
from wgsl_kernels import linalg

BACKENDS = ["cpu", pytest.param("webgpu", marks=pytest.mark.gpu)]
RNG = np.random.default_rng(7)


def _drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _deficient() -> np.ndarray:
    """Return a matrix of 5 rows, 4 columns and rank 2."""
    return np.asarray(_drawn(5, 2) @ _drawn(2, 4))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, "T", "C"])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_solutions_are_scipys_and_the_other_side_is_not_read(
    backend: str, lower: bool, trans: Any, unit: bool
) -> None:
    size = 150  # more than are solved at once
    a = (_drawn(size, size) / size + np.eye(size)).astype(np.float32)
    b = _drawn(size, 2)
    expected = scipy.linalg.solve_triangular(
        a.astype(float), b, lower=lower, trans=trans, unit_diagonal=unit
    )
    other = np.triu(np.ones_like(a), 1) if lower else np.tril(np.ones_like(a), -1)
    given = np.where(other + (np.eye(size) if unit else 0), np.nan, a)
    with wk.use_backend(backend):
        y = linalg.solve_triangular(given, b, lower=lower, trans=trans, unit_diagonal=unit)

    np.testing.assert_allclose(y.numpy(), expected, rtol=2e-5, atol=2e-5)


def test_axes_before_triangular_matrices_broadcast() -> None:
    a, b = _drawn(3, 1, 4, 4) + 4 * np.eye(4, dtype=np.float32), _drawn(2, 4, 5)
    y = linalg.solve_triangular(a, b, lower=True)

    assert y.shape == (3, 2, 4, 5)
    np.testing.assert_allclose((wk.tril(wk.tensor(a)) @ y).numpy(), b + 0 * y.numpy(), atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_least_squares_are_numpys(
    backend: str, shape: tuple[int, int], columns: tuple[int, ...]
) -> None:
    a, b = _drawn(*shape), _drawn(shape[0], *columns)
    x, residuals, rank, values = np.linalg.lstsq(a.astype(float), b)
    with wk.use_backend(backend):
        ours: Any = np.linalg.lstsq(wk.tensor(a), wk.tensor(b))
        direct = linalg.lstsq(a, b)

    assert isinstance(ours[0], wk.Tensor)
    assert ours[1].shape == residuals.shape
    assert ours[2] == rank == direct.rank.item()
    for found, expected in zip((ours[0], ours[1], ours[3]), (x, residuals, values), strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(
        direct.residuals.numpy(), np.sum((a @ x - b) ** 2, axis=0), rtol=1e-3, atol=1e-5
    )


def test_least_squares_of_any_rank_have_the_least_norm() -> None:
    a, b = _deficient(), _drawn(5, 2)
    x, residuals, rank, values = np.linalg.lstsq(a.astype(float), b, rcond=1e-4)
    found = linalg.lstsq(a, b, rtol=1e-4)

    assert found.rank.item() == rank == 2
    assert residuals.size == 0
    np.testing.assert_allclose(found.solution.numpy(), x, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(found.singular_values.numpy(), values, atol=1e-5)
    assert np.linalg.lstsq(wk.tensor(a), wk.tensor(b), rcond=1e-4)[1].shape == (0,)


@pytest.mark.parametrize("name", ["of full rank", "deficient"])
def test_the_gradient_of_least_squares_is_that_of_the_pseudo_inverse(name: str) -> None:
    a = _drawn(5, 3) if name == "of full rank" else _deficient()
    b = _drawn(5)
    given = wk.tensor(a), wk.tensor(b)
    dy = _drawn(a.shape[1])

    def direct(a: wk.Tensor, b: wk.Tensor) -> wk.Tensor:
        return wk.sum(linalg.lstsq(a, b, rtol=1e-4).solution * dy)

    def by_inverse(a: wk.Tensor, b: wk.Tensor) -> wk.Tensor:
        return wk.sum(linalg.pinv(a, rtol=1e-4) @ b * dy)

    for found, expected in zip(wk.grads(direct)(*given), wk.grads(by_inverse)(*given), strict=True):
        size = float(abs(expected).max().item())
        np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=2e-4 * size)


def test_axes_before_least_squares_broadcast_and_empty_ones_solve_nothing() -> None:
    found = linalg.lstsq(_drawn(3, 1, 4, 2), _drawn(2, 4, 5))

    assert [one.shape for one in found] == [(3, 2, 2, 5), (3, 2, 5), (3, 1), (3, 1, 2)]
    assert linalg.lstsq(np.zeros((3, 0), np.float32), [1.0, 2.0, 2.0]).residuals.item() == 9.0
    assert linalg.lstsq(np.zeros((2, 2), np.float32), [1.0, 2.0]).solution.tolist() == [0.0, 0.0]


def test_the_residuals_and_singular_values_have_gradients() -> None:
    a, b = _drawn(4, 2), _drawn(4)

    def f(a: wk.Tensor, b: wk.Tensor) -> wk.Tensor:
        found = linalg.lstsq(a, b)
        return found.residuals + wk.sum(found.singular_values)

    wk.testing.check_gradient(f, [a, b])


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_infinite_element_has_no_solution_that_looks_like_one(backend: str) -> None:
    a = np.array([[[np.inf, 1.0], [1.0, 2.0]], [[1.0, 0.0], [0.0, 0.0]]], np.float32)
    with wk.use_backend(backend):
        solution = linalg.lstsq(a, np.ones((2, 1), np.float32)).solution.numpy()
        inverse = linalg.pinv(a).numpy()

    assert np.isnan(solution[0]).all()
    assert np.isnan(inverse[0]).all()
    np.testing.assert_array_equal(solution[1], [[1.0], [0.0]])
    np.testing.assert_array_equal(inverse[1], a[1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: linalg.lstsq(_drawn(3, 2), _drawn(2)), wk.ShapeError, r"a has shape \[3, 2\]"),
        (lambda: linalg.lstsq(_drawn(3), _drawn(3)), wk.ShapeError, r"x has shape \[3\]"),
        (
            lambda: linalg.lstsq(_drawn(2, 3, 2), _drawn(3, 3, 1)),
            wk.ShapeError,
            "the axes before the matrices do not broadcast",
        ),
        (
            lambda: linalg.lstsq(_drawn(3, 2), _drawn(3), rtol=-1.0),
            wk.ArgumentError,
            "rtol is -1.0; want a number of at least 0",
        ),
        (
            lambda: linalg.solve_triangular(_drawn(3, 2), _drawn(3)),
            wk.ShapeError,
            r"a has shape \[3, 2\]; want \[..., n, n\]",
        ),
        (
            lambda: linalg.solve_triangular(_drawn(2, 2), _drawn(3)),
            wk.ShapeError,
            r"a has shape \[2, 2\] and b \[3, 1\]",
        ),
        (
            lambda: linalg.solve_triangular(_drawn(2, 2), _drawn(2), trans="H"),
            wk.ArgumentError,
            "trans is 'H'; want 0 or 'N'",
        ),
        (
            lambda: linalg.solve_triangular([[1.0, 2.0], [0.0, 0.0]], [1.0, 1.0]),
            wk.ArgumentError,
            "MatrixTriangularSolve.*singular matrix",
        ),
        (
            lambda: linalg.lstsq([[np.nan, 1.0], [0.0, 1.0]], [1.0, 1.0]),
            wk.ArgumentError,
            "MatrixSolveLs.*: SVD did not converge",
        ),
    ],
)
def test_what_has_no_solution_is_said(
    backend: str, call: Any, error: type[Exception], words: str
) -> None:
    with wk.use_backend(backend), pytest.raises(error, match=words):
        call()
