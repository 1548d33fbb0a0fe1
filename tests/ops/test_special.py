"""The logarithm of gamma, its derivatives, erf's complement and inverse: poles, ends, orders.

How far they are off at every exponent is in `tests/numerics/test_accuracy.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import pytest
import scipy.special

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = ["cpu", pytest.param("webgpu", marks=pytest.mark.gpu)]
INF, NAN = np.inf, np.nan
psi: Any = mpmath.psi
loggamma: Any = mpmath.loggamma
POLES = np.array([0.0, -0.0, -1.0, -2.0, -3e7, 1e-42, -1e-42, INF, -INF, NAN], np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (wk.lgamma, [INF, INF, INF, INF, INF, 96.7, 96.7, INF, INF, NAN]),
        (wk.digamma, [-INF, INF, NAN, NAN, NAN, -INF, INF, INF, NAN, NAN]),
        (wk.polygamma, [INF, INF, INF, INF, INF, INF, INF, 0, NAN, NAN]),
        (lambda x: wk.polygamma(x, n=2), [-INF, INF, NAN, NAN, NAN, -INF, INF, 0, NAN, NAN]),
    ],
)
def test_poles_have_the_sign_that_comes_from_their_side(
    backend: str, f: Callable[[Any], wk.Tensor], expected: list[float]
) -> None:
    with wk.use_backend(backend):
        found = f(POLES).numpy()

    np.testing.assert_allclose(found, expected, rtol=1e-2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_erfinv_is_infinite_at_its_ends_and_undoes_erf(backend: str) -> None:
    ends = np.array([1, -1, 1.0000001, -2, INF, NAN, 0, -0.0, 1e-42], np.float32)
    with wk.use_backend(backend):
        found = wk.erfinv(ends).numpy()
        back = wk.erf(wk.erfinv(np.linspace(-0.999, 0.999, 99, dtype=np.float32))).numpy()

    np.testing.assert_allclose(found, [INF, -INF, NAN, NAN, NAN, NAN, 0, 0, 1e-42], atol=1e-42)
    np.testing.assert_array_equal(np.signbit(found[6:8]), [False, True])
    np.testing.assert_allclose(back, np.linspace(-0.999, 0.999, 99), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 34])
def test_derivatives_of_any_order_agree_with_mpmath(backend: str, n: int) -> None:
    x = np.array([0.3, 0.99, 1.5, 2.0, 3.25, 9.5, 40.0, -0.25, -0.625, -3.625, -11.4], np.float32)
    exact = np.array([float(psi(n, float(one))) for one in x])
    with wk.use_backend(backend):
        found = wk.polygamma(x, n=n).numpy()

    inside = (np.abs(exact) < 3e38) & (np.abs(exact) > 1e-37)
    np.testing.assert_allclose(found[inside], exact[inside], rtol=(4 * n + 12) * 2.0**-23)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [2, 33, 34])
def test_terms_of_both_sides_that_overflow_or_cancel_leave_the_sum(backend: str, n: int) -> None:
    x = np.array([-0.5, -2.5, -20.5, -0.3, -7.3, -20.25, -33.625, -1e-30], np.float32)
    with mpmath.workdps(100):
        exact = np.array([float(psi(n, float(one))) for one in x])
    with wk.use_backend(backend):
        found = wk.polygamma(x, n=n).numpy()

    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    np.testing.assert_allclose(found, rounded, rtol=(4 * n + 12) * 2.0**-23)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lgamma_is_differentiated_four_times(backend: str) -> None:
    x = np.array([0.75, 3.5, -1.25], np.float32)
    f: Any = wk.lgamma
    for _ in range(4):
        f = wk.grad(lambda x, f=f: wk.sum(f(x)))
    with wk.use_backend(backend):
        found = f(wk.tensor(x)).numpy()

    np.testing.assert_allclose(found, [float(psi(3, float(one))) for one in x], rtol=1e-5)


def test_double_precision_is_right_to_the_last_places() -> None:
    x = np.concatenate([np.linspace(0.05, 12, 200), [1 + 1e-9, 2 - 1e-9, 1e200]])
    with wk.use_backend("cpu"):
        given = wk.tensor(x, dtype="float64")
        for ours, theirs in ((wk.lgamma, loggamma), (wk.digamma, lambda x: psi(0, x))):
            exact = [float(theirs(one)) for one in x.tolist()]
            np.testing.assert_allclose(ours(given).numpy(), exact, rtol=1e-12)
        inner = np.concatenate([np.linspace(-0.999, 0.999, 99), [1 - 1e-14, 1e-300]])
        found = wk.erfinv(wk.tensor(inner, dtype="float64")).numpy()
        outside = wk.erfc(wk.tensor([0.1, 9.0, 26.0], dtype="float64")).numpy()
    np.testing.assert_allclose(found, scipy.special.erfinv(inner), rtol=1e-12)
    np.testing.assert_allclose(outside, scipy.special.erfc([0.1, 9.0, 26.0]), rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_erfc_keeps_its_digits_to_where_it_is_no_number(backend: str) -> None:
    x = np.array([-INF, -3.0, 0.0, 0.29999, 0.3, 9.0, 10.09, 11.0, INF, NAN], np.float32)
    with wk.use_backend(backend):
        found = wk.erfc(x).numpy()

    np.testing.assert_allclose(found, scipy.special.erfc(x.astype(float)), rtol=5e-7, atol=1e-38)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [wk.lgamma, wk.digamma, wk.polygamma, wk.erfc, wk.erfinv])
def test_scalars_are_as_their_vectors(backend: str, f: Callable[[Any], wk.Tensor]) -> None:
    with wk.use_backend(backend):
        for x in (-0.25, 0.0, 0.75):
            found, row = f(x), f([x])
            assert found.shape == ()
            np.testing.assert_array_equal(found.numpy(), row.numpy()[0])


def test_scipys_functions_run_ours() -> None:
    x = wk.tensor([0.25, 0.5])
    for theirs, ours in (
        (scipy.special.gammaln, wk.lgamma),
        (scipy.special.psi, wk.digamma),
        (scipy.special.erfinv, wk.erfinv),
        (scipy.special.erfc, wk.erfc),
    ):
        found = theirs(x)
        assert isinstance(found, wk.Tensor)
        np.testing.assert_array_equal(found.numpy(), ours(x).numpy())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("n", "words"), [(-1, "n is -1"), (35, r"n is 35; want .* in \[1, 34\]")])
def test_an_order_that_there_is_not_is_refused(backend: str, n: int, words: str) -> None:
    with wk.use_backend(backend), pytest.raises(wk.ArgumentError, match=words):
        wk.polygamma([1.0], n=n)
