"""Functions made of other ops give what NumPy does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 11.5
SMALL = np.array([3, 1, 3, 2, 1, 3], np.int32)


@BACKENDS
@pytest.mark.parametrize(
    ("ours", "right"),
    [
        (lambda: wk.diff(X, n=2), lambda: np.diff(X, 2)),
        (
            lambda: wk.diff(SMALL, prepend=wk.tensor([0]), append=wk.tensor([9])),
            lambda: np.diff(SMALL, prepend=0, append=9),
        ),
        (lambda: wk.trunc(X), lambda: np.trunc(X)),
        (lambda: wk.signbit(X), lambda: np.signbit(X)),
        (lambda: wk.positive(X), lambda: X),
        (lambda: wk.vecdot(X, X[0], axis=-1), lambda: np.sum(X * X[0], -1)),
        (lambda: wk.vecdot([1j, 2.0], [1.0, 1j]), lambda: np.vdot([1j, 2.0], [1.0, 1j])),
        (
            lambda: wk.tensordot(X, X, axes=((1, 0), (1, 0))),
            lambda: np.tensordot(X, X, ((1, 0), (1, 0))),
        ),
        (lambda: wk.tensordot(X[0], X[0].T.copy(), axes=1), lambda: X[0] @ X[0].T),
        (lambda: wk.tensordot(SMALL, SMALL, axes=0), lambda: np.tensordot(SMALL, SMALL, 0)),
        (lambda: wk.meshgrid([1, 2, 3], [4, 5])[1], lambda: np.meshgrid([1, 2, 3], [4, 5])[1]),
        (
            lambda: wk.meshgrid([1, 2, 3], [4, 5], indexing="ij")[0],
            lambda: np.meshgrid([1, 2, 3], [4, 5], indexing="ij")[0],
        ),
        (lambda: wk.broadcast_arrays(X, X[0, 0])[1], lambda: np.broadcast_to(X[0, 0], X.shape)),
        (lambda: wk.div_no_nan(X, X * 0), lambda: X * 0),
        (lambda: wk.gelu(X), lambda: X * special.ndtr(X.astype(np.float64))),
        (lambda: wk.silu(X), lambda: X / (1 + np.exp(-X.astype(np.float64)))),
        (lambda: wk.log_sigmoid(X), lambda: -np.logaddexp(0, -X.astype(np.float64))),
        (lambda: wk.unique_all(SMALL).indices, lambda: [0, 1, 3]),
        (lambda: wk.unique_all(SMALL).counts, lambda: [3, 2, 1]),
        (lambda: wk.unique_counts(SMALL).values, lambda: [3, 1, 2]),
        (lambda: wk.unique_inverse(SMALL.reshape(2, 3))[1], lambda: [[0, 1, 0], [2, 1, 0]]),
        (lambda: wk.unique_values(SMALL[:0]), lambda: SMALL[:0]),
    ],
)
def test_a_composition_gives_what_numpy_does(
    ours: Callable[[], wk.Tensor], right: Callable[[], Any], backend: str
) -> None:
    with wk.use_backend(backend):
        found = ours().numpy()

    np.testing.assert_allclose(found, np.asarray(right()), rtol=1e-5, atol=1e-5)


def test_a_quotient_of_zero_has_a_gradient_of_zero() -> None:
    da, db = wk.grads(wk.div_no_nan)(wk.tensor([1.0, 2.0]), wk.tensor([0.0, 4.0]))

    assert (da.tolist(), db.tolist()) == ([0.0, 0.25], [0.0, -0.125])


def test_the_constants_are_there() -> None:
    assert (wk.e, wk.pi, wk.inf, wk.newaxis) == (np.e, np.pi, np.inf, None)
    assert np.isnan(wk.nan)
    assert wk.empty((2, 0)).shape == (2, 0)
    assert wk.empty_like(X, dtype="int32").dtype == "int32"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wk.diff(X, n=9), wk.ShapeError, "diff: n is 9"),
        (lambda: wk.meshgrid(X), wk.ShapeError, "want a vector"),
        (lambda: wk.tensordot(X, X, axes=1), wk.ShapeError, "want the lengths of axes"),
        (lambda: wk.tensordot(X, X, axes=4), wk.ArgumentError, "axes is 4"),
        (lambda: wk.broadcast_arrays(X, [1.0, 2.0]), wk.ShapeError, "broadcast_arrays"),
    ],
)
def test_bad_input_is_named(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()
