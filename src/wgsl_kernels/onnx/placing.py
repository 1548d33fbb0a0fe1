"""Where values of a graph are: which are known on the host before a run, which a device reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.onnx.types import element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wgsl_kernels.onnx.graph import Constant, Graph, OnnxNode

_NOT_RECORDED = frozenset({"complex128", "double", "string"})
"""Element types that live on the host."""
_FROM_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Range", "Rank"})
_DECIDING = {"If": 1, "Loop": 2}
"""How many inputs, the first ones, say which graph runs, or how often."""
_POSITIONS = {"SequenceAt": 1, "SequenceErase": 1, "SequenceInsert": 2}
"""Which input says which value of a sequence is meant."""
DRAWS = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"}
    | {"RandomUniformLike"}
)
"""Operators that draw random numbers; ``Dropout`` does so in training."""


def graphs_in(graph: Graph) -> Iterator[Graph]:
    """Yield a graph and those among the attributes of its nodes."""
    yield graph
    for node in graph.nodes:
        for inner in node.graphs():
            yield from graphs_in(inner)


def read_on_device(graph: Graph) -> dict[str, Constant]:
    """Return the constants that a node wants as tensors, by name."""
    every = list(graphs_in(graph))
    constants = {name: one for inner in every for name, one in inner.constants.items()}
    wanted = {
        name: constants[name]
        for inner in every
        for node in inner.nodes
        for i, name in enumerate(node.inputs)
        if name in constants and i not in node.implementation.host
    }
    wanted.update(
        (one.name, constants[one.name])
        for inner in every
        for one in inner.outputs
        if one.name in constants
    )
    return wanted


def reason_not_replayed(graph: Graph, around: Iterable[str] = ()) -> str | None:
    """Return why a captured run of the graph would not be right, or could not be: or None.

    Args:
        graph: What would run.
        around: Names from around it whose values are on the host.
    """
    return _judged(graph, around)[0]


def _judged(graph: Graph, around: Iterable[str]) -> tuple[str | None, set[str]]:
    """Return what `reason_not_replayed` does, and the names whose values are on the host."""
    known = {*around, *graph.constants}
    return _reason(graph, known), known


def _reason(graph: Graph, known: set[str]) -> str | None:
    """Return what `reason_not_replayed` does, and add the names whose values are on the host."""
    for one in (*graph.inputs, *graph.outputs):
        if one.type and (not one.type.startswith("tensor(") or element(one.type) in _NOT_RECORDED):
            return f"{one.name!r} is of type {one.type}"
    for node in graph.nodes:
        if any(node.graphs()):
            why = _reason_of_graphs(node, known)
            if why is not None:
                return why
            continue
        by_rounds = node.attr("reduction", "none") not in ("none", "add")
        is_scatter = node.op in ("ScatterElements", "ScatterND") and by_rounds
        if node.implementation.reads or is_scatter:
            return f"node {node.name!r} ({node.op}) reads values of the device"
        if node.op in DRAWS or (node.op == "Dropout" and len(node.inputs) > 2):
            return f"node {node.name!r} ({node.op}) draws random numbers"
        for i, name in enumerate(node.inputs):
            is_read = i in node.implementation.host or i == _POSITIONS.get(node.op)
            if name and is_read and name not in known:
                return f"node {node.name!r} ({node.op}) reads {name!r}, which the device computes"
        hosted = next((one for one in node.out_types if element(one) in _NOT_RECORDED), None)
        if hosted is not None:
            return f"node {node.name!r} ({node.op}) gives {hosted}"
        if _is_known(node, known):
            known.update(name for name in node.outputs if name)
    return None


def _reason_of_graphs(node: OnnxNode, known: set[str]) -> str | None:
    """Return why a node with graphs cannot be replayed: unless it is known what they do."""
    reads = f"node {node.name!r} ({node.op}) reads values of the device"
    if node.op == "Scan":  # as many steps as an axis is long
        return reason_not_replayed(node.attr("body"), known)
    if any(name and name not in known for name in node.inputs[: _DECIDING.get(node.op)]):
        return reads
    if node.op == "If":
        whys = [reason_not_replayed(graph, known) for graph in node.graphs()]
        return next((why for why in whys if why is not None), None)
    if node.op == "Loop":
        body = node.attr("body")
        why, there = _judged(body, {*known, *(one.name for one in body.inputs[:2])})
        return why or (None if body.outputs[0].name in there else reads)
    return reads


def _is_known(node: OnnxNode, known: set[str]) -> bool:
    """Say whether a node's outputs are on the host, whatever the values of the inputs are."""
    if node.op in _FROM_SHAPES or (node.op == "ConstantOfShape" and _is_int64(node)):
        return True
    return node.numpy is not None and all(name in known for name in node.inputs if name)


def _is_int64(node: OnnxNode) -> bool:
    return node.out_types[0] == "tensor(int64)"
