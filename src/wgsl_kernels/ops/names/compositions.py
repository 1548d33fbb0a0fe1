"""Functions of the array API standard, and of TensorFlow.js, that are a few other ops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.values.attributes import flag, integer, integers, text
from wgsl_kernels.engine.values.shapes import normalize_axis, show
from wgsl_kernels.ops.elementwise import activation as activations
from wgsl_kernels.ops.elementwise import (
    binary,
    cast,
    compare,
    complex,
    exponential,
    float_pairs,
    logical,
)
from wgsl_kernels.ops.indexing import counting, sort, updates
from wgsl_kernels.ops.linear_algebra import matrix
from wgsl_kernels.ops.reductions import reduce as reductions
from wgsl_kernels.ops.shapes import creation, joining, ranges, slicing
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.dtypes import DTypeLike


@public()
class UniqueAll(NamedTuple):
    """Distinct values, where each first occurs, which of them each element is, and how often."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


@public()
class UniqueCounts(NamedTuple):
    """Distinct values, and how often each occurs."""

    values: Tensor
    counts: Tensor


@public()
class UniqueInverse(NamedTuple):
    """Distinct values, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


@public(method=True)
def diff(
    x: TensorLike,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Tensor:
    """Return the differences of neighbours along ``axis``, taken ``n`` times.

    Args:
        x: At least one axis.
        axis: The axis.
        n: How often; at least 0.
        prepend: What is put before ``x`` first.
        append: What is put after it.

    Raises:
        ShapeError: The parts do not fit, or nothing is left to take differences of.
        ArgumentError: ``n`` is below 0.

    Example:
        >>> diff(tensor([1, 4, 9, 16]), n=2).tolist()
        [2, 2]
    """
    given = as_tensor(x)
    times = integer("diff", "n", n)
    if times < 0:
        raise ArgumentError(f"diff: n is {times}; want at least 0.")
    at = normalize_axis("diff", axis, given.ndim)
    parts = [as_tensor(one) for one in (prepend, given, append) if one is not None]
    joined = joining.concat(parts, axis=at) if len(parts) > 1 else given
    if times > joined.shape[at]:
        raise ShapeError(
            f"diff: n is {times} and x has shape {show(joined.shape)}; want at most the length of "
            f"axis {at}."
        )
    for _ in range(times):
        length = joined.shape[at]
        size = list(joined.shape)
        size[at] = length - 1
        start = [0] * joined.ndim
        first = slicing.slice(joined, start, size)
        start[at] = 1
        joined = slicing.slice(joined, start, size) - first
    return joined


@public(tfjs="divNoNan")
def div_no_nan(a: TensorLike, b: TensorLike) -> Tensor:
    """Return ``a / b``, and 0 where ``b`` is 0, with broadcasting; so is the gradient there.

    Example:
        >>> div_no_nan(tensor([1.0, 2.0]), tensor([0.0, 4.0])).tolist()
        [0.0, 0.5]
    """
    top, bottom = as_tensor(a), as_tensor(b)
    is_zero = compare.equal(bottom, 0)
    quotient = binary.divide(top, logical.where(is_zero, 1, bottom))
    return logical.where(is_zero, 0, quotient)


@public()
def empty(
    shape: int | Sequence[int], dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """Return a tensor whose values nobody has set: here they are zeros.

    Example:
        >>> wk.empty((2, 3)).shape
        (2, 3)
    """
    return creation.zeros(shape, dtype=dtype, device=device)


@public(numpy="empty_like")
def empty_like(
    x: TensorLike, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """Return a tensor of the shape of ``x`` whose values nobody has set: here they are zeros.

    Example:
        >>> wk.empty_like(wk.ones((2, 3))).shape
        (2, 3)
    """
    return creation.zeros_like(x, dtype=dtype, device=device)


@public()
def gelu(x: TensorLike, *, approximate: bool = False) -> Tensor:
    """Return ``x`` times the probability that a unit normal number is below it, elementwise.

    The error is at most 2^-21 times ``|x|``.

    Args:
        x: Any shape, float.
        approximate: Whether to take ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))``,
            which differs by up to 5e-4.

    Example:
        >>> gelu(tensor([-1.0, 0.0, 1.0])).numpy().round(4)
        array([-0.1587,  0.    ,  0.8413], dtype=float32)

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    given = as_floats(x)
    if flag("gelu", "approximate", approximate):
        inner = math.sqrt(2 / math.pi) * (given + 0.044715 * given * given * given)
        return 0.5 * given * (1 + exponential.tanh(inner))
    return 0.5 * given * (1 + exponential.erf(given * math.sqrt(0.5)))


@public()
def silu(x: TensorLike) -> Tensor:
    """Return ``x * sigmoid(x)``, elementwise; also called swish.

    Example:
        >>> silu(tensor([-1.0, 0.0, 1.0])).numpy().round(4)
        array([-0.2689,  0.    ,  0.7311], dtype=float32)

    Source: Elfwing, Uchibe and Doya, Sigmoid-Weighted Linear Units for Neural Network Function
    Approximation, 2017.
    """
    given = as_floats(x)
    return given * activations.sigmoid(given)


@public(tfjs="logSigmoid")
def log_sigmoid(x: TensorLike) -> Tensor:
    """Return ``log(1 / (1 + exp(-x)))``, elementwise, without overflow.

    Example:
        >>> log_sigmoid(tensor([-1000.0, 0.0])).numpy()
        array([-1.000000e+03, -6.931472e-01], dtype=float32)
    """
    return -activations.softplus(-as_tensor(x))


@public(tfjs="meshgrid")
def meshgrid(*arrays: TensorLike, indexing: str = "xy") -> list[Tensor]:
    """Return for each vector a grid of its elements along one axis.

    Args:
        arrays: Each [length].
        indexing: "xy" exchanges the first two axes, as of rows and columns; "ij" does not.

    Raises:
        ShapeError: One is no vector.
        ArgumentError: ``indexing`` is another word.

    Example:
        >>> [one.tolist() for one in meshgrid([1, 2], [5, 6])]
        [[[1, 2], [1, 2]], [[5, 5], [6, 6]]]
    """
    if text("meshgrid", "indexing", indexing) not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing is {shown(indexing)}; want 'xy' or 'ij'.")
    given = [as_tensor(one) for one in arrays]
    count = len(given)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    lengths = [1] * count
    for index, (one, axis) in enumerate(zip(given, axes, strict=True)):
        if one.ndim != 1:
            raise ShapeError(
                f"meshgrid: arrays[{index}] has shape {show(one.shape)}; want a vector."
            )
        lengths[axis] = one.shape[0]
    found = []
    for one, axis in zip(given, axes, strict=True):
        shape = [1] * count
        shape[axis] = one.shape[0]
        found.append(shapes.broadcast_to(shapes.reshape(one, shape), lengths))
    return found


@public(numpy="positive")
def positive(x: TensorLike) -> Tensor:
    """Return ``x`` as it is.

    Example:
        >>> wk.positive([1.0, -2.0]).tolist()
        [1.0, -2.0]
    """
    return shapes.clone(x)


@public(numpy="signbit")
def signbit(x: TensorLike) -> Tensor:
    """Return whether the sign of floats is set, which -0 and NaN may have, too.

    Example:
        >>> signbit(tensor([-0.0, 1.0])).tolist()
        [True, False]
    """
    given = as_tensor(x)
    return compare.less(float_pairs.copysign(creation.ones_like(given), given), 0.0)


@public(space="wk linalg", numpy="tensordot")
def tensordot(
    x1: TensorLike, x2: TensorLike, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Return the sums of products over pairs of axes.

    Args:
        x1: A tensor.
        x2: A tensor.
        axes: How many axes, the last ones of ``x1`` and the first ones of ``x2``; or those of
            ``x1``, and those of ``x2`` in the same order.

    Returns:
        The other axes of ``x1``, then those of ``x2``.

    Raises:
        ShapeError: The lengths differ.
        ArgumentError: ``axes`` is none of that.

    Example:
        >>> tensordot(tensor([[1.0, 2.0]]), tensor([[3.0], [4.0]]), axes=1).tolist()
        [[11.0]]
    """
    a, b = as_tensor(x1), as_tensor(x2)
    pairs = _axes_of(a, b, axes)
    own, other = pairs
    if any(a.shape[i] != b.shape[j] for i, j in zip(own, other, strict=True)):
        raise ShapeError(
            f"tensordot: x1 has shape {show(a.shape)} and x2 {show(b.shape)}; want the lengths of "
            f"axes {own} and {other} equal."
        )
    left = [axis for axis in range(a.ndim) if axis not in own]
    right = [axis for axis in range(b.ndim) if axis not in other]
    terms = math.prod(a.shape[axis] for axis in own)
    rows = [a.shape[axis] for axis in left]
    cols = [b.shape[axis] for axis in right]
    first = shapes.reshape(shapes.permute_dims(a, (*left, *own)), (math.prod(rows), terms))
    second = shapes.reshape(shapes.permute_dims(b, (*other, *right)), (terms, math.prod(cols)))
    return shapes.reshape(matrix.matmul(first, second), (*rows, *cols))


def _axes_of(a: Tensor, b: Tensor, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise ArgumentError(f"tensordot: axes is {shown(axes)}; want a number or two lists.")
        own, other = (
            tuple(normalize_axis("tensordot", one, tensor.ndim, "axes") for one in given)
            for given, tensor in zip(
                (integers("tensordot", "axes", one) for one in axes), (a, b), strict=True
            )
        )
        if len(own) != len(other) or len(set(own)) < len(own) or len(set(other)) < len(other):
            raise ArgumentError(f"tensordot: axes is {shown(axes)}; want pairs, each axis once.")
        return own, other
    count = integer("tensordot", "axes", axes)
    if not 0 <= count <= min(a.ndim, b.ndim):
        raise ArgumentError(
            f"tensordot: axes is {count}, x1 has shape {show(a.shape)} and x2 {show(b.shape)}; "
            "want no more than both have."
        )
    return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))


@public()
def unique_all(x: TensorLike) -> UniqueAll:
    """Return the distinct values of ``x`` with all that is known of them; see `unique`.

    NaN equals NaN here, other than the standard has it.

    Example:
        >>> [one.tolist() for one in unique_all(tensor([3, 1, 3]))]
        [[3, 1], [0, 1], [0, 1, 0], [2, 1]]
    """
    values, inverse = unique_inverse(x)
    flat = shapes.reshape(inverse, (-1,))
    firsts = creation.zeros(values.shape, dtype="int32")
    if flat.size:  # of several updates the last counts, so they come in reverse
        numbers = shapes.flip(ranges.arange(flat.size))
        firsts = updates.tensor_scatter_update(firsts, shapes.flip(flat), numbers)
    return UniqueAll(values, firsts, inverse, _counts(flat, values.size))


@public()
def unique_counts(x: TensorLike) -> UniqueCounts:
    """Return the distinct values of ``x`` and how often each occurs; see `unique`.

    Example:
        >>> [one.tolist() for one in unique_counts(tensor([3, 1, 3]))]
        [[3, 1], [2, 1]]
    """
    values, inverse = unique_inverse(x)
    return UniqueCounts(values, _counts(shapes.reshape(inverse, (-1,)), values.size))


def _counts(flat: Tensor, size: int) -> Tensor:
    return counting.bincount(flat, creation.zeros((0,), dtype="int32"), size)


@public()
def unique_inverse(x: TensorLike) -> UniqueInverse:
    """Return the distinct values of ``x`` and which of them each element is; see `unique`.

    Example:
        >>> [one.tolist() for one in unique_inverse(tensor([[3, 1], [3, 3]]))]
        [[3, 1], [[0, 1], [0, 0]]]
    """
    given = as_tensor(x)
    values, inverse = sort.unique(shapes.reshape(given, (-1,)))
    return UniqueInverse(values, shapes.reshape(inverse, given.shape))


@public()
def unique_values(x: TensorLike) -> Tensor:
    """Return the distinct values of ``x`` in the order in which they first occur; see `unique`.

    Example:
        >>> unique_values(tensor([[3, 1], [3, 3]])).tolist()
        [3, 1]
    """
    return sort.unique(shapes.reshape(as_tensor(x), (-1,)))[0]


@public(space="wk linalg", numpy="vecdot")
def vecdot(x1: TensorLike, x2: TensorLike, axis: int = -1) -> Tensor:
    """Return the sums of products along ``axis``, those of ``x1`` conjugated, with broadcasting.

    Raises:
        ShapeError: The shapes do not broadcast.

    Example:
        >>> vecdot(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 1.0])).tolist()
        [3.0, 7.0]
    """
    products = binary.multiply(complex.conj(x1), x2)
    return cast.as_asked(reductions.sum(products, axis=axis), products.dtype)
