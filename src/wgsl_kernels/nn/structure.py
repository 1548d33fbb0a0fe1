"""Layers of layers, and dropout."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.origin import warn_user
from wgsl_kernels.engine.execution.creation import as_tensor
from wgsl_kernels.engine.trees.trees import variables_of
from wgsl_kernels.engine.values.attributes import number
from wgsl_kernels.nn.closures import outside_reads
from wgsl_kernels.nn.fields import made_by, shown_by_fields
from wgsl_kernels.nn.recurrent import GRU, LSTM
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


@made_by("sequential", of="a tuple")
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
        place, last = 0, None
        try:
            for place, layer in enumerate(self.layers):
                y = layer(y, **{name: given[name] for name in self.options[place]})
                last = layer
            return as_tensor(y)
        except Exception as error:
            name = _name_of(self.layers[place]) if self.layers else "none"
            error.add_note(f"in layers[{place}] ({name}) of a Sequential{_advice(last, y)}.")
            raise

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.layers)

    def __iter__(self) -> Iterator[Any]:
        """Yield the layers."""
        return iter(self.layers)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequential: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return a layer; of a slice a Sequential of these layers, which are the same."""
        if isinstance(index, slice):
            return Sequential(self.layers[index], self.options[index])
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
            Those with the keywords ``train`` or ``generator``, or any, get what the whole is given.
            A function that reads the variables of a layer which is none of these is warned of: they
            are no part of the whole, which is trained and saved without them.

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
    _warn_of_outside_reads(layers)
    return Sequential(layers, tuple(map(options_of, layers)))


def _warn_of_outside_reads(layers: tuple[Any, ...]) -> None:
    mine = {id(one) for one in variables_of("sequential", layers)}
    for place, layer in enumerate(layers):
        for name, value, variables in outside_reads(layer):
            if all(id(one) in mine for one in variables):
                continue
            function = _name_of(layer)
            warn_user(
                f"sequential: layers[{place}], {function}, reads {name} ({type(value).__name__}), "
                "whose variables are no part of the layers: they are not trained, saved or "
                "summarised with them. Give the layer itself, or a dataclass with __call__ that "
                "has it as a field.",
                UserWarning,
            )


def _advice(layer: Any, result: Any) -> str:
    """Return what to write where a state, too, was handed on."""
    if not isinstance(layer, (LSTM, GRU)) or not isinstance(result, tuple):
        return ""
    maker = type(layer).__name__.lower()
    return (
        f"; {maker} gives the outputs and the state. For the outputs alone write "
        f'wk.nn.{maker}(inputs, units, returns="outputs")'
    )


def _name_of(layer: Any) -> str:
    return str(getattr(layer, "__name__", None) or type(layer).__name__)


def options_of(layer: Callable[..., Any]) -> tuple[str, ...]:
    """Return which of ``train`` and ``generator`` a layer takes; both, if it takes any keyword."""
    try:
        parameters = inspect.signature(layer).parameters
    except ValueError:  # of a function that is not written in Python
        return ()
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return tuple(name for name in _OPTIONS if takes_any or name in parameters)
