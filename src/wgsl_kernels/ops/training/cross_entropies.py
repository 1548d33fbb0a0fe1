"""Cross entropies of labels with logits, weighted and reduced as all losses are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.ops.elementwise import activation
from wgsl_kernels.ops.reductions import reduce, softmax
from wgsl_kernels.ops.training.weighting import Reduction, pair_of, weighted

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(tfjs="losses.sigmoidCrossEntropy")
def sigmoid_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike | None = None,
    *,
    label_smoothing: float = 0.0,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return the cross entropy of independent classes with the sigmoid of ``logits``.

    Args:
        labels: [batch, classes], probabilities.
        logits: The shape of ``labels``; unbounded.
        weights: Broadcast with ``labels``; without them every loss counts once.
        label_smoothing: In [0, 1]: how far labels are drawn towards 1/2.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``label_smoothing`` or ``reduction`` is not one of these.

    Example:
        >>> sigmoid_cross_entropy(tensor([1.0, 0.0]), tensor([0.0, 0.0])).numpy()
        array(0.6931472, dtype=float32)
    """
    wanted, given = pair_of("sigmoid_cross_entropy", labels, logits, "logits")
    _check_smoothing("sigmoid_cross_entropy", label_smoothing)
    if label_smoothing > 0:
        wanted = wanted * (1 - label_smoothing) + 0.5 * label_smoothing
    # -l log sigmoid(z) - (1 - l) log sigmoid(-z): no term overflows, none cancels another
    losses = wanted * activation.softplus(-given) + (1.0 - wanted) * activation.softplus(given)
    return weighted("sigmoid_cross_entropy", losses, weights, reduction)


@public(tfjs="losses.softmaxCrossEntropy")
def softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike | None = None,
    *,
    label_smoothing: float = 0.0,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return the cross entropy of exclusive classes with the softmax of ``logits``.

    Args:
        labels: [batch, classes], probabilities that add up to 1 along the last axis.
        logits: The shape of ``labels``; unbounded.
        weights: Broadcast with [batch]; without them every loss counts once.
        label_smoothing: In [0, 1]: how far labels are drawn towards 1 / classes.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; [batch] for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``label_smoothing`` or ``reduction`` is not one of these.

    Example:
        >>> softmax_cross_entropy(tensor([[1.0, 0.0]]), tensor([[0.0, 0.0]])).numpy()
        array(0.6931472, dtype=float32)
    """
    wanted, given = pair_of("softmax_cross_entropy", labels, logits, "logits")
    _check_smoothing("softmax_cross_entropy", label_smoothing)
    if not wanted.ndim:
        raise ShapeError("softmax_cross_entropy: labels is a scalar; want [..., classes].")
    if label_smoothing > 0:
        wanted = wanted * (1 - label_smoothing) + label_smoothing / max(wanted.shape[-1], 1)
    losses = -reduce.sum(wanted * softmax.log_softmax(given, axis=-1), axis=-1)
    return weighted("softmax_cross_entropy", losses, weights, reduction)


def _check_smoothing(op: str, label_smoothing: float) -> None:
    if not 0 <= number(op, "label_smoothing", label_smoothing) <= 1:
        raise ArgumentError(f"{op}: label_smoothing is {label_smoothing}; want one in [0, 1].")
