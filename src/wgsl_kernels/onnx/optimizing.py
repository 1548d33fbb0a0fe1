"""What is done to a graph once, on load: constants and batch norms folded, dead nodes dropped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import WgslKernelsError
from wgsl_kernels.onnx.graph import Constant
from wgsl_kernels.onnx.packing import is_narrow, pack_constants, products_of
from wgsl_kernels.onnx.placing import DRAWS
from wgsl_kernels.onnx.running import host, run_node
from wgsl_kernels.onnx.types import released

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, OnnxNode

_GROWS = frozenset({"ConstantOfShape", "Expand", "Tile", "Pad", "Range", "Resize", "Upsample"})
_MOST = 1 << 28
"""Elements of a folded constant that is made larger than what it is made of."""


@dataclass
class Optimised:
    """How often something was done to a graph.

    Attributes:
        folded: Nodes that became constants.
        norms: Batch normalizations that became part of the convolution before them.
        dropped: Nodes whose outputs nothing reads.
        laid_out: Filters of convolutions that were brought into this library's order.
        packed: Constants of few bits that a device has as codes.
    """

    folded: int = 0
    norms: int = 0
    dropped: int = 0
    laid_out: int = 0
    packed: int = 0

    def __str__(self) -> str:
        said = {
            "constants folded": self.folded,
            "batch norms in convolutions": self.norms,
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
        done.norms = _fold_norms(graph)
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
        given = [graph.constants[name] if name else None for name in node.inputs]
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
    count = len(graph.nodes) - len(kept)
    graph.nodes = kept
    return count


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


def _uses(graph: Graph) -> dict[str, int]:
    counts = {one.name: 1 for one in graph.outputs}
    for node in graph.nodes:
        for name in node.reads():
            counts[name] = counts.get(name, 0) + 1
    return counts


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
    count = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    graph.constants = {name: one for name, one in graph.constants.items() if name in wanted}
    return count


def _fold_norms(graph: Graph) -> int:
    """Make batch norms behind convolutions part of their filters and biases.

    ``(W x + b - mean) * scale / sqrt(variance + epsilon) + offset`` is a convolution, too.
    """
    makers = {name: node for node in graph.nodes for name in node.outputs if name}
    uses = _uses(graph)
    kept: list[OnnxNode] = []
    for node in graph.nodes:
        maker = makers.get(node.inputs[0]) if node.inputs else None
        if maker is None or not _is_foldable_norm(graph, node, maker, uses):
            kept.append(node)
            continue
        scale, offset, mean, variance = (
            graph.constants[name].array.astype(np.float64) for name in node.inputs[1:5]
        )
        x, filters, *given = maker.inputs
        weight = graph.constants[filters].array
        bias = graph.constants[given[0]].array if given else 0.0
        factor: Array = scale / np.sqrt(variance + node.attr("epsilon"))
        name = node.outputs[0]
        new = {
            f"{name}/filters": weight * np.reshape(factor, (-1, *(1,) * (weight.ndim - 1))),
            f"{name}/bias": (bias - mean) * factor + offset,
        }
        for one, array in new.items():
            graph.constants[one] = Constant(one, array.astype(weight.dtype))
        kind = maker.in_types[1]
        maker.inputs = (x, *new)
        maker.in_types = (maker.in_types[0], kind, kind)
        maker.outputs = (name,)
        makers[name] = maker
    count = len(graph.nodes) - len(kept)
    graph.nodes = kept
    return count


def _is_foldable_norm(graph: Graph, node: OnnxNode, maker: OnnxNode, uses: dict[str, int]) -> bool:
    return (
        node.op == "BatchNormalization"
        and maker.op == "Conv"
        and node.wanted == 1
        and not node.attr("training_mode", 0)
        and uses[node.inputs[0]] == 1
        and all(name in graph.constants for name in (*node.inputs[1:5], *maker.inputs[1:]))
        and graph.constants[maker.inputs[1]].array.dtype.kind == "f"
        and _have_a_number_each(graph, (*node.inputs[1:5], *maker.inputs[2:]), maker.inputs[1])
    )


def _have_a_number_each(graph: Graph, names: Iterable[str], filters: str) -> bool:
    """Say whether constants have one number for each filter."""
    weight = graph.constants[filters].array
    return weight.ndim > 2 and all(
        graph.constants[name].array.shape == weight.shape[:1] for name in names
    )


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
            array = graph.constants[node.inputs[1]].array
            turned = np.ascontiguousarray(array.transpose(*range(2, array.ndim), 1, 0))
            graph.constants[name] = Constant(name, turned)
        node.inputs = (node.inputs[0], name, *node.inputs[2:])
        node.attrs["filters_last"] = True
        count += 1
    return count
