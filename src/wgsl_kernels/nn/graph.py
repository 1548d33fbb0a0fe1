"""Layers that are called on the results of several others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.nn.fields import shown_by_fields
from wgsl_kernels.nn.structure import options_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.ops.random.streams import Generator

Source = tuple[int, int]
"""A call of a graph by its number, the inputs before all, and which of its results."""


class GraphCall(NamedTuple):
    """A call of a layer.

    Attributes:
        layer: Its name.
        sources: What it is given.
        options: Which of ``train`` and ``generator`` it takes.
    """

    layer: str
    sources: tuple[Source, ...]
    options: tuple[str, ...]


@dataclass(eq=False, repr=False)
class Graph:
    """Layers by name, and what each is called on.

    Attributes:
        layers: By name; one that is called twice is shared.
        inputs: The names of what it takes.
        calls: The calls in order.
        outputs: What it gives.
    """

    layers: Mapping[str, Any]
    inputs: tuple[str, ...] = field(metadata={"static": True})
    calls: tuple[GraphCall, ...] = field(metadata={"static": True})
    outputs: tuple[Source, ...] = field(metadata={"static": True})

    __repr__ = shown_by_fields

    def __call__(
        self, *xs: TensorLike, train: bool = False, generator: Generator | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """Return the outputs; one alone, where there is one.

        Raises:
            ArgumentError: There are not as many arguments as inputs.
        """
        if len(xs) != len(self.inputs):
            raise ArgumentError(
                f"Graph: got {len(xs)} inputs; want {len(self.inputs)}: {', '.join(self.inputs)}."
            )
        given = {"train": train, "generator": generator}
        results: list[tuple[Any, ...]] = [(x,) for x in xs]
        for call in self.calls:
            sources = [results[at][number] for at, number in call.sources]
            y = self.layers[call.layer](*sources, **{one: given[one] for one in call.options})
            results.append(y if isinstance(y, tuple) else (y,))
        found = tuple(results[at][number] for at, number in self.outputs)
        return found[0] if len(found) == 1 else found


def graph_call(name: str, layer: Any, sources: tuple[Source, ...]) -> GraphCall:
    """Return a call of a layer."""
    return GraphCall(name, sources, options_of(layer))
