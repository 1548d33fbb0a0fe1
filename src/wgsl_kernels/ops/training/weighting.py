"""Losses weighted and reduced, as all losses are.

Weights broadcast with the losses; a ``reduction`` of the weighted losses is one of:

- ``"none"``: each on its own;
- ``"sum"``: their sum;
- ``"mean"``: their sum divided by the sum of the weights;
- ``"sum_by_nonzero_weights"``: their sum divided by the number of weights that are not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import text
from wgsl_kernels.engine.values.dtypes import OBJECTS, DType, promote
from wgsl_kernels.engine.values.shapes import broadcast, show
from wgsl_kernels.ops.elementwise import cast, compare
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.rules.specs import float_dtype
from wgsl_kernels.ops.shapes import shape

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike

Reduction = Literal["none", "sum", "mean", "sum_by_nonzero_weights"]
REDUCTIONS = ("none", "sum", "mean", "sum_by_nonzero_weights")


@public(tfjs="losses.computeWeightedLoss")
def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike | None = None,
    *,
    reduction: Reduction = "sum_by_nonzero_weights",
) -> Tensor:
    """Return losses times weights, reduced.

    Args:
        losses: Any shape; what is no float becomes float32.
        weights: Broadcast with ``losses``; without them every loss counts once.
        reduction: ``"none"``; ``"sum"``; ``"mean"``, the sum divided by that of the weights; or
            ``"sum_by_nonzero_weights"``, the sum divided by the number of weights that are not 0.

    Returns:
        A scalar; the shape of ``losses`` for ``"none"``.

    Raises:
        ShapeError: The weights do not broadcast.
        ArgumentError: ``reduction`` is unknown.

    Example:
        >>> compute_weighted_loss(tensor([1.0, 2.0, 3.0]), tensor([1.0, 0.0, 2.0])).item()
        3.5
    """
    given = as_tensor(losses)
    return weighted(
        "compute_weighted_loss", in_dtype(given, float_dtype(given.dtype)), weights, reduction
    )


def weighted(op: str, losses: Tensor, weights: TensorLike | None, reduction: Reduction) -> Tensor:
    """Return `compute_weighted_loss` of float losses; ``op`` is named where it is refused."""
    if text(op, "reduction", reduction) not in REDUCTIONS:
        want = ", ".join(REDUCTIONS)
        raise ArgumentError(f"{op}: reduction is {reduction!r}; want {want}.")
    if weights is None:
        if reduction == "none":
            return losses
        return reduce.sum(losses) if reduction == "sum" else reduce.mean(losses)
    given = as_tensor(weights)
    whole = broadcast(op, losses=losses.spec, weights=given.spec)
    products = losses * given
    if reduction == "none":
        return products
    total = reduce.sum(products)
    if reduction == "sum":
        return total
    each = shape.broadcast_to(given, whole)
    if reduction == "mean":
        return total / reduce.sum(each)
    return total / reduce.sum(cast.astype(compare.not_equal(each, 0.0), losses.dtype))


def pair_of(
    op: str, labels: TensorLike, predictions: TensorLike, name: str
) -> tuple[Tensor, Tensor]:
    """Return labels and predictions in one float dtype.

    Raises:
        ShapeError: The shapes differ; ``name`` says what the predictions are called.
    """
    wanted, given = as_tensor(labels), as_tensor(predictions)
    if wanted.shape != given.shape:
        raise ShapeError(
            f"{op}: labels has shape {show(wanted.shape)}, {name} {show(given.shape)}; "
            "want the same."
        )
    dtype = float_dtype(promote(wanted.dtype, given.dtype))
    return in_dtype(wanted, dtype), in_dtype(given, dtype)


def in_dtype(x: Tensor, dtype: DType) -> Tensor:
    """Return ``x`` in ``dtype``, itself where it has that."""
    return x if x.dtype == dtype else cast.astype(x, OBJECTS[dtype])
