"""Layers of layers, and dropout."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.nn.fields import shown_by_fields
from wgsl_kernels.ops.random import distributions
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.ops.random.streams import Generator

_OPTIONS = ("train", "generator")


@dataclass(eq=False, repr=False)
class Dropout:
    """Sets a random part of the elements to 0 in training, and divides the others by the rest.

    Attributes:
        rate: The probability of 0.
    """

    rate: float

    __repr__ = shown_by_fields

    def __call__(
        self, x: TensorLike, *, train: bool = False, generator: Generator | None = None
    ) -> Tensor:
        """Return ``x``, or in training ``wk.dropout(x, rate, generator=generator)``."""
        given = as_tensor(x)
        return distributions.dropout(given, self.rate, generator=generator) if train else given


def dropout(rate: float) -> Dropout:
    """Return a layer that drops elements in training.

    Args:
        rate: The probability of 0, in [0, 1).

    Raises:
        ArgumentError: ``rate`` is not in [0, 1).

    Example:
        >>> wk.nn.dropout(0.5)(wk.ones((2, 2))).tolist()
        [[1.0, 1.0], [1.0, 1.0]]

    Source: Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting,
    2014.
    """
    if not 0 <= number("dropout", "rate", rate) < 1:
        raise ArgumentError(f"dropout: rate is {rate}; want one in [0, 1).")
    return Dropout(float(rate))


@dataclass(eq=False, repr=False)
class Sequential:
    """Layers and functions, each applied to what the one before gives.

    Attributes:
        layers: They, in order.
        options: For each, which of ``train`` and ``generator`` it takes.
    """

    layers: tuple[Any, ...]
    options: tuple[tuple[str, ...], ...] = field(metadata={"static": True})

    def __call__(
        self, x: TensorLike, *, train: bool = False, generator: Generator | None = None
    ) -> Tensor:
        """Return what the last layer gives; both options go to the layers that take them."""
        given = {"train": train, "generator": generator}
        y: Any = x
        for layer, takes in zip(self.layers, self.options, strict=True):
            y = layer(y, **{name: given[name] for name in takes})
        return as_tensor(y)

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.layers)

    def __iter__(self) -> Iterator[Any]:
        """Yield the layers."""
        return iter(self.layers)

    def __getitem__(self, index: int) -> Any:
        """Return a layer."""
        return self.layers[index]

    def __repr__(self) -> str:
        """Return a line for each layer."""
        lines = [
            line
            for layer in self.layers
            for line in f"{getattr(layer, '__name__', None) or repr(layer)},".splitlines()
        ]
        return "\n  ".join(["Sequential(", *lines]) + "\n)"


def sequential(*layers: Callable[..., Any]) -> Sequential:
    """Return a layer that applies others one after the other.

    Args:
        layers: Layers, and functions such as ``wk.relu``: all that takes a tensor and gives one.
            Those with the keywords ``train`` or ``generator`` get what the whole is given.

    Raises:
        ArgumentError: One cannot be called.

    Example:
        >>> net = wk.nn.sequential(wk.nn.dense(4, 8), wk.relu, wk.nn.dense(8, 2))
        >>> net
        Sequential(
          Dense(weight=float32[4, 8], bias=float32[8]),
          relu,
          Dense(weight=float32[8, 2], bias=float32[2]),
        )
        >>> net(wk.ones((3, 4))).shape
        (3, 2)
    """
    for place, layer in enumerate(layers):
        if not callable(layer):
            raise ArgumentError(
                f"sequential: layers[{place}] is {shown(layer)}; want a layer or a function. "
                "(A list of layers is given as sequential(*layers).)"
            )
    return Sequential(layers, tuple(map(options_of, layers)))


def options_of(layer: Callable[..., Any]) -> tuple[str, ...]:
    """Return which of ``train`` and ``generator`` a layer takes."""
    try:
        parameters = inspect.signature(layer).parameters
    except ValueError:  # of a function that is not written in Python
        return ()
    return tuple(name for name in _OPTIONS if name in parameters)
