"""What a model is made of: layers, shapes, parameters, bytes and times."""

from __future__ import annotations

import dataclasses
import html
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.observe.profile import evaluate, synchronize
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.trees import Leaves, Tree, variables_of
from wgsl_kernels.engine.values.dtypes import itemsize
from wgsl_kernels.engine.values.shapes import show
from wgsl_kernels.nn.walk import layers_of
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADS = ("layer", "class", "result", "parameters", "bytes", "ms")


@dataclasses.dataclass(frozen=True)
class LayerSummary:
    """One layer.

    Attributes:
        path: Where it is in the model; empty for the model itself. Of a node its name.
        kind: Its class, or a node's operator.
        shapes: Of the tensors that it gave; empty if it was not called.
        parameters: Numbers in its trainable variables, those of layers in it included; of a model
            that is loaded, in its weights, be they trainable or not.
        bytes: Of all its variables, or weights.
        milliseconds: From its call to the end of what it computed, with what other layers it calls;
            None if it was not called.
    """

    path: str
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    parameters: int
    bytes: int
    milliseconds: float | None


@dataclasses.dataclass(frozen=True)
class Summary:
    """What `summary` found; it prints as a table.

    Attributes:
        layers: The model and its layers, each before those in it.
        parameters: Numbers in all trainable variables, or in the weights of a model that is loaded.
        bytes: Of all variables, or weights.
    """

    layers: tuple[LayerSummary, ...]
    parameters: int
    bytes: int

    def _table(self) -> list[tuple[str, ...]]:
        return [_HEADS, *map(_row, self.layers)]

    def __str__(self) -> str:
        """Return a table with a line for each layer."""
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if at < 3 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        total = f"{self.parameters:,} parameters, {self.bytes:,} bytes"
        return "\n".join([*lines, total])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        heads, *rows = self._table()
        cells = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
        lines = "".join(
            "<tr>" + "".join(f"<td>{html.escape(one)}</td>" for one in row) + "</tr>"
            for row in rows
        )
        return f"<table><tr>{cells}</tr>{lines}</table>"


def summary(model: Any, *inputs: Any, **options: Any) -> Summary:
    """Return the layers of a model with the shapes that they give, their parameters and times.

    The model is called twice; the times are those of the second call. Each layer is waited for, so
    that they add up to more than a call takes.

    Args:
        model: A layer, a tree of layers, or a model from a file, whose layers are its nodes.
        inputs: What it is called with; without them, or where it cannot be called, there are no
            shapes and no times.
        **options: Keywords that it is called with.

    Raises:
        ArgumentError: ``model`` has no layers, or inputs are given and it cannot be called.

    Example:
        >>> net = wk.nn.sequential(wk.nn.dense(4, 8), wk.relu, wk.nn.dense(8, 2))
        >>> found = wk.summary(net, wk.ones((3, 4)))
        >>> found.parameters, found.layers[1].path, found.layers[1].shapes
        (58, 'layers/0', ((3, 8),))
    """
    if hasattr(model, "_node_rows"):
        nodes = tuple(LayerSummary(*row) for row in model._node_rows(inputs, options))
        return Summary(nodes, nodes[0].parameters, nodes[0].bytes)
    layers = layers_of("summary", model)
    if not layers:
        raise ArgumentError(
            f"summary: model is {shown(model)}; want a layer, or layers in dicts, lists, tuples "
            "and dataclasses."
        )
    calls: dict[int, tuple[tuple[tuple[int, ...], ...], float]] = {}
    if inputs or options:
        if not callable(model):
            raise ArgumentError(
                f"summary: model is a {type(model).__name__}, which cannot be called with inputs; "
                "want a layer, or summary(model) alone."
            )
        evaluate(model(*inputs, **options))
        with _watched([layer for _, layer in layers], calls):
            model(*inputs, **options)
    rows = []
    for path, layer in layers:
        shapes, milliseconds = calls.get(id(layer), ((), None))
        parameters, size = _sizes(layer)
        kind = type(layer).__name__
        rows.append(LayerSummary(path, kind, shapes, parameters, size, milliseconds))
    return Summary(tuple(rows), *_sizes(model))


def _sizes(model: Any) -> tuple[int, int]:
    """Return the numbers in the trainable variables of a model, and the bytes of all."""
    found = {id(one): one for one in variables_of("summary", model)}.values()
    parameters = sum(one.size for one in found if one.trainable)
    return parameters, sum(one.size * itemsize(one.dtype) for one in found)


@contextmanager
def _watched(
    layers: Sequence[Any], calls: dict[int, tuple[tuple[tuple[int, ...], ...], float]]
) -> Iterator[None]:
    """Have calls of layers noted, by the layer's identity, while the context is open."""
    known = {id(layer) for layer in layers}
    kinds = {type(layer): type(layer).__call__ for layer in layers}
    own = {kind for kind in kinds if "__call__" in vars(kind)}

    def noting(call: Any) -> Any:
        def noted(self: Any, *args: Any, **options: Any) -> Any:
            if id(self) not in known:
                return call(self, *args, **options)
            synchronize()
            began = time.perf_counter()
            result = call(self, *args, **options)
            evaluate(result)
            synchronize()
            calls[id(self)] = (_shapes(result), (time.perf_counter() - began) * 1000)
            return result

        return noted

    for kind, call in kinds.items():
        kind.__call__ = noting(call)
    try:
        yield
    finally:
        for kind, call in kinds.items():
            if kind in own:
                kind.__call__ = call
            else:
                del kind.__call__


def _shapes(result: Any) -> tuple[tuple[int, ...], ...]:
    leaves = Tree("summary", (result,), Leaves(lambda one: isinstance(one, Tensor))).leaves
    return tuple(one.shape for one in leaves)


def _row(layer: LayerSummary) -> tuple[str, ...]:
    took = "" if layer.milliseconds is None else f"{layer.milliseconds:.2f}"
    return (
        layer.path or "(model)",
        layer.kind,
        " ".join(map(show, layer.shapes)),
        f"{layer.parameters:,}",
        f"{layer.bytes:,}",
        took,
    )
