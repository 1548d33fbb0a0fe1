"""How predicted classes compare with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.run import run
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import integer
from wgsl_kernels.engine.values.shapes import require_dtype, show
from wgsl_kernels.ops.elementwise import compare, logical
from wgsl_kernels.ops.indexing import counting
from wgsl_kernels.ops.reductions import reduce
from wgsl_kernels.ops.shapes import creation, shape
from wgsl_kernels.ops.training.weighting import in_dtype

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DType


@public(tfjs="confusionMatrix")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    *,
    weights: TensorLike | None = None,
) -> Tensor:
    """Return how often each class was predicted for each label.

    Args:
        labels: [samples], integers; what is outside [0, ``num_classes``) does not count.
        predictions: [samples], likewise.
        num_classes: At least 1.
        weights: [samples], what each counts; without them 1.

    Returns:
        [num_classes, num_classes], int32, with weights float32: a row per label, a column per
        prediction.

    Raises:
        ShapeError: They are no vectors of one length.
        DTypeError: They are no integers.
        ArgumentError: ``num_classes`` is below 1.

    Example:
        >>> confusion_matrix([0, 1, 1], [0, 1, 0], 2).tolist()
        [[1, 0], [1, 1]]
    """
    op = "confusion_matrix"
    count = integer(op, "num_classes", num_classes)
    if count < 1:
        raise ArgumentError(f"{op}: num_classes is {count}; want at least 1.")
    wanted, found = as_tensor(labels), as_tensor(predictions)
    for name, one in (("labels", wanted), ("predictions", found)):
        if one.ndim != 1:
            raise ShapeError(f"{op}: {name} has shape {show(one.shape)}; want [samples].")
        require_dtype(op, name, one.spec, "int32")
    wanted, found = in_dtype(wanted, "int32"), in_dtype(found, "int32")
    if wanted.shape != found.shape:
        raise ShapeError(
            f"{op}: labels has shape {show(wanted.shape)}, predictions {show(found.shape)}; "
            "want the same."
        )
    each = creation.zeros((0,), dtype="int32")
    if weights is not None:
        each = in_dtype(as_tensor(weights), "float32")
        if each.shape != wanted.shape:
            raise ShapeError(
                f"{op}: weights has shape {show(each.shape)}, labels {show(wanted.shape)}; want "
                "the same."
            )
    counts = logical.logical_and(_is_class(wanted, count), _is_class(found, count))
    cells = logical.where(counts, wanted * count + found, count * count)
    total = counting.bincount(cells, each, count * count + 1)
    dtype: DType = "int32" if weights is None else "float32"
    return shape.reshape(in_dtype(total[: count * count], dtype), (count, count))


@public()
def in_top_k(predictions: TensorLike, targets: TensorLike, k: int = 1) -> Tensor:
    """Return whether the prediction for each target is among the ``k`` largest.

    What equals the k-th largest counts as one of them. A prediction that is not finite is not among
    them.

    Args:
        predictions: [..., classes].
        targets: [...], int32.
        k: From 1 to the number of classes.

    Returns:
        [...], bool.

    Raises:
        ShapeError: ``targets`` has not the leading shape of ``predictions``.
        ArgumentError: ``k`` is out of range.

    Example:
        >>> in_top_k([[0.1, 0.9, 0.5], [0.7, 0.2, 0.1]], [2, 2], 2).tolist()
        [True, False]
    """
    op = "in_top_k"
    given, wanted = as_tensor(predictions), as_tensor(targets)
    if not given.ndim or wanted.shape != given.shape[:-1]:
        raise ShapeError(
            f"{op}: targets has shape {show(wanted.shape)}, predictions {show(given.shape)}; want "
            "[..., classes] and [...]."
        )
    number = integer(op, "k", k)
    if not 1 <= number <= given.shape[-1]:
        raise ArgumentError(f"{op}: k is {number}; want one in [1, {given.shape[-1]}].")
    own = run("TakeAlongAxis", given, wanted[..., None], axis=-1)  # which refuses negative ones
    larger = in_dtype(compare.greater(given, own), "int32")
    is_finite = compare.less_equal(own - own, 0.0)
    among = compare.less(reduce.sum(larger, axis=-1, keepdims=True), number)
    return shape.reshape(logical.logical_and(among, is_finite), wanted.shape)


def _is_class(x: Tensor, count: int) -> Tensor:
    return logical.logical_and(compare.greater_equal(x, 0), compare.less(x, count))
