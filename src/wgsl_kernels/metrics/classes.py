"""How often predicted classes are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.autodiff.autodiff import stop_gradient
from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.values.attributes import at_least
from wgsl_kernels.engine.values.dtypes import is_float
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.metrics import sums
from wgsl_kernels.metrics.averages import Mean, mean
from wgsl_kernels.ops.elementwise import compare
from wgsl_kernels.ops.reductions import extremes
from wgsl_kernels.ops.shapes import shape
from wgsl_kernels.ops.training import classification

if TYPE_CHECKING:
    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@dataclass(eq=False)
class Accuracy:
    """The part of the predictions that are right.

    Attributes:
        right: The mean of 1 for those that are and 0 for the others.
    """

    right: Mean

    def update(
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> None:
        """Add a batch.

        Args:
            labels: [...], classes: integers.
            predictions: [..., classes], floats, of which the largest counts; or [...], integers.
            weights: They broadcast to ``labels``; without them each counts 1.

        Raises:
            ShapeError: The shapes do not fit.
        """
        wanted, found = _labels_and_classes("Accuracy.update", labels, predictions)
        self.right.update(compare.equal(wanted, found), weights)

    def result(self) -> Tensor:
        """Return the accuracy, a float32 scalar in [0, 1]; NaN before the first batch."""
        return self.right.result()

    def reset(self) -> None:
        """Begin anew."""
        self.right.reset()


def accuracy() -> Accuracy:
    """Return a metric: the part of the predictions that are right.

    Example:
        >>> right = wk.metrics.accuracy()
        >>> right.update([1, 0], [[0.1, 0.9], [0.8, 0.2]])
        >>> right.update([1, 1], [[0.7, 0.3], [0.0, 0.0]], weights=[1.0, 0.0])
        >>> f"{right.result():.3f}"
        '0.667'
    """
    return Accuracy(mean())


@dataclass(eq=False)
class TopKAccuracy:
    """The part of the labels that are among the k largest predictions.

    Attributes:
        right: The mean of 1 for those that are and 0 for the others.
        k: How many are taken.
    """

    right: Mean
    k: int

    def __post_init__(self) -> None:
        self.k = at_least("TopKAccuracy", "k", self.k, 1)

    def update(
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> None:
        """Add a batch.

        Args:
            labels: [...], classes: int32.
            predictions: [..., classes], floats.
            weights: They broadcast to ``labels``; without them each counts 1.

        Raises:
            ShapeError: The shapes do not fit.
            ArgumentError: There are fewer classes than ``k``.
        """
        given = stop_gradient(as_tensor(predictions))
        self.right.update(classification.in_top_k(given, labels, self.k), weights)

    def result(self) -> Tensor:
        """Return the accuracy, a float32 scalar in [0, 1]; NaN before the first batch."""
        return self.right.result()

    def reset(self) -> None:
        """Begin anew."""
        self.right.reset()


def top_k_accuracy(k: int = 5) -> TopKAccuracy:
    """Return a metric: the part of the labels that are among the ``k`` largest predictions.

    What equals the k-th largest counts as one of them, as in `in_top_k`.

    Raises:
        ArgumentError: ``k`` is below 1.

    Example:
        >>> among = wk.metrics.top_k_accuracy(2)
        >>> among.update([2, 2], [[0.1, 0.9, 0.5], [0.7, 0.2, 0.1]])
        >>> among.result().item()
        0.5
    """
    return TopKAccuracy(mean(), at_least("top_k_accuracy", "k", k, 1))


@dataclass(eq=False)
class ConfusionMatrix:
    """How often each class was predicted for each label.

    Attributes:
        counts: [classes, classes], float32: a row per label, a column per prediction.
    """

    counts: Variable

    def update(
        self, labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> None:
        """Add a batch; labels and predictions that are no classes do not count.

        Args:
            labels: [...], integers.
            predictions: [..., classes], floats, of which the largest counts; or [...], integers.
            weights: They broadcast to ``labels``; without them each counts 1.

        Raises:
            ShapeError: The shapes do not fit.
        """
        op, count = "ConfusionMatrix.update", self.counts.shape[0]
        scores = as_tensor(predictions)
        wanted, found = _labels_and_classes(op, labels, scores)
        if is_float(scores.dtype) and scores.shape[-1] != count:
            raise ShapeError(f"{op}: predictions has {scores.shape[-1]} classes; want {count}.")
        each = sums.weights_like(op, weights, wanted)
        wanted, found, each = [shape.reshape(one, (-1,)) for one in (wanted, found, each)]
        more = classification.confusion_matrix(wanted, found, count, weights=each)
        sums.add((self.counts, more))

    def result(self) -> Tensor:
        """Return [classes, classes], float32: a row per label, a column per prediction."""
        return stop_gradient(self.counts)

    def reset(self) -> None:
        """Begin anew."""
        sums.reset(self.counts)


def confusion_matrix(num_classes: int) -> ConfusionMatrix:
    """Return a metric: how often each class was predicted for each label.

    Raises:
        ArgumentError: ``num_classes`` is below 1.

    Example:
        >>> pairs = wk.metrics.confusion_matrix(2)
        >>> pairs.update([0, 1], [[0.9, 0.1], [0.2, 0.8]])
        >>> pairs.update([1, 1], [0, 1])
        >>> pairs.result().tolist()
        [[1.0, 0.0], [1.0, 2.0]]
    """
    count = at_least("confusion_matrix", "num_classes", num_classes, 1)
    return ConfusionMatrix(sums.zeros(count, count))


def _labels_and_classes(
    op: str, labels: TensorLike, predictions: TensorLike
) -> tuple[Tensor, Tensor]:
    """Return labels and predicted classes of one shape.

    Raises:
        ShapeError: The shapes do not fit.
        ArgumentError: There are floats, of which none is the largest.
    """
    wanted, found = as_tensor(labels), stop_gradient(as_tensor(predictions))
    if is_float(wanted.dtype):
        raise ArgumentError(f"{op}: labels is {wanted.dtype}; want classes, which are integers.")
    if is_float(found.dtype) and found.ndim and found.shape[:-1] == wanted.shape:
        return wanted, extremes.argmax(found, -1)
    if is_float(found.dtype) or found.shape != wanted.shape:
        raise ShapeError(
            f"{op}: labels has shape {show(wanted.shape)}, predictions {found.dtype}"
            f"{show(found.shape)}; want floats [..., classes], or integers of the labels' shape."
        )
    return wanted, found
