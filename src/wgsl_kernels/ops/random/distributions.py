"""Random numbers of many distributions, made from uniform and normal ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError, DTypeError, ShapeError
from wgsl_kernels.engine.execution.creation import as_floats, as_tensor
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
from wgsl_kernels.engine.values.attributes import integer, number
from wgsl_kernels.engine.values.dtypes import canonical
from wgsl_kernels.engine.values.shapes import broadcast, lengths, normalize_axis, open_lengths, show
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.ops.elementwise import (
    binary,
    cast,
    classify,
    compare,
    exponential,
    logical,
    special,
    unary,
)
from wgsl_kernels.ops.indexing import gather, ordered
from wgsl_kernels.ops.random.streams import Generator, draw, drawn
from wgsl_kernels.ops.rules.specs import float_dtype
from wgsl_kernels.ops.shapes import creation
from wgsl_kernels.ops.shapes import shape as shapes
from wgsl_kernels.ops.training.weighting import in_dtype
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.values.spec import Shape

CANDIDATES = 8
"""Gamma deviates that are tried for each element: that none is accepted has a chance of 1e-10."""


def bernoulli(
    p: TensorLike, shape: int | Sequence[int] | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Return bools that are True with probability ``p``, each on its own.

    Args:
        p: Probabilities, broadcast to ``shape``. In a tensor what is below 0 or NaN counts as 0,
            what is above 1 as 1.
        shape: The result's shape; that of ``p``, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ShapeError: ``p`` does not broadcast to ``shape``.
        ArgumentError: ``p`` is no tensor and not within [0, 1].

    Example:
        >>> wk.random.bernoulli(tensor([0.0, 1.0])).tolist()
        [False, True]
    """
    given = as_tensor(p)
    values = None if isinstance(p, Tensor) else given.numpy()
    if values is not None and not ((values >= 0) & (values <= 1)).all():
        raise ArgumentError(f"bernoulli: p is {shown(p)}; want probabilities in [0, 1].")
    uniform = _uniform(_shape_for("bernoulli", "p", given, shape), generator)
    return compare.less(uniform, given)


def categorical(
    logits: TensorLike, num_samples: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    """Return classes, drawn with the probabilities that are the softmax of ``logits``.

    Args:
        logits: [..., classes], real; -infinity for classes that do not occur.
        num_samples: How many to draw for each row; without it one, and no axis for it.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Returns:
        [...], or [num_samples, ...], int32; -1 for rows with NaN or +infinity, or without a class
        that occurs.

    Raises:
        ShapeError: ``logits`` is a scalar, or there are no classes.

    Example:
        >>> wk.random.categorical(tensor([[0.0, -inf], [-inf, 0.0]])).tolist()
        [0, 1]
    """
    given = as_floats(logits)
    if not given.ndim or not given.shape[-1]:
        raise ShapeError(f"categorical: logits has shape {show(given.shape)}; want [..., classes].")
    *leading, classes = given.shape
    count = 1 if num_samples is None else integer("categorical", "num_samples", num_samples)
    rows = shapes.reshape(given, (math.prod(leading), classes))
    if classes == 1:
        exists = classify.isfinite(rows)
        found = shapes.broadcast_to(cast.astype(exists, "int32") - 1, (math.prod(leading), count))
    else:
        found = drawn("Multinomial", rows, generator=generator, num_samples=count)
    if num_samples is None:
        return shapes.reshape(found, tuple(leading))
    return shapes.reshape(shapes.permute_dims(found, (1, 0)), (count, *leading))


def gamma(
    alpha: TensorLike,
    shape: int | Sequence[int] | None = None,
    *,
    beta: TensorLike = 1.0,
    generator: Generator | None = None,
) -> Tensor:
    """Return numbers of the gamma distribution of shape ``alpha`` and rate ``beta``.

    No gradient flows to ``alpha`` through the choice of candidates.

    Args:
        alpha: Above 0, broadcast to ``shape``; elsewhere the result is NaN, as for ``beta``.
        shape: The result's shape; that of ``alpha`` and ``beta``, if left out.
        beta: Above 0, broadcast to ``shape``.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ShapeError: ``alpha`` or ``beta`` does not broadcast to ``shape``.

    Example:
        >>> wk.all(wk.random.gamma(0.5, (9,)) >= 0.0).item()
        True

    Source: Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000.
    """
    given, rate = as_tensor(alpha), as_tensor(beta)
    if shape is None:
        shape = broadcast("gamma", alpha=given.spec, beta=rate.spec)
    shape = _shape_for("gamma", "alpha", given, shape)
    _shape_for("gamma", "beta", rate, shape)
    is_small = compare.less(given, 1.0)
    d = logical.where(is_small, given + 1.0, given) - 1.0 / 3.0
    c = 1.0 / unary.sqrt(d * 9.0)
    normal = draw("RandomNormal", (CANDIDATES, *shape), None, generator, mean=0.0, std_dev=1.0)
    uniform = _uniform((CANDIDATES, *shape), generator)
    cubes = binary.maximum(normal * c + 1.0, 0.0) ** 3.0
    limit = 0.5 * normal * normal + d * (1.0 - cubes + exponential.log(cubes))
    accepted = logical.logical_and(
        compare.greater(cubes, 0.0), compare.less(exponential.log(uniform), limit)
    )
    chosen: Tensor = creation.ones(shape, dtype=cubes.dtype)
    for place in reversed(range(CANDIDATES)):
        chosen = logical.where(accepted[place], cubes[place], chosen)
    # of alpha below 1: a deviate of alpha + 1 times u^(1 / alpha)
    lifted = _uniform(shape, generator) ** (1.0 / given)
    drawn = d * chosen * logical.where(is_small, lifted, 1.0) / rate
    exists = logical.logical_and(compare.greater(given, 0.0), compare.greater(rate, 0.0))
    return logical.where(exists, drawn, math.nan)


def permutation(n: int, *, generator: Generator | None = None) -> Tensor:
    """Return the numbers below ``n`` in random order, int32[n].

    Args:
        n: How many.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``n`` is below 0.

    Example:
        >>> wk.sort(wk.random.permutation(4)).tolist()
        [0, 1, 2, 3]
    """
    count = integer("permutation", "n", n)
    if count < 0:
        raise ArgumentError(f"permutation: n is {count}; want at least 0.")
    return ordered.argsort(randint(-(2**31), 2**31 - 1, (count,), generator=generator))


def randint(
    low: int, high: int, shape: int | Sequence[int] = (), *, generator: Generator | None = None
) -> Tensor:
    """Return whole numbers in [low, high), int32.

    Args:
        low: The smallest.
        high: The end, which does not occur.
        shape: The result's shape.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``low`` is not below ``high``, or they do not fit int32.

    Example:
        >>> wk.random.randint(3, 4, (2,)).tolist()
        [3, 3]
    """
    return draw("RandomUniform", shape, "int32", generator, minval=low, maxval=high)


def shuffle(x: TensorLike, *, axis: int = 0, generator: Generator | None = None) -> Tensor:
    """Return ``x`` with its entries along ``axis`` in random order.

    Args:
        x: At least one axis.
        axis: The axis along which entries move.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Example:
        >>> wk.sort(wk.random.shuffle([5, 7, 6])).tolist()
        [5, 6, 7]
    """
    given = as_tensor(x)
    at = normalize_axis("shuffle", axis, given.ndim)
    return gather.take(given, permutation(given.shape[at], generator=generator), axis=at)


@public(tfjs="randomGamma")
def random_gamma(
    shape: int | Sequence[int],
    alpha: TensorLike,
    beta: TensorLike = 1.0,
    *,
    dtype: Any = "float32",
    generator: Generator | None = None,
) -> Tensor:
    """Return numbers of the gamma distribution; see `wk.random.gamma`.

    Args:
        shape: The result's shape.
        alpha: The distribution's shape; above 0.
        beta: Its rate; above 0.
        dtype: A float dtype, or int32, which rounds toward zero.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Example:
        >>> wk.random_gamma((2, 3), 0.5).shape
        (2, 3)
    """
    return in_dtype(gamma(alpha, shape, beta=beta, generator=generator), canonical(dtype))


@public(tfjs="randomStandardNormal")
def random_standard_normal(
    shape: int | Sequence[int], *, dtype: Any = None, generator: Generator | None = None
) -> Tensor:
    """Return normally distributed numbers of mean 0 and standard deviation 1.

    Args:
        shape: The result's shape.
        dtype: A float dtype; float32, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Example:
        >>> wk.random_standard_normal((2, 3)).shape
        (2, 3)
    """
    return draw("RandomNormal", shape, dtype, generator, mean=0.0, std_dev=1.0)


@public(tfjs="randomUniformInt")
def random_uniform_int(
    shape: int | Sequence[int], minval: int, maxval: int, *, generator: Generator | None = None
) -> Tensor:
    """Return whole numbers in [minval, maxval), int32; see `wk.random.randint`.

    Args:
        shape: The result's shape.
        minval: The smallest.
        maxval: The end, which does not occur.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Example:
        >>> (wk.random_uniform_int(100, 0, 6) < 6).all().item()
        True
    """
    return randint(minval, maxval, shape, generator=generator)


@public(tfjs="truncatedNormal")
def truncated_normal(
    shape: int | Sequence[int],
    *,
    mean: float = 0.0,
    std_dev: float = 1.0,
    dtype: Any = "float32",
    generator: Generator | None = None,
) -> Tensor:
    """Return normally distributed numbers of which none is beyond two standard deviations.

    Args:
        shape: The result's shape.
        mean: The mean.
        std_dev: The standard deviation before what is beyond is left out; at least 0.
        dtype: A float dtype, or int32, which rounds toward zero.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``std_dev`` is below 0.

    Example:
        >>> (wk.abs(wk.truncated_normal(100)) <= 2.0).all().item()
        True
    """
    if not number("truncated_normal", "std_dev", std_dev) >= 0:
        raise ArgumentError(f"truncated_normal: std_dev is {std_dev}; want 0 or more.")
    most = math.erf(math.sqrt(2.0))
    uniform = draw("RandomUniform", shape, None, generator, minval=-most, maxval=most)
    deviates = special.erfinv(uniform) * math.sqrt(2.0)
    deviates = binary.minimum(binary.maximum(deviates, -2.0), 2.0)
    return in_dtype(
        deviates * float(std_dev) + number("truncated_normal", "mean", mean), canonical(dtype)
    )


@public(tfjs="dropout")
def dropout(
    x: TensorLike,
    rate: float,
    *,
    noise_shape: Sequence[int | None] | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Return ``x`` with a random part of its elements 0 and the others divided by ``1 - rate``.

    Args:
        x: Any shape, of floats.
        rate: The probability of 0, in [0, 1).
        noise_shape: Broadcasts to the shape of ``x``; elements that share a place in it are kept or
            dropped together. None in it stands for the length of ``x``.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``rate`` is not in [0, 1).
        DTypeError: ``x`` is no float.
        ShapeError: ``noise_shape`` does not broadcast to the shape of ``x``.

    Example:
        >>> set(dropout(wk.ones((99,)), 0.5).tolist()) == {0.0, 2.0}
        True

    Source: Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting,
    2014.
    """
    given = as_tensor(x)
    if float_dtype(given.dtype) != given.dtype:
        raise DTypeError(f"dropout: x has dtype {given.dtype}; want a float.")
    if not 0 <= number("dropout", "rate", rate) < 1:
        raise ArgumentError(f"dropout: rate is {rate}; want one in [0, 1).")
    shape = given.shape
    if noise_shape is not None:
        wanted = open_lengths("dropout", "noise_shape", noise_shape)
        if len(wanted) == given.ndim:
            wanted = tuple(
                own if one is None else one for one, own in zip(wanted, shape, strict=True)
            )
        shape = lengths("dropout", "noise_shape", wanted)
        _broadcasts("dropout", "noise_shape", Spec(shape, given.dtype), given.shape)
    if rate == 0:
        return shapes.clone(given)
    keep = 1.0 - float(rate)
    kept = compare.less(_uniform(shape, generator), keep)
    return given * (cast.astype(kept, given.dtype) * (1.0 / keep))


def _uniform(shape: Shape, generator: Generator | None) -> Tensor:
    return draw("RandomUniform", shape, None, generator, minval=0.0, maxval=1.0)


def _shape_for(op: str, name: str, given: Tensor, shape: int | Sequence[int] | None) -> Shape:
    """Return the result's shape, to which ``given`` broadcasts."""
    if shape is None:
        return given.shape
    wanted = lengths(op, "shape", shape)
    _broadcasts(op, name, given.spec, wanted)
    return wanted


def _broadcasts(op: str, name: str, spec: Spec, shape: Shape) -> None:
    both = {name: spec, "shape": Spec(shape, spec.dtype)}
    if broadcast(op, **both) != shape:
        raise ShapeError(
            f"{op}: {name} has shape {show(spec.shape)}, which does not broadcast to {show(shape)}."
        )
