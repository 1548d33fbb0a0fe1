"""Sequences and optional values, which are lists and None."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import device, host

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, Node


def _place(x: Any) -> int:
    return int(np.ravel(host(x))[0])


@operator("SequenceConstruct", raw=True)
def construct(node: Node, *xs: Any) -> list[Any]:
    """Return a sequence of values."""
    return list(xs)


@operator("SequenceEmpty", raw=True)
def empty(node: Node) -> list[Any]:
    """Return a sequence of nothing."""
    return []


@operator("SequenceLength", raw=True)
def length(node: Node, sequence: list[Any]) -> Array:
    """Return how many values there are, on the host."""
    return np.array(len(sequence), np.int64)


@operator("SequenceAt", raw=True)
def at(node: Node, sequence: list[Any], place: Any) -> Any:
    """Return one value."""
    return sequence[_place(place)]


@operator("SequenceInsert", raw=True)
def insert(node: Node, sequence: list[Any], x: Any, place: Any = None) -> list[Any]:
    """Return a sequence with one value more, at its end or before another."""
    found = list(sequence)
    found.insert(len(found) if place is None else _place(place), x)
    return found


@operator("SequenceErase", raw=True)
def erase(node: Node, sequence: list[Any], place: Any = None) -> list[Any]:
    """Return a sequence without its last value or another."""
    found = list(sequence)
    del found[-1 if place is None else _place(place)]
    return found


@operator("ConcatFromSequence", raw=True)
def concat(node: Node, sequence: list[Any]) -> Tensor:
    """Return a sequence's values joined along an axis, or along a new one."""
    values = [device(one) for one in sequence]
    join = wk.stack if node.attr("new_axis") else wk.concat
    return join(values, node.attr("axis"))


@operator("SplitToSequence", host=(1,))
def split(node: Node, x: Tensor, sizes: Any = None) -> list[Tensor]:
    """Return the parts of ``x`` along an axis, of one size, of given ones, or of length 1."""
    axis = node.attr("axis")
    total = x.shape[axis]
    if sizes is None:
        parts = wk.split(x, [1] * total, axis)
        return [one if node.attr("keepdims") else wk.squeeze(one, axis) for one in parts]
    if np.ndim(sizes):
        wanted = [int(one) for one in sizes]
    else:
        size = int(sizes)
        wanted = [size] * (total // size) + [total % size] * (total % size > 0)
    return list(wk.split(x, wanted, axis))


@operator("SequenceMap")
def sequence_map(
    node: Node, run: Callable[[Graph, Sequence[Any]], tuple[Any, ...]], *given: Any
) -> tuple[list[Any], ...]:
    """Return sequences of what a graph gives for each value; tensors are the same for all."""
    count = len(given[0])
    rows = [
        run(node.attr("body"), [one[i] if isinstance(one, list) else one for one in given])
        for i in range(count)
    ]
    return tuple([row[i] for row in rows] for i in range(len(node.outputs)))


@operator("Optional", raw=True)
def optional(node: Node, x: Any = None) -> Any:
    """Return ``x``, or nothing."""
    return x


@operator("OptionalHasElement", raw=True)
def has_element(node: Node, x: Any = None) -> Array:
    """Return whether there is something, on the host."""
    return np.array(x is not None)


@operator("OptionalGetElement", raw=True)
def get_element(node: Node, x: Any) -> Any:
    """Return what an optional value has."""
    return x
