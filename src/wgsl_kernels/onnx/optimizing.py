"""What is done to a graph once, on load: what is constant folded, dead nodes dropped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.onnx.affine import fold_affine, uses_of
from wgsl_kernels.onnx.graph import Constant
from wgsl_kernels.onnx.packing import is_narrow, pack_constants, products_of
from wgsl_kernels.onnx.placing import DRAWS
from wgsl_kernels.onnx.running import host, run_node
from wgsl_kernels.onnx.types import released

if TYPE_CHECKING:
    from collections.abc import Container

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, OnnxNode

_GROWS = frozenset({"ConstantOfShape", "Expand", "Tile", "Pad", "Range", "Resize", "Upsample"})
_MOST = 1 << 28
"""Elements of a folded constant that is made larger than what it is made of."""

_AT_ONCE = 64
"""Filters that are laid out at a time."""


@dataclass
class Optimised:
    """How often something was done to a graph.

    Attributes:
        folded: Nodes that became constants.
        norms: Batch normalizations that became part of the convolution before them.
        scales: Products and sums by a number per channel, likewise, or of a batch norm.
        activations: ``Relu`` that became part of the convolution before it.
        dropped: Nodes whose outputs nothing reads.
        laid_out: Filters of convolutions that were brought into this library's order.
        packed: Constants of few bits that a device has as codes.
    """

    folded: int = 0
    norms: int = 0
    scales: int = 0
    activations: int = 0
    dropped: int = 0
    laid_out: int = 0
    packed: int = 0

    def __str__(self) -> str:
        said = {
            "constants folded": self.folded,
            "batch norms in convolutions": self.norms,
            "scales in convolutions and batch norms": self.scales,
            "activations in convolutions": self.activations,
            "dead nodes dropped": self.dropped,
            "filters laid out": self.laid_out,
            "weights packed": self.packed,
        }
        return ", ".join(f"{count} {what}" for what, count in said.items() if count) or "nothing"


def optimise(graph: Graph, *, trainable: bool) -> Optimised:
    """Change a graph so that a run does less, and return what was done.

    Args:
        graph: What is changed; graphs among attributes are left as they are.
        trainable: Whether floating-point initializers stay as they are, to be trained.
    """
    done = Optimised()
    fixed = {
        name
        for name, one in graph.constants.items()
        if not (trainable and one.array.dtype.kind == "f" and one.array.size > 1)
    }
    widening = [node for node in graph.nodes if is_narrow(graph, node)]
    products = {id(node): products_of(graph, node) for node in widening}
    done.folded = _fold_constants(graph, fixed, products)
    done.dropped = _drop_dead(graph)
    done.packed = pack_constants(graph, products, turns=not trainable)
    _drop_dead(graph)
    if not trainable:
        done.norms, done.scales = fold_affine(graph)
        done.activations = _take_in_activations(graph)
        done.laid_out = _lay_out_filters(graph)
        _drop_dead(graph)
    graph.find_dead()
    return done


def _fold_constants(graph: Graph, fixed: set[str], narrow: Container[int]) -> int:
    """Compute nodes of constants alone, on the cpu backend, but those that widen few bits."""
    kept: list[OnnxNode] = []
    for node in graph.nodes:
        if id(node) in narrow or not _is_foldable(graph, node, fixed):
            kept.append(node)
            continue
        # of their own, since a constant keeps the tensor that it is read as, and where that is
        given = [
            Constant(name, graph.constants[name].array) if name else None for name in node.inputs
        ]
        try:
            with use_backend("cpu"):
                found = run_node(node, given, {})
                arrays = [released(host(x), t) for x, t in zip(found, node.out_types, strict=False)]
        except (WgslKernelsError, MemoryError):
            kept.append(node)  # it is said where the node runs
            continue
        for name, array in zip(node.outputs, arrays, strict=False):
            if name:
                graph.constants[name] = Constant(name, array)
                fixed.add(name)
    return graph.keep(kept)


def _is_foldable(graph: Graph, node: OnnxNode, fixed: set[str]) -> bool:
    if node.op in DRAWS or node.op == "Dropout" or next(node.graphs(), None) is not None:
        return False
    if not all(name in fixed or not name for name in node.inputs):
        return False
    if any(not type_.startswith("tensor(") or "string" in type_ for type_ in node.out_types):
        return False
    if node.op not in _GROWS:
        return True
    return _size(graph, node) <= _MOST


def _size(graph: Graph, node: OnnxNode) -> float:
    """Return an upper bound of the elements that a node makes of small constants."""
    arrays = [graph.constants[name].array for name in node.inputs if name]
    if node.op in ("ConstantOfShape", "Expand"):
        return math.prod(float(n) for n in arrays[-1].reshape(-1)) * max(
            1, arrays[0].size if node.op == "Expand" else 1
        )
    if node.op == "Range":
        first, last, step = (float(one.item()) for one in arrays)
        return (last - first) / step if step else math.inf
    if node.op == "Tile":
        return arrays[0].size * math.prod(float(n) for n in arrays[1].reshape(-1))
    return 0.0 if arrays and arrays[0].size < 1 << 20 and node.op == "Pad" else math.inf


def _drop_dead(graph: Graph) -> int:
    """Drop nodes and constants that nothing reads, and names of outputs that nothing reads."""
    wanted = {one.name for one in graph.outputs}
    kept: list[OnnxNode] = []
    for node in reversed(graph.nodes):
        if not any(name in wanted for name in node.outputs):
            continue
        node.outputs = tuple(name if name in wanted else "" for name in node.outputs)
        wanted.update(node.reads())
        kept.append(node)
    graph.constants = {name: one for name, one in graph.constants.items() if name in wanted}
    return graph.keep(kept[::-1])


def _take_in_activations(graph: Graph) -> int:
    """Make a ``Relu`` behind a convolution, and behind nothing else, the end of it."""
    makers: dict[str, OnnxNode] = {}
    uses = uses_of(graph)
    kept: list[OnnxNode] = []
    for node in graph.nodes:
        maker = makers.get(node.inputs[0]) if node.op == "Relu" else None
        if maker is None or uses[node.inputs[0]] > 1 or maker.attr("activation"):
            kept.append(node)
            if node.op == "Conv":
                makers[node.outputs[0]] = node
            continue
        maker.attrs["activation"] = "relu"
        maker.outputs = node.outputs
    return graph.keep(kept)


def _lay_out_filters(graph: Graph) -> int:
    """Bring constant filters of convolutions into the order that this library's ops take."""
    count = 0
    for node in graph.nodes:
        if node.op != "Conv" or node.inputs[1] not in graph.constants:
            continue
        if graph.constants[node.inputs[1]].array.ndim < 3:
            continue  # it is said where the node runs
        name = f"{node.inputs[1]}/last"
        if name not in graph.constants:
            graph.constants[name] = Constant(name, _turned(graph.constants[node.inputs[1]].array))
        node.inputs = (node.inputs[0], name, *node.inputs[2:])
        _lay_out_bias(graph, node)
        node.attrs["filters_last"] = True
        count += 1
    return count


def _turned(filters: Array) -> Array:
    """Return [*window, in, out] of [out, in, *window]; some filters at a time, for the cache."""
    turned = np.empty((*filters.shape[2:], *filters.shape[1::-1]), filters.dtype)
    for first in range(0, len(filters), _AT_ONCE):
        some = filters[first : first + _AT_ONCE]
        turned[..., first : first + _AT_ONCE] = some.transpose(*range(2, some.ndim), 1, 0)
    return turned


def _lay_out_bias(graph: Graph, node: OnnxNode) -> None:
    """Bring a constant bias that is added apart, of groups, into the shape that broadcasts."""
    x, filters, *rest = node.inputs
    bias = graph.constants.get(rest[0]) if rest else None
    if bias is None or node.attr("group", 1) == 1 or bias.array.ndim != 1:
        return
    axes = graph.constants[filters].array.ndim - 2
    name = f"{bias.name}/{axes}d"
    graph.constants[name] = Constant(name, bias.array.reshape(-1, *(1,) * max(axes, 2)))
    node.inputs = (x, filters, name)
