"""Metrics over batches of other sizes, by weights, captured, and what they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DRAW = np.random.default_rng(11)
LABELS = DRAW.integers(0, 4, 50)
SCORES = (
    DRAW.normal(0.0, 1.0, (50, 4)).astype(np.float32) + 1.5 * np.eye(4, dtype=np.float32)[LABELS]
)
IS_ONE = (LABELS == 1).astype(np.int32)
CHANCES = (1 / (1 + np.exp(-SCORES[:, 1]))).astype(np.float32)
FOUND = CHANCES > 0.5


@pytest.fixture(params=["cpu", "webgpu"], autouse=True)
def _backend(request: pytest.FixtureRequest) -> Iterator[None]:
    with wk.use_backend(request.param):
        yield


def _pairs(labels: Any, scores: Any) -> float:
    """Return how many pairs of a positive and a negative are in order; equal ones count half."""
    ahead = scores[labels == 1][:, None] - scores[labels == 0][None]
    return float(((ahead > 0) + 0.5 * (ahead == 0)).mean())


RIGHT, WRONG, MISSED = (
    (FOUND & (IS_ONE == 1)).sum(),
    (FOUND & (IS_ONE == 0)).sum(),
    (~FOUND & (IS_ONE == 1)).sum(),
)
MATRIX = np.zeros((4, 4), np.float32)
np.add.at(MATRIX, (LABELS, SCORES.argmax(1)), 1)
ORDER = np.argsort(-SCORES, axis=1)
CASES: dict[str, tuple[Callable[[], Any], Any, Any, Any]] = {
    "accuracy": (wk.metrics.accuracy, LABELS, SCORES, (SCORES.argmax(1) == LABELS).mean()),
    "top_k": (
        lambda: wk.metrics.top_k_accuracy(2),
        LABELS,
        SCORES,
        (ORDER[:, :2] == LABELS[:, None]).any(1).mean(),
    ),
    "confusion": (lambda: wk.metrics.confusion_matrix(4), LABELS, SCORES, MATRIX),
    "precision": (wk.metrics.precision, IS_ONE, CHANCES, RIGHT / (RIGHT + WRONG)),
    "recall": (wk.metrics.recall, IS_ONE, CHANCES, RIGHT / (RIGHT + MISSED)),
    "f1": (wk.metrics.f1_score, IS_ONE, CHANCES, 2 * RIGHT / (2 * RIGHT + WRONG + MISSED)),
    "auc": (
        lambda: wk.metrics.auc(64),
        IS_ONE,
        CHANCES,
        _pairs(IS_ONE, np.floor(CHANCES * np.float32(64))),
    ),
}


@pytest.mark.parametrize("pad_last", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_batches_give_what_all_rows_give_together(case: str, pad_last: bool) -> None:
    make, labels, scores, expected = CASES[case]
    metric = make()
    update = wk.capture(metric.update) if pad_last else metric.update
    for _ in range(2):
        metric.reset()
        for batch in wk.data.batches(scores, labels, 16, pad_last=pad_last):
            x, y, *weights = batch
            update(y, x, *weights)
        wk.testing.assert_close(metric.result(), np.float32(expected), rtol=1e-6)


def test_a_mean_weighs_and_keeps_gradients_out() -> None:
    loss, w = wk.metrics.mean(), wk.variable([1.0, 2.0, 3.0])

    def step() -> wk.Tensor:
        losses = w * w
        loss.update(losses, [1.0, 1.0, 0.0])
        return wk.sum(losses)

    _, slopes = wk.variable_grads(step)
    loss.update([[10.0], [20.0]], [[2.0], [1.0]])
    assert list(slopes) == [w]
    assert loss.result().item() == 9.0
    assert np.isnan(wk.metrics.mean().result().item())


def test_metrics_are_saved_as_other_trees_are(tmp_path: Path) -> None:
    kept, other = wk.metrics.accuracy(), wk.metrics.accuracy()
    kept.update([0, 1], [0, 0])
    wk.save(tmp_path / "metrics.safetensors", {"right": kept})
    wk.load(tmp_path / "metrics.safetensors", into={"right": other})
    assert other.result().item() == 0.5


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda m: m.accuracy().update([0, 1], [0.1, 0.9]), "Accuracy.update: .*or integers of"),
        (lambda m: m.accuracy().update([0.0, 1.0], [0, 1]), "labels is float32; want classes"),
        (lambda m: m.accuracy().update([0], [0], [1.0, 1.0]), "weights has shape .2.; want one"),
        (lambda m: m.recall().update([0, 1], [0.5]), "Recall.update: labels has shape"),
        (lambda m: m.top_k_accuracy(0), "k is 0"),
        (lambda m: m.auc(1), "bins is 1"),
        (
            lambda m: m.confusion_matrix(2).update([0], [[0.1, 0.2, 0.9]]),
            "ConfusionMatrix.update: predictions has 3 classes; want 2",
        ),
        (lambda m: wk.confusion_matrix([0], [0], 2, weights=[1.0, 2.0]), "weights has shape"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[Any], Any], match: str) -> None:
    with pytest.raises((wk.ArgumentError, wk.ShapeError), match=match):
        call(wk.metrics)
