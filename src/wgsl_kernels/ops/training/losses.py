"""Losses: how far predictions are from labels, weighted and reduced to a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.engine.values.shapes import normalize_axis
from wgsl_kernels.ops.elementwise import activation, binary, differences, exponential, unary
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.training.weighting import Reduction, pair_of, weighted

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike


@public(tfjs="losses.absoluteDifference")
def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    *,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return the sizes of the differences of labels and predictions, by default their mean.

    Args:
        labels: [batch, ...], float32.
        predictions: The shape of ``labels``.
        weights: Broadcast with ``labels``; without them every loss counts once.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``reduction`` is unknown.

    Example:
        >>> absolute_difference(tensor([0.0, 1.0]), tensor([2.0, 1.0])).item()
        1.0
    """
    wanted, given = pair_of("absolute_difference", labels, predictions, "predictions")
    return weighted("absolute_difference", unary.abs(wanted - given), weights, reduction)


@public(tfjs="losses.cosineDistance")
def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int,
    weights: TensorLike | None = None,
    *,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return 1 less the inner products of labels and predictions along ``axis``.

    It is a cosine where both have unit length along that axis; they are not divided by theirs.

    Args:
        labels: [batch, ...], float32.
        predictions: The shape of ``labels``.
        axis: The axis of the products; it stays, of length 1.
        weights: Broadcast with the losses; without them every loss counts once.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; the shape of the losses for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``reduction`` is unknown.

    Example:
        >>> cosine_distance(tensor([[0.6, 0.8]]), tensor([[1.0, 0.0]]), 1).item()
        0.399...
    """
    wanted, given = pair_of("cosine_distance", labels, predictions, "predictions")
    at = normalize_axis("cosine_distance", axis, wanted.ndim)
    losses = 1.0 - reduce.sum(wanted * given, axis=at, keepdims=True)
    return weighted("cosine_distance", losses, weights, reduction)


@public(tfjs="losses.hingeLoss")
def hinge_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    *,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return how far predictions are from lying beyond 1 on their label's side of 0.

    A loss is ``max(1 - s * prediction, 0)``, s being -1 for the label 0 and 1 for 1.

    Args:
        labels: [batch, ...], 0 or 1.
        predictions: The shape of ``labels``.
        weights: Broadcast with ``labels``; without them every loss counts once.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``reduction`` is unknown.

    Example:
        >>> hinge_loss(tensor([0.0, 1.0, 1.0]), tensor([1.0, 0.5, 3.0]), reduction="none").tolist()
        [2.0, 0.5, 0.0]
    """
    wanted, given = pair_of("hinge_loss", labels, predictions, "predictions")
    losses = activation.relu(1.0 - (wanted * 2.0 - 1.0) * given)
    return weighted("hinge_loss", losses, weights, reduction)


@public(tfjs="losses.huberLoss")
def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    *,
    delta: float = 1.0,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return the Huber loss: quadratic near zero, linear beyond ``delta``.

    Args:
        labels: [batch, ...], float32.
        predictions: The shape of ``labels``.
        weights: Broadcast with ``labels``; without them every loss counts once.
        delta: Where the two branches meet, in the unit of ``labels``; above 0.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``delta`` is not above 0, or ``reduction`` is unknown.

    Example:
        >>> huber_loss(tensor([0.0, 0.0]), tensor([0.5, 3.0])).numpy()
        array(1.3125, dtype=float32)

    Source: Huber, Robust Estimation of a Location Parameter, 1964.
    """
    if not number("huber_loss", "delta", delta) > 0:
        raise ArgumentError(f"huber_loss: delta is {delta}; want a number above 0.")
    wanted, given = pair_of("huber_loss", labels, predictions, "predictions")
    error = unary.abs(wanted - given)
    quadratic = binary.minimum(error, delta)
    losses = unary.square(quadratic) * 0.5 + (error - quadratic) * delta
    return weighted("huber_loss", losses, weights, reduction)


@public(tfjs="losses.logLoss")
def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    *,
    epsilon: float = 1e-7,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return the cross entropy of independent classes with probabilities.

    Of logits, `sigmoid_cross_entropy` has more digits.

    Args:
        labels: [batch, ...], probabilities.
        predictions: The shape of ``labels``, probabilities.
        weights: Broadcast with ``labels``; without them every loss counts once.
        epsilon: Added to the arguments of both logarithms.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``reduction`` is unknown.

    Example:
        >>> log_loss(tensor([1.0, 0.0]), tensor([0.5, 0.5])).item()
        0.69314...
    """
    shift = float(number("log_loss", "epsilon", epsilon))
    wanted, given = pair_of("log_loss", labels, predictions, "predictions")
    missed = exponential.log(1.0 - given + shift)
    losses = -wanted * exponential.log(given + shift) - (1.0 - wanted) * missed
    return weighted("log_loss", losses, weights, reduction)


@public(tfjs="losses.meanSquaredError")
def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    *,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return the squared differences of labels and predictions, by default their mean.

    Args:
        labels: [batch, ...], float32.
        predictions: The shape of ``labels``.
        weights: Broadcast with ``labels``; without them every loss counts once.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``reduction`` is unknown.

    Example:
        >>> mean_squared_error(tensor([0.0, 1.0]), tensor([2.0, 1.0])).numpy()
        array(2., dtype=float32)
    """
    wanted, given = pair_of("mean_squared_error", labels, predictions, "predictions")
    losses = differences.squared_difference(wanted, given)
    return weighted("mean_squared_error", losses, weights, reduction)
