"""How well scores in [0, 1] tell two classes apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.values.attributes import at_least, number
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.metrics import sums
from wgsl_kernels.ops.elementwise import cast, compare, logical, unary
from wgsl_kernels.ops.elementwise.binary import maximum, minimum
from wgsl_kernels.ops.indexing import counting
from wgsl_kernels.ops.names.compositions import div_no_nan
from wgsl_kernels.ops.reductions import reduce, scan
from wgsl_kernels.ops.shapes import joining, shape

if TYPE_CHECKING:
    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@dataclass(eq=False)
class Precision:
    """The part of what is predicted to be positive that is.

    Attributes:
        counts: [3]: true positives, false positives, false negatives.
        threshold: Scores above it are positive.
    """

    counts: Variable
    threshold: float

    def update(
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> None:
        """Add a batch.

        Args:
            labels: [...], 0 and 1, or bools.
            predictions: [...], scores.
            weights: They broadcast to ``labels``; without them each counts 1.

        Raises:
            ShapeError: The shapes do not fit.
        """
        _add(self.counts, "Precision.update", labels, predictions, weights, self.threshold)

    def result(self) -> Tensor:
        """Return the precision, a float32 scalar; 0 where nothing is predicted to be positive."""
        return div_no_nan(self.counts[0], self.counts[0] + self.counts[1])

    def reset(self) -> None:
        """Begin anew."""
        sums.reset(self.counts)


def precision(threshold: float = 0.5) -> Precision:
    """Return a metric: the part of what is predicted to be positive that is.

    Example:
        >>> metric = wk.metrics.precision()
        >>> metric.update([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.2])
        >>> f"{metric.result():.3f}"
        '0.667'
    """
    return Precision(sums.zeros(3), number("precision", "threshold", threshold))


@dataclass(eq=False)
class Recall:
    """The part of the positives that are predicted to be.

    Attributes:
        counts: [3]: true positives, false positives, false negatives.
        threshold: Scores above it are positive.
    """

    counts: Variable
    threshold: float

    def update(
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> None:
        """Add a batch; see `Precision.update`."""
        _add(self.counts, "Recall.update", labels, predictions, weights, self.threshold)

    def result(self) -> Tensor:
        """Return the recall, a float32 scalar; 0 where there are no positives."""
        return div_no_nan(self.counts[0], self.counts[0] + self.counts[2])

    def reset(self) -> None:
        """Begin anew."""
        sums.reset(self.counts)


def recall(threshold: float = 0.5) -> Recall:
    """Return a metric: the part of the positives that are predicted to be.

    Example:
        >>> metric = wk.metrics.recall()
        >>> metric.update([1, 0, 1, 1, 1], [0.9, 0.8, 0.7, 0.2, 0.6])
        >>> metric.result().item()
        0.75
    """
    return Recall(sums.zeros(3), number("recall", "threshold", threshold))


@dataclass(eq=False)
class F1Score:
    """The harmonic mean of precision and recall.

    Attributes:
        counts: [3]: true positives, false positives, false negatives.
        threshold: Scores above it are positive.
    """

    counts: Variable
    threshold: float

    def update(
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> None:
        """Add a batch; see `Precision.update`."""
        _add(self.counts, "F1Score.update", labels, predictions, weights, self.threshold)

    def result(self) -> Tensor:
        """Return the score, a float32 scalar; 0 where there are no positives, found or not."""
        right, wrong, missed = (self.counts[place] for place in range(3))
        return div_no_nan(2.0 * right, 2.0 * right + wrong + missed)

    def reset(self) -> None:
        """Begin anew."""
        sums.reset(self.counts)


def f1_score(threshold: float = 0.5) -> F1Score:
    """Return a metric: the harmonic mean of precision and recall.

    Example:
        >>> metric = wk.metrics.f1_score()
        >>> metric.update([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.2])
        >>> f"{metric.result():.3f}"
        '0.667'
    """
    return F1Score(sums.zeros(3), number("f1_score", "threshold", threshold))


@dataclass(eq=False)
class AUC:
    """The area under the ROC curve: how probably a positive has a higher score than a negative.

    Attributes:
        counts: [2, bins]: how many negatives, and how many positives, have a score in each bin.
    """

    counts: Variable

    def update(
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> None:
        """Add a batch.

        Args:
            labels: [...], 0 and 1, or bools.
            predictions: [...], scores in [0, 1]; what is outside counts as 0 or 1, and NaN does not
                count.
            weights: They broadcast to ``labels``; without them each counts 1.

        Raises:
            ShapeError: The shapes do not fit.
        """
        wanted, given, each = _flat("AUC.update", labels, predictions, weights)
        bins = self.counts.shape[1]
        place = unary.floor(minimum(maximum(given, 0.0), 1.0) * bins)
        place = cast.astype(minimum(place, bins - 1), "int32")
        place = place + bins * cast.astype(compare.greater(wanted, 0.5), "int32")
        found = logical.where(compare.equal(given, given), place, 2 * bins)
        more = counting.bincount(found, each, 2 * bins)
        sums.add((self.counts, shape.reshape(more, (2, bins))))

    def result(self) -> Tensor:
        """Return the area, a float32 scalar in [0, 1]; NaN while one of the classes is missing.

        It is the chance that a positive has a higher score than a negative, where equal ones, which
        those of one bin are, count half.

        Source: Hanley and McNeil, The Meaning and Use of the Area under a ROC Curve, 1982.
        """
        negatives, positives = self.counts[0], self.counts[1]
        shares = positives / reduce.sum(positives), negatives / reduce.sum(negatives)
        below = scan.cumulative_sum(shares[1]) - 0.5 * shares[1]
        return reduce.sum(shares[0] * below)

    def reset(self) -> None:
        """Begin anew."""
        sums.reset(self.counts)


def auc(bins: int = 1000) -> AUC:
    """Return a metric: the area under the ROC curve, from a histogram of the scores.

    Args:
        bins: How many scores are told apart, evenly spaced from 0 to 1; at least 2.

    Raises:
        ArgumentError: ``bins`` is below 2.

    Example:
        >>> metric = wk.metrics.auc()
        >>> metric.update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> metric.result().item()
        0.75
    """
    return AUC(sums.zeros(2, at_least("auc", "bins", bins, 2)))


def _flat(
    op: str, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None
) -> list[Tensor]:
    """Return labels, scores and weights as vectors of float32.

    Raises:
        ShapeError: The shapes do not fit.
    """
    wanted, given = sums.floats(labels), sums.floats(predictions)
    if wanted.shape != given.shape:
        raise ShapeError(
            f"{op}: labels has shape {show(wanted.shape)}, predictions {show(given.shape)}; want "
            "the same."
        )
    each = sums.weights_like(op, weights, wanted)
    return [shape.reshape(one, (-1,)) for one in (wanted, given, each)]


def _add(
    counts: Variable,
    op: str,
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None,
    threshold: float,
) -> None:
    """Add true positives, false positives and false negatives."""
    wanted, given, each = _flat(op, labels, predictions, weights)
    is_true, is_found = compare.greater(wanted, 0.5), compare.greater(given, threshold)
    right = logical.logical_and(is_true, is_found)
    wrong = logical.logical_and(logical.logical_not(is_true), is_found)
    missed = logical.logical_and(is_true, logical.logical_not(is_found))
    found = [reduce.sum(logical.where(one, each, 0.0)) for one in (right, wrong, missed)]
    sums.add((counts, joining.stack(found)))
