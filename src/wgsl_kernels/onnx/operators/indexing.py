"""Elements taken by their places, and put there: gathered, chosen, sorted, set, added."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.graph import Constant
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import device, known_shape
from wgsl_kernels.onnx.types import CARRIERS, carried, element
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import OnnxNode


def from_start(places: Tensor, length: int) -> Tensor:
    """Return places counted from the start, where negative ones count from the end."""
    return ops.where(places < 0, places + length, places)


@operator("Gather", raw=True)
def gather(node: OnnxNode, x: Any, places: Any) -> Tensor:
    """Return the parts of ``x`` at places along an axis; of codes, only these are widened."""
    axis, length = node.attr("axis"), known_shape(x)[node.attr("axis")]
    found = from_start(device(places), length)
    if isinstance(x, Constant) and x.is_packed and x.array.ndim == 2 and axis in (0, -2):
        rows = ops.widen(ops.take(x.codes, found, 0), kind=str(x.kind))
        return rows[..., : x.array.shape[1]]
    return ops.take(device(x), found, axis)


@operator("GatherElements")
def gather_elements(node: OnnxNode, x: Tensor, places: Tensor) -> Tensor:
    """Return one element for each place along an axis; other axes are those of ``places``."""
    axis = node.attr("axis") % x.ndim
    found = from_start(places, x.shape[axis])
    part = tuple(slice(None) if i == axis else slice(0, n) for i, n in enumerate(places.shape))
    return ops.take_along_axis(x[part], found, axis)


@operator("GatherND")
def gather_nd(node: OnnxNode, x: Tensor, places: Tensor) -> Tensor:
    """Return the parts of ``x`` that rows of places name, the first axes being batches."""
    batch, depth = node.attr("batch_dims", 0), places.shape[-1]
    shape = np.array(x.shape[batch : batch + depth], np.int32)
    places = ops.where(places < 0, places + carried(shape), places)
    if batch:
        places = ops.concat([*_batches(places.shape, batch), places], -1)
    return ops.gather_nd(x, places)


def _batches(shape: tuple[int, ...], count: int) -> list[Tensor]:
    """Return for each of the first axes which one of it each row of places is in."""
    rows = (*shape[:-1], 1)
    return [
        ops.broadcast_to(
            ops.reshape(
                ops.arange(shape[i], dtype="int32"), [-1 if j == i else 1 for j in range(len(rows))]
            ),
            rows,
        )
        for i in range(count)
    ]


@operator("OneHot", host=(1,))
def one_hot(node: OnnxNode, places: Tensor, depth: Array, values: Tensor) -> Tensor:
    """Return one value at each place of a new axis, another elsewhere."""
    count = int(np.ravel(depth)[0])
    ndim = places.ndim + 1
    axis = node.attr("axis") % ndim
    found = ops.expand_dims(from_start(ops.astype(places, "int32"), count), axis)
    every = ops.reshape(
        ops.arange(count, dtype="int32"), [-1 if i == axis else 1 for i in range(ndim)]
    )
    return ops.where(ops.equal(found, every), values[1], values[0])


@operator("Compress", host=(1,), reads=True)
def compress(node: OnnxNode, x: Tensor, condition: Array) -> Tensor:
    """Return the parts of ``x`` along an axis, or its elements, where a condition holds."""
    places = carried(np.nonzero(condition)[0])
    axis = node.attr("axis")
    return ops.take(
        ops.reshape(x, (-1,)) if axis is None else x, places, 0 if axis is None else axis
    )


@operator("NonZero", reads=True)
def nonzero(node: OnnxNode, x: Tensor) -> Tensor:
    """Return the places of what is not 0, a column each."""
    return ops.stack(ops.nonzero(x), 0)


@operator("ReverseSequence", host=(1,))
def reverse_sequence(node: OnnxNode, x: Tensor, lengths: Array) -> Tensor:
    """Return ``x`` with the first elements of each sequence of a batch in reverse order."""
    time, batch = node.attr("time_axis"), node.attr("batch_axis")
    steps = np.arange(x.shape[time])[None, :]
    ends = np.asarray(lengths)[:, None]
    order = np.where(steps < ends, ends - 1 - steps, steps)
    rows = np.broadcast_to(np.arange(len(lengths))[:, None], order.shape)
    found = ops.gather_nd(
        ops.moveaxis(x, (batch, time), (0, 1)), carried(np.stack([rows, order], -1))
    )
    return ops.moveaxis(found, (0, 1), (batch, time))


@operator("Unique", reads=True)
def unique(node: OnnxNode, x: Tensor) -> Any:
    """Return what is in ``x``, where each is first, which each element is, and how many there are.

    In order of size, or of the first places of each.
    """
    axis = node.attr("axis")
    flat = ops.reshape(x, (-1,)) if axis is None else x
    along = 0 if axis is None else axis % x.ndim
    _, inverse = ops.unique(flat, along)
    count = int(ops.max(inverse).numpy()) + 1 if inverse.size else 0
    rows = ops.arange(inverse.size, dtype="int32")
    kinds = ops.reshape(ops.arange(count, dtype="int32"), (-1, 1))
    of_kind = ops.equal(ops.reshape(inverse, (1, -1)), kinds)
    first = ops.min(ops.where(of_kind, rows, inverse.size), 1)
    counts = ops.sum(ops.astype(of_kind, "int32"), 1)
    order = ops.argsort(first)
    if node.attr("sorted"):
        order = _by_size(ops.take(flat, first, along), along)
    place = ops.argsort(order)  # where each kind comes
    return (
        ops.take(flat, ops.take(first, order), along),
        ops.take(first, order),
        ops.take(place, inverse),
        ops.take(counts, order),
    )[: node.wanted]


def _by_size(kinds: Tensor, axis: int) -> Tensor:
    """Return the order of parts along an axis, by their elements from the first on."""
    parts = ops.moveaxis(kinds, axis, 0)
    rows = ops.reshape(parts, (parts.shape[0], math.prod(parts.shape[1:])))
    order = ops.arange(rows.shape[0], dtype="int32")
    for column in range(rows.shape[1] - 1, -1, -1):
        order = ops.take(order, ops.argsort(ops.take(rows[:, column], order)))
    return order


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml", reads=True)
def array_feature_extractor(node: OnnxNode, x: Tensor, places: Tensor) -> Tensor:
    """Return the elements of the last axis at places."""
    found = ops.take(x, ops.reshape(places, (-1,)), x.ndim - 1)
    return ops.reshape(found, (1, -1)) if x.ndim == 1 else found


@operator("Binarizer", domain="ai.onnx.ml")
def binarize(node: OnnxNode, x: Tensor) -> Tensor:
    """Return 1 where ``x`` is above a threshold, else 0."""
    carrier = CARRIERS[element(node.out_types[0])]
    return ops.astype(x > node.attr("threshold"), carrier)


@operator("Scatter", "ScatterElements")
def scatter_elements(node: OnnxNode, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
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
def scatter_nd(node: OnnxNode, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """Return ``x`` changed at the parts that rows of places name."""
    depth = places.shape[-1]
    shape = x.shape[:depth]
    places = ops.where(places < 0, places + carried(np.array(shape, np.int32)), places)
    steps = np.array([math.prod(x.shape[i + 1 :]) for i in range(depth)], np.int32)
    starts = ops.sum(places * carried(steps), -1)
    inner = ops.arange(math.prod(x.shape[depth:]), dtype="int32")
    flat = ops.reshape(starts, (-1, 1)) + inner
    return _put(node, x, ops.reshape(flat, (-1,)), ops.reshape(updates, (-1,)))


def _put(node: OnnxNode, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
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
def tensor_scatter(
    node: OnnxNode, x: Tensor, updates: Tensor, starts: Tensor | None = None
) -> Tensor:
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
