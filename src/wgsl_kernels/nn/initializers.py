"""First values of weights, by their papers.

Each takes the shape of a weight, ``[*window, inputs, outputs]``, and gives a tensor. The fan-in is
the number of inputs times the places of the window, the fan-out that of outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import ShapeError
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.engine.values.shapes import lengths, show
from wgsl_kernels.ops.elementwise import compare, logical
from wgsl_kernels.ops.linear_algebra import factorizations, norms
from wgsl_kernels.ops.random import distributions, random
from wgsl_kernels.ops.shapes import creation

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.ops.random.streams import Generator

Initializer = Callable[..., "Tensor"]
"""Gives a weight's first values, of its shape and the keyword ``generator``."""

_TRUNCATED_STD = 0.87962566103423978
"""The standard deviation of a unit normal that is cut off at two of them."""


def constant(value: float) -> Initializer:
    """Return an initializer that gives ``value`` everywhere.

    Example:
        >>> wk.nn.constant(0.5)((2,)).tolist()
        [0.5, 0.5]
    """
    number("constant", "value", value)

    def values(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
        return creation.full(shape, value, dtype="float32")

    return values


def glorot_normal(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
    """Return normal numbers of variance ``2 / (fan_in + fan_out)``, cut off at two deviations.

    Args:
        shape: ``[*window, inputs, outputs]``.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ShapeError: ``shape`` has fewer than two axes.

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
    networks, 2010.
    """
    inputs, outputs = _fans("glorot_normal", shape)
    return _normal(shape, 2 / (inputs + outputs), generator)


def glorot_uniform(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
    """Return uniform numbers of variance ``2 / (fan_in + fan_out)``; see `glorot_normal`."""
    inputs, outputs = _fans("glorot_uniform", shape)
    return _uniform(shape, 2 / (inputs + outputs), generator)


def he_normal(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
    """Return normal numbers of variance ``2 / fan_in``, cut off at two deviations.

    Args:
        shape: ``[*window, inputs, outputs]``.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ShapeError: ``shape`` has fewer than two axes.

    Source: He, Zhang, Ren and Sun, Delving Deep into Rectifiers, 2015.
    """
    inputs, _ = _fans("he_normal", shape)
    return _normal(shape, 2 / inputs, generator)


def he_uniform(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
    """Return uniform numbers of variance ``2 / fan_in``; see `he_normal`."""
    inputs, _ = _fans("he_uniform", shape)
    return _uniform(shape, 2 / inputs, generator)


def lecun_normal(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
    """Return normal numbers of variance ``1 / fan_in``, cut off at two deviations.

    Args:
        shape: ``[*window, inputs, outputs]``.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ShapeError: ``shape`` has fewer than two axes.

    Source: LeCun, Bottou, Orr and Müller, Efficient BackProp, 1998.
    """
    inputs, _ = _fans("lecun_normal", shape)
    return _normal(shape, 1 / inputs, generator)


def lecun_uniform(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
    """Return uniform numbers of variance ``1 / fan_in``; see `lecun_normal`."""
    inputs, _ = _fans("lecun_uniform", shape)
    return _uniform(shape, 1 / inputs, generator)


def orthogonal(shape: Sequence[int], *, generator: Generator | None = None) -> Tensor:
    """Return a matrix whose shorter side is orthonormal, uniform among these.

    Args:
        shape: ``[*window, inputs, outputs]``; all axes but the last count as rows.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ShapeError: ``shape`` has fewer than two axes.

    Example:
        >>> w = wk.nn.orthogonal((3, 2))
        >>> (abs(w.T @ w - wk.eye(2)) < 1e-5).tolist()
        [[True, True], [True, True]]

    Source: Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in
    deep linear neural networks, 2014; Mezzadri, How to generate random matrices from the classical
    compact groups, 2007.
    """
    _fans("orthogonal", shape)
    rows, columns = math.prod(shape[:-1]), shape[-1]
    long, short = max(rows, columns), min(rows, columns)
    q, r = factorizations.qr(random.random_normal((long, short), generator=generator))
    signs = logical.where(compare.less(norms.diagonal(r), 0), -1.0, 1.0)
    unique = q * signs  # QR alone is not uniform: it favours one sign of the diagonal
    return (unique if rows >= columns else unique.T).reshape(tuple(shape))


def _fans(initializer: str, shape: Sequence[int]) -> tuple[int, int]:
    """Return how many numbers go into an output, and from an input.

    Raises:
        ShapeError: There are fewer than two axes.
    """
    given = lengths(initializer, "shape", shape)
    if len(given) < 2:
        raise ShapeError(
            f"{initializer}: shape is {show(given)}; want at least two axes, [*window, inputs, "
            "outputs]."
        )
    places = math.prod(given[:-2])
    return max(places * given[-2], 1), max(places * given[-1], 1)


def _normal(shape: Sequence[int], variance: float, generator: Generator | None) -> Tensor:
    deviation = math.sqrt(variance) / _TRUNCATED_STD
    return distributions.truncated_normal(shape, std_dev=deviation, generator=generator)


def _uniform(shape: Sequence[int], variance: float, generator: Generator | None) -> Tensor:
    limit = math.sqrt(3 * variance)
    return random.random_uniform(shape, minval=-limit, maxval=limit, generator=generator)
