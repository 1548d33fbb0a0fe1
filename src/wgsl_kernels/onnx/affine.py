"""Numbers per channel behind a convolution or a batch norm, which become part of it on load.

A batch norm, a product and a sum by a constant number per channel are ``factor * x + shift``, and
so is what several of them make of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.onnx.graph import Constant

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, OnnxNode

Affine = tuple["Array", "Array"]
"""Factor and shift of each channel, in double precision."""

_OF_THE_SAME_RANK = frozenset(
    {"AveragePool", "BatchNormalization", "Clip", "Concat", "GlobalAveragePool", "LRN", "MaxPool"}
    | {"Relu", "Sum"}
)
"""Operators whose first output has the rank of their first input."""


def fold_affine(graph: Graph) -> tuple[int, int]:
    """Make numbers per channel part of the convolution or the batch norm before them.

    Returns:
        How many batch norms are gone, and how many products and sums.
    """
    makers: dict[str, OnnxNode] = {}
    found: dict[OnnxNode, Affine] = {}
    uses, ranks = uses_of(graph), _ranks(graph)
    kept: list[OnnxNode] = []
    norms = 0
    for node in graph.nodes:
        x = _channels_of(graph, node)
        maker = makers.get(x) if uses.get(x) == 1 else None
        channels = 0 if maker is None else _out_channels(graph, maker)
        own = _affine(graph, node, x, channels, ranks.get(x, 0)) if channels else None
        if maker is None or own is None:
            kept.append(node)
            makers.update((name, node) for name in node.outputs[:1] if name)
            continue
        factor, shift = found.get(maker, (np.ones(channels), np.zeros(channels)))
        found[maker] = factor * own[0], shift * own[0] + own[1]
        norms += node.op == "BatchNormalization"
        maker.outputs = node.outputs[:1]
        makers[node.outputs[0]] = maker
    for maker, affine in found.items():
        _take_in(graph, maker, affine)
    return norms, graph.keep(kept) - norms


def uses_of(graph: Graph) -> dict[str, int]:
    """Return how often each value is read, outputs of the graph included."""
    counts = {one.name: 1 for one in graph.outputs}
    for node in graph.nodes:
        for name in node.reads():
            counts[name] = counts.get(name, 0) + 1
    return counts


def _ranks(graph: Graph) -> dict[str, int]:
    """Return the number of axes of values, as far as it is known."""
    ranks = {one.name: len(one.shape) for one in graph.inputs if one.shape is not None}
    for node in graph.nodes:
        given = [name for name in node.inputs if name]
        if node.op == "Conv" and node.inputs[1] in graph.constants:
            ranks[node.outputs[0]] = graph.constants[node.inputs[1]].array.ndim
        elif node.op in _OF_THE_SAME_RANK and given[0] in ranks:
            ranks[node.outputs[0]] = ranks[given[0]]
        elif node.op in ("Add", "Mul") and all(
            name in ranks or name in graph.constants for name in given
        ):
            ranks[node.outputs[0]] = max(
                ranks[name] if name in ranks else graph.constants[name].array.ndim for name in given
            )
    return ranks


def _channels_of(graph: Graph, node: OnnxNode) -> str:
    """Return which input a node takes channel by channel, or ""."""
    if node.op == "BatchNormalization":
        return node.inputs[0]
    if node.op in ("Add", "Mul"):
        return next((name for name in node.inputs if name not in graph.constants), "")
    return ""


def _out_channels(graph: Graph, maker: OnnxNode) -> int:
    """Return how many channels a node gives if it can take in factors and shifts, else 0."""
    rest = maker.inputs[1:]
    if maker.op not in ("Conv", "BatchNormalization") or any(
        name not in graph.constants for name in rest
    ):
        return 0
    arrays = [graph.constants[name].array for name in rest]
    first = arrays[0]
    if first.dtype.kind != "f" or (maker.op == "Conv" and first.ndim < 3):
        return 0
    if maker.op == "BatchNormalization" and not _is_of_inference(maker):
        return 0
    per_channel = arrays[1:] if maker.op == "Conv" else arrays
    return len(first) if all(one.shape == first.shape[:1] for one in per_channel) else 0


def _is_of_inference(node: OnnxNode) -> bool:
    return node.wanted == 1 and not node.attr("training_mode", 0)


def _affine(graph: Graph, node: OnnxNode, x: str, channels: int, rank: int) -> Affine | None:
    """Return the factor and shift of each channel that a node is, or None."""
    if node.op == "BatchNormalization":
        if not _is_of_inference(node) or _out_channels(graph, node) != channels:
            return None
        return _norm(graph, node)
    others = [name for name in node.inputs if name != x]
    if len(others) != 1 or others[0] not in graph.constants:
        return None
    array = graph.constants[others[0]].array
    lead = array.shape[: array.ndim - rank + 1] if array.ndim >= rank > 0 else ()
    per_channel = (channels, *(1,) * (rank - 2))
    if array.dtype.kind != "f" or rank < 2 or array.shape != (*lead, *per_channel):
        return None
    values = array.reshape(-1).astype(np.float64)
    if len(values) != channels:
        return None
    if node.op == "Mul":
        return values, np.zeros(channels)
    return np.ones(channels), values


def _norm(graph: Graph, node: OnnxNode) -> Affine:
    scale, offset, mean, variance = (
        graph.constants[name].array.astype(np.float64) for name in node.inputs[1:5]
    )
    factor = scale / np.sqrt(variance + node.attr("epsilon"))
    return factor, offset - mean * factor


def _take_in(graph: Graph, maker: OnnxNode, affine: Affine) -> None:
    """Give a convolution filters and a bias, a batch norm a scale and an offset, of its own."""
    factor, shift = affine
    name, rest = maker.outputs[0], maker.inputs[1:]
    first = graph.constants[rest[0]].array
    second = graph.constants[rest[1]].array if len(rest) > 1 else np.zeros(len(first))
    kinds = ("filters", "bias") if maker.op == "Conv" else ("scale", "offset")
    scaled = np.empty_like(first)
    by_channel = factor.reshape(-1, *(1,) * (first.ndim - 1))
    np.multiply(first, by_channel, out=scaled, dtype=np.float64, casting="same_kind")
    new = {
        f"{name}/{kinds[0]}": scaled,
        f"{name}/{kinds[1]}": (second * factor + shift).astype(first.dtype),
    }
    graph.constants.update((one, Constant(one, array)) for one, array in new.items())
    kind = maker.in_types[1]
    maker.inputs = (maker.inputs[0], *new, *rest[2:])
    maker.in_types = (maker.in_types[0], kind, kind, *maker.in_types[3:])
