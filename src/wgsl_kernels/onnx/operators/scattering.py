"""Elements put at places: set, added, multiplied, or kept where they are larger or smaller."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.onnx import ops
from wgsl_kernels.onnx.operators.indexing import from_start
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.types import carried

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.onnx.graph import Node


@operator("Scatter", "ScatterElements")
def scatter_elements(node: Node, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """Return ``x`` changed at one place along an axis for each update."""
    axis = node.attr("axis") % x.ndim
    found = from_start(places, x.shape[axis])
    flat = ops.zeros_like(found)
    for i, length in enumerate(x.shape):
        along = [-1 if j == i else 1 for j in range(x.ndim)]
        at = found if i == axis else ops.reshape(ops.arange(places.shape[i], dtype="int32"), along)
        flat = flat * length + at
    return _put(node, x, ops.reshape(flat, (-1,)), ops.reshape(updates, (-1,)))


@operator("ScatterND")
def scatter_nd(node: Node, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """Return ``x`` changed at the parts that rows of places name."""
    depth = places.shape[-1]
    shape = x.shape[:depth]
    places = ops.where(places < 0, places + carried(np.array(shape, np.int32)), places)
    steps = np.array([math.prod(x.shape[i + 1 :]) for i in range(depth)], np.int32)
    starts = ops.sum(places * carried(steps), -1)
    inner = ops.arange(math.prod(x.shape[depth:]), dtype="int32")
    flat = ops.reshape(starts, (-1, 1)) + inner
    return _put(node, x, ops.reshape(flat, (-1,)), ops.reshape(updates, (-1,)))


def _put(node: Node, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """Return ``x`` with updates, [count], put at places, [count], in its flat order."""
    kind = node.attr("reduction", "none")
    flat = ops.reshape(x, (-1,))
    if updates.size == 0:
        return x
    if kind == "none":
        found = ops.tensor_scatter_update(flat, ops.reshape(places, (-1, 1)), updates)
    elif kind == "add":
        found = flat.at[places].add(updates)
    else:
        found = _by_rounds(flat, places, updates, _REDUCTIONS[kind])
    return ops.reshape(found, x.shape)


_REDUCTIONS = {"mul": ops.multiply, "max": ops.maximum, "min": ops.minimum}


def _by_rounds(
    flat: Tensor, places: Tensor, updates: Tensor, combine: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Return ``flat`` with updates combined in: in each round at most one for each place.

    Updates are sorted by place; the n-th of each place is in round n.
    """
    order = ops.argsort(places)
    sorted_places = ops.take(places, order)
    first = ops.searchsorted(sorted_places, sorted_places, side="left")
    turn = (ops.arange(places.size, dtype="int32") - first).numpy()
    for number in range(int(turn.max()) + 1):
        chosen = carried(np.nonzero(turn == number)[0])
        at = ops.take(sorted_places, chosen)
        new = combine(ops.take(flat, at), ops.take(updates, ops.take(order, chosen)))
        flat = ops.tensor_scatter_update(flat, ops.reshape(at, (-1, 1)), new)
    return flat


@operator("TensorScatter")
def tensor_scatter(node: Node, x: Tensor, updates: Tensor, starts: Tensor | None = None) -> Tensor:
    """Return ``x`` with a segment along an axis replaced, from a start of each batch on."""
    axis, length = node.attr("axis") % x.ndim, updates.shape[node.attr("axis")]
    batch = x.shape[0]
    starts = ops.zeros((batch,), "int32") if starts is None else starts
    steps = ops.reshape(starts, (-1, 1)) + ops.arange(length, dtype="int32")
    if node.attr("mode") == "circular":
        steps = ops.remainder(steps, x.shape[axis])
    rows = ops.moveaxis(x, axis, 1)
    flat = ops.reshape(ops.arange(batch, dtype="int32"), (-1, 1)) * rows.shape[1] + steps
    shape = (batch * rows.shape[1], *rows.shape[2:])
    new = ops.reshape(ops.moveaxis(updates, axis, 1), (batch * length, *rows.shape[2:]))
    found = ops.tensor_scatter_update(ops.reshape(rows, shape), ops.reshape(flat, (-1, 1)), new)
    return ops.moveaxis(ops.reshape(found, rows.shape), 1, axis)
