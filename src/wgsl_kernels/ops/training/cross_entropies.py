"""Cross entropies of labels with logits, weighted and reduced as all losses are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import integer, number
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import activation, cast, compare, logical
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.reductions import reduce, softmax
from wgsl_kernels.ops.shapes import shape
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


@public()
def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike | None = None,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return the cross entropy of classes, given by their numbers, with the softmax of ``logits``.

    Args:
        labels: [...], integers: the numbers of the right classes.
        logits: [..., classes], unbounded.
        weights: Broadcast with ``labels``; without them every loss counts once.
        ignore_index: A label whose losses are 0, with the weight 0; it need be no class.
        label_smoothing: In [0, 1]: how far labels are drawn towards 1 / classes.
        reduction: What is made of the weighted losses; see `compute_weighted_loss`. By default
            their mean, of those that are not ignored; NaN where all are.

    Returns:
        A scalar; the shape of ``labels`` for ``"none"``.

    Raises:
        ShapeError: ``logits`` has not the shape of ``labels`` with one axis more, or the weights do
            not broadcast.
        DTypeError: ``labels`` are no integers.
        IndexOutOfRange: A label is the number of no class.
        ArgumentError: ``label_smoothing`` or ``reduction`` is not one of these.

    Example:
        >>> logits = tensor([[0.0, 0.0], [0.0, 0.0], [5.0, 0.0]])
        >>> sparse_softmax_cross_entropy([1, 0, -1], logits, ignore_index=-1).numpy()
        array(0.6931472, dtype=float32)
    """
    op = "sparse_softmax_cross_entropy"
    wanted, given = as_tensor(labels), as_floats(logits)
    require_dtype(op, "labels", wanted.spec, "int32", "uint8", "int8")
    if given.shape[:-1] != wanted.shape or not given.ndim:
        raise ShapeError(
            f"{op}: labels has shape {show(wanted.shape)}, logits {show(given.shape)}; want [...] "
            "and [..., classes]."
        )
    _check_smoothing(op, label_smoothing)
    counted = None
    if ignore_index is not None:
        counted = compare.not_equal(wanted, integer(op, "ignore_index", ignore_index))
        wanted = logical.where(counted, wanted, 0)
    log_p = softmax.log_softmax(given, axis=-1)
    right = gather.take_along_axis(log_p, shape.expand_dims(wanted, -1), axis=-1)
    losses = -shape.squeeze(right, -1)
    if label_smoothing > 0:
        losses = losses * (1 - label_smoothing) - reduce.mean(log_p, axis=-1) * label_smoothing
    if counted is not None:
        losses = logical.where(counted, losses, 0.0)
        own = cast.astype(counted, losses.dtype)
        weights = own if weights is None else as_tensor(weights) * own
    return weighted(op, losses, weights, reduction)


def _check_smoothing(op: str, label_smoothing: float) -> None:
    if not 0 <= number(op, "label_smoothing", label_smoothing) <= 1:
        raise ArgumentError(f"{op}: label_smoothing is {label_smoothing}; want one in [0, 1].")
