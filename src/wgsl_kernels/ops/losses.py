"""Losses: how far predictions are from labels, weighted and reduced to a number.

All take ``weights`` that broadcast with the losses, and a ``reduction`` of the weighted losses:

- ``"none"``: each on its own;
- ``"sum"``: their sum;
- ``"mean"``: their sum divided by the sum of the weights;
- ``"sum_by_nonzero_weights"``: their sum divided by the number of weights that are not 0.
"""

from __future__ import annotations

from typing import Literal

from wgsl_kernels.engine.attributes import number, text
from wgsl_kernels.engine.dtypes import OBJECTS, DType, promote
from wgsl_kernels.engine.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.shapes import broadcast, show
from wgsl_kernels.engine.tensor import Tensor, TensorLike, as_tensor
from wgsl_kernels.ops import (
    activation,
    binary,
    cast,
    compare,
    reduce,
    shape,
    softmax,
    unary,
)
from wgsl_kernels.ops.elementwise import float_dtype

Reduction = Literal["none", "sum", "mean", "sum_by_nonzero_weights"]
REDUCTIONS = ("none", "sum", "mean", "sum_by_nonzero_weights")


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
        reduction: What is made of the weighted losses; see the module.

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
    wanted, given = _pair("huber_loss", labels, predictions, "predictions")
    error = unary.abs(wanted - given)
    quadratic = binary.minimum(error, delta)
    losses = unary.square(quadratic) * 0.5 + (error - quadratic) * delta
    return _weighted("huber_loss", losses, weights, reduction)


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
        reduction: What is made of the weighted losses; see the module.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``reduction`` is unknown.

    Example:
        >>> mean_squared_error(tensor([0.0, 1.0]), tensor([2.0, 1.0])).numpy()
        array(2., dtype=float32)
    """
    wanted, given = _pair("mean_squared_error", labels, predictions, "predictions")
    losses = binary.squared_difference(wanted, given)
    return _weighted("mean_squared_error", losses, weights, reduction)


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
        reduction: What is made of the weighted losses; see the module.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``label_smoothing`` or ``reduction`` is not one of these.

    Example:
        >>> sigmoid_cross_entropy(tensor([1.0, 0.0]), tensor([0.0, 0.0])).numpy()
        array(0.6931472, dtype=float32)
    """
    wanted, given = _pair("sigmoid_cross_entropy", labels, logits, "logits")
    _check_smoothing("sigmoid_cross_entropy", label_smoothing)
    if label_smoothing > 0:
        wanted = wanted * (1 - label_smoothing) + 0.5 * label_smoothing
    # -l log sigmoid(z) - (1 - l) log sigmoid(-z): no term overflows, none cancels another
    losses = wanted * activation.softplus(-given) + (1.0 - wanted) * activation.softplus(given)
    return _weighted("sigmoid_cross_entropy", losses, weights, reduction)


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
        reduction: What is made of the weighted losses; see the module.

    Returns:
        A scalar; [batch] for ``"none"``.

    Raises:
        ShapeError: The shapes differ, or the weights do not broadcast.
        ArgumentError: ``label_smoothing`` or ``reduction`` is not one of these.

    Example:
        >>> softmax_cross_entropy(tensor([[1.0, 0.0]]), tensor([[0.0, 0.0]])).numpy()
        array(0.6931472, dtype=float32)
    """
    wanted, given = _pair("softmax_cross_entropy", labels, logits, "logits")
    _check_smoothing("softmax_cross_entropy", label_smoothing)
    if not wanted.ndim:
        raise ShapeError("softmax_cross_entropy: labels is a scalar; want [..., classes].")
    if label_smoothing > 0:
        wanted = wanted * (1 - label_smoothing) + label_smoothing / max(wanted.shape[-1], 1)
    losses = -reduce.sum(wanted * softmax.log_softmax(given, axis=-1), axis=-1)
    return _weighted("softmax_cross_entropy", losses, weights, reduction)


def _pair(op: str, labels: TensorLike, predictions: TensorLike, name: str) -> tuple[Tensor, Tensor]:
    wanted, given = as_tensor(labels), as_tensor(predictions)
    if wanted.shape != given.shape:
        raise ShapeError(
            f"{op}: labels has shape {show(wanted.shape)}, {name} {show(given.shape)}; "
            "want the same."
        )
    dtype = float_dtype(promote(wanted.dtype, given.dtype))
    return _as(wanted, dtype), _as(given, dtype)


def _as(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype == dtype else cast.astype(x, OBJECTS[dtype])


def _check_smoothing(op: str, label_smoothing: float) -> None:
    if not 0 <= number(op, "label_smoothing", label_smoothing) <= 1:
        raise ArgumentError(f"{op}: label_smoothing is {label_smoothing}; want one in [0, 1].")


def _weighted(op: str, losses: Tensor, weights: TensorLike | None, reduction: Reduction) -> Tensor:
    if text(op, "reduction", reduction) not in REDUCTIONS:
        want = ", ".join(REDUCTIONS)
        raise ArgumentError(f"{op}: reduction is {reduction!r}; want {want}.")
    if weights is None:
        if reduction == "none":
            return losses
        return reduce.sum(losses) if reduction == "sum" else reduce.mean(losses)
    given = as_tensor(weights)
    whole = broadcast(op, losses=losses.spec, weights=given.spec)
    weighted = losses * given
    if reduction == "none":
        return weighted
    total = reduce.sum(weighted)
    if reduction == "sum":
        return total
    each = shape.broadcast_to(given, whole)
    if reduction == "mean":
        return total / reduce.sum(each)
    return total / reduce.sum(cast.astype(compare.not_equal(each, 0.0), losses.dtype))
