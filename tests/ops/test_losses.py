"""Losses: values, weights and reductions, extremes of the logits, gradients, messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.ops.training.weighting import Reduction

BACKENDS = ["cpu", "webgpu"]
LABELS = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)
LOGITS = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]], np.float32)


@pytest.fixture(params=BACKENDS, autouse=True)
def _backend(request: pytest.FixtureRequest) -> object:
    with wk.use_backend(request.param):
        yield


def cross_entropies(labels: np.ndarray) -> np.ndarray:
    logits = LOGITS.astype(np.float64)
    shifted = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return np.asarray(-np.sum(labels * shifted, -1))


def test_softmax_cross_entropy_smooths_and_reduces() -> None:
    losses = cross_entropies(LABELS)
    found = wk.softmax_cross_entropy(LABELS, LOGITS, reduction="none")
    np.testing.assert_allclose(found.numpy(), losses, rtol=1e-5)
    assert wk.softmax_cross_entropy(LABELS, LOGITS).item() == pytest.approx(losses.mean())
    smooth = cross_entropies(LABELS * 0.7 + 0.1)
    found = wk.softmax_cross_entropy(LABELS, LOGITS, label_smoothing=0.3, reduction="sum")
    assert found.item() == pytest.approx(smooth.sum(), rel=1e-5)


def test_weights_are_counted_or_summed() -> None:
    weights = np.array([[2.0], [0.0]], np.float32)
    losses = (LABELS - LOGITS) ** 2 * weights
    expected: dict[Reduction, float] = {
        "sum": losses.sum(),
        "mean": losses.sum() / 6,
        "sum_by_nonzero_weights": losses.sum() / 3,
    }
    for reduction, value in expected.items():
        found = wk.mean_squared_error(LABELS, LOGITS, weights, reduction=reduction)
        assert found.item() == pytest.approx(value, rel=1e-5)
    found = wk.mean_squared_error(LABELS, LOGITS, weights, reduction="none")
    np.testing.assert_allclose(found.numpy(), losses, rtol=1e-5)


def test_sigmoid_cross_entropy_neither_overflows_nor_cancels() -> None:
    labels, logits = [1.0, 0.0, 1.0, 0.0], [30.0, -30.0, -1000.0, 1000.0]
    found = wk.sigmoid_cross_entropy(labels, logits, reduction="none")
    np.testing.assert_allclose(found.numpy(), [np.exp(-30), np.exp(-30), 1000, 1000], rtol=1e-5)


def test_huber_loss_is_quadratic_then_linear() -> None:
    found = wk.huber_loss([0.0, 0.0, 0.0], [0.5, -3.0, 2.0], delta=2.0, reduction="none")
    np.testing.assert_allclose(found.numpy(), [0.125, 4, 2])


def test_integer_labels_are_taken_as_floats() -> None:
    assert wk.mean_squared_error([1, 2], [1.5, 2.0]).item() == 0.125
    assert wk.mean_squared_error([1.5, 2.0], [1, 2]).item() == 0.125


@pytest.mark.parametrize(
    "loss",
    [
        wk.huber_loss,
        wk.mean_squared_error,
        wk.sigmoid_cross_entropy,
        wk.softmax_cross_entropy,
    ],
)
def test_gradients_match_numbers(loss: Callable[..., wk.Tensor]) -> None:
    assert wk.testing.compute_gradient_error(loss, [LABELS * 0.9, LOGITS]) < 1e-5


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: wk.huber_loss([1.0], [1.0], delta=0), wk.ArgumentError, "delta is 0"),
        (
            lambda: wk.mean_squared_error([1.0], [1.0], reduction="average"),  # type: ignore[arg-type]  # what is tested
            wk.ArgumentError,
            "reduction is 'average'",
        ),
        (
            lambda: wk.sigmoid_cross_entropy([1.0], [1.0, 2.0]),
            wk.ShapeError,
            r"labels has shape \[1\], logits \[2\]",
        ),
        (
            lambda: wk.softmax_cross_entropy([1.0], [1.0], label_smoothing=2.0),
            wk.ArgumentError,
            "label_smoothing is 2.0",
        ),
        (
            lambda: wk.mean_squared_error([1.0, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0]),
            wk.ShapeError,
            r"losses is \[2\], weights is \[3\]",
        ),
    ],
)
def test_bad_input_is_refused_in_words(
    run: Callable[[], wk.Tensor], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run()


@pytest.mark.parametrize("backend", ["cpu", "webgpu"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_sparse_cross_entropy_is_that_of_one_hot_labels_but_for_ignored_ones(
    smoothing: float, backend: str
) -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(2, 5, 4)).astype(np.float32), rng.integers(0, 4, (2, 5))
    weights = rng.random((2, 5)).astype(np.float32)
    with wk.use_backend(backend):
        for reduction in ("none", "sum", "mean", "sum_by_nonzero_weights"):
            options: dict[str, Any] = {"label_smoothing": smoothing, "reduction": reduction}
            found = wk.sparse_softmax_cross_entropy(labels, logits, weights, **options)
            whole = np.eye(4, dtype=np.float32)[labels]
            expected = wk.softmax_cross_entropy(whole, logits, weights, **options)
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
        ignored = np.where(labels == 2, -100, labels)
        found = wk.sparse_softmax_cross_entropy(ignored, logits, ignore_index=-100)
        kept = labels != 2
        expected = wk.sparse_softmax_cross_entropy(labels[kept], logits[kept])
        assert found.item() == pytest.approx(expected.item(), rel=1e-5)
        slope = wk.grad(lambda z: wk.sparse_softmax_cross_entropy(ignored, z, ignore_index=-100))(
            wk.tensor(logits)
        ).numpy()
        assert (slope[~kept] == 0).all()
        assert (slope[kept] != 0).all()


def test_sparse_cross_entropy_refuses_what_is_no_label() -> None:
    logits = wk.ones((2, 3))
    with pytest.raises(wk.DTypeError, match="labels has dtype float32"):
        wk.sparse_softmax_cross_entropy([0.0, 1.0], logits)
    with pytest.raises(wk.ShapeError, match=r"labels has shape \[2, 1\], logits \[2, 3\]"):
        wk.sparse_softmax_cross_entropy([[0], [1]], logits)
    with pytest.raises(wk.IndexOutOfRange):
        wk.sparse_softmax_cross_entropy([0, 3], logits).numpy()
