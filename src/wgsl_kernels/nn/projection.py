"""Dense layers and embeddings: products with a matrix, and its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.errors import DTypeError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.execution.variables import Variable, variable
from wgsl_kernels.engine.values.dtypes import INTEGERS
from wgsl_kernels.nn.fields import count, made_by, shown_by_fields, zeros
from wgsl_kernels.nn.initializers import glorot_uniform
from wgsl_kernels.ops.indexing import gather
from wgsl_kernels.ops.random import random

if TYPE_CHECKING:
    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.nn.initializers import Initializer
    from wgsl_kernels.ops.random.streams import Generator


@made_by("dense")
@dataclass(eq=False, repr=False)
class Dense:
    """``x @ weight + bias``.

    Attributes:
        weight: [inputs, outputs].
        bias: [outputs], or None.
    """

    weight: Variable
    bias: Variable | None = None

    __repr__ = shown_by_fields

    def __call__(self, x: TensorLike) -> Tensor:
        """Return [..., outputs] of [..., inputs].

        Raises:
            ShapeError: ``x`` has another number of inputs.
        """
        y = as_tensor(x) @ self.weight
        return y if self.bias is None else y + self.bias


def dense(
    inputs: int,
    outputs: int,
    *,
    bias: bool = True,
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> Dense:
    """Return a layer that gives ``x @ weight + bias``.

    Args:
        inputs: The length of the last axis of what it takes.
        outputs: The length of the last axis of what it gives.
        bias: Whether it adds one, which is 0 at first.
        initializer: Gives the weight's first values, of a shape and the keyword ``generator``;
            `glorot_uniform`, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``inputs`` or ``outputs`` is below 1.

    Example:
        >>> layer = wk.nn.dense(64, 10)
        >>> layer
        Dense(weight=float32[64, 10], bias=float32[10])
        >>> layer(wk.ones((5, 64))).shape
        (5, 10)
    """
    shape = count("dense", "inputs", inputs), count("dense", "outputs", outputs)
    weight = variable((initializer or glorot_uniform)(shape, generator=generator))
    return Dense(weight, zeros(outputs) if bias else None)


@made_by("embedding")
@dataclass(eq=False, repr=False)
class Embedding:
    """Rows of a matrix by their numbers.

    Attributes:
        weight: [rows, features].
    """

    weight: Variable

    __repr__ = shown_by_fields

    def __call__(self, ids: TensorLike) -> Tensor:
        """Return [..., features] of integers [...].

        Raises:
            DTypeError: ``ids`` are no integers.
            IndexOutOfRange: One is not the number of a row.
        """
        rows = as_tensor(ids)
        if rows.dtype not in INTEGERS:
            raise DTypeError(
                f"Embedding: ids has dtype {rows.dtype}; want integers, the numbers of rows."
            )
        return gather.take(self.weight, rows, axis=0)


def embedding(
    rows: int,
    features: int,
    *,
    initializer: Initializer | None = None,
    generator: Generator | None = None,
) -> Embedding:
    """Return a layer that gives the rows of a matrix by their numbers.

    Args:
        rows: How many there are.
        features: How long each is.
        initializer: Gives the first values, of a shape and the keyword ``generator``; unit normal
            numbers, if left out.
        generator: The stream to draw from; that of ``wk.random.key``, if left out.

    Raises:
        ArgumentError: ``rows`` or ``features`` is below 1.

    Example:
        >>> wk.nn.embedding(50, 16)([[3, 4, 5]]).shape
        (1, 3, 16)
    """
    shape = count("embedding", "rows", rows), count("embedding", "features", features)
    values = (initializer or random.random_normal)(shape, generator=generator)
    return Embedding(variable(values))
