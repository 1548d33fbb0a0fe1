"""Constants of few bits that stay packed on a device: what reads them reads codes.

Which they are is decided on load. A node that widens one, ``DequantizeLinear`` or ``Cast``, is not
folded; where products alone read what it gives, they read the codes, with its scales.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wgsl_kernels.onnx.graph import Constant
from wgsl_kernels.onnx.types import element
from wgsl_kernels.ops.quantization.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, OnnxNode

_WIDENING = ("Cast", "DequantizeLinear")
_BYTES = ("int8", "uint8")
_WORTH_PACKING = 256
"""Elements from which on a constant is packed."""


def is_narrow(graph: Graph, node: OnnxNode) -> bool:
    """Say whether a node widens a constant of few bits that is to stay packed.

    Filters of convolutions are not, since these take floats in an order of their own, nor are
    int8 and uint8, but where products alone read what is made of them.
    """
    constant = _narrow_constant(graph, node.inputs[0]) if node.op in _WIDENING else None
    if constant is None or node.domain:
        return False
    if constant.kind in _BYTES:
        return bool(products_of(graph, node))
    return not any("Conv" in one.op for one, _ in _readers(graph, node.outputs[0]))


def _narrow_constant(graph: Graph, name: str) -> Constant | None:
    constant = graph.constants.get(name)
    if constant is None or constant.array.ndim < 1 or constant.array.size < _WORTH_PACKING:
        return None
    return constant if constant.array.dtype.kind != "O" and constant.kind else None


def _readers(graph: Graph, name: str) -> Iterator[tuple[OnnxNode, int]]:
    """Yield what reads a value, and which of its inputs it is; -1 where its graphs do."""
    for node in graph.nodes:
        yield from ((node, at) for at, one in enumerate(node.inputs) if one == name)
        if any(name in inner.reads() for inner in node.graphs()):
            yield node, -1


def products_of(graph: Graph, node: OnnxNode) -> tuple[OnnxNode, ...]:
    """Return the products that alone read what a node makes of a matrix of few bits.

    None where something else reads it, or a product could not read the codes.
    """
    constant, name = _narrow_constant(graph, node.inputs[0]), node.outputs[0]
    is_output = any(one.name == name for one in graph.outputs)
    if constant is None or constant.array.ndim != 2 or is_output:
        return ()
    if any(one and one not in graph.constants for one in node.inputs[1:]):
        return ()
    if element(node.out_types[0]) not in ("float", "float16"):
        return ()
    if node.op == "Cast" and KINDS[str(constant.kind)].is_integer:
        return ()
    found = list(_readers(graph, name))
    fits = all(
        one.op in ("MatMul", "Gemm") and at == 1 and not one.domain and not one.attr("transA")
        for one, at in found
    )
    return tuple(one for one, _ in found) if fits else ()


def pack_constants(graph: Graph, products: dict[int, tuple[OnnxNode, ...]], *, turns: bool) -> int:
    """Have products read codes, and return how many constants are packed.

    Args:
        graph: What is changed.
        products: By the ``id`` of nodes that widen constants, the products that alone read these.
        turns: Whether matrices may be transposed, with their scales, so that what is summed is
            adjacent and shares them.
    """
    for node in graph.nodes:
        for product in products.get(id(node), ()):
            _read_codes(graph, node, product, turns=turns)
    used = {one for node in graph.nodes for one in node.inputs if _narrow_constant(graph, one)}
    used -= {one.name for one in graph.outputs}
    found = [graph.constants[name] for name in used if _is_read_as_codes(graph, name, products)]
    for one in found:
        one.is_packed = True
    return len(found)


def _is_read_as_codes(graph: Graph, name: str, kept: dict[int, tuple[OnnxNode, ...]]) -> bool:
    """Say whether all that reads a constant takes codes: widens them, multiplies or gathers."""
    constant = graph.constants[name]
    is_byte, is_matrix = constant.kind in _BYTES, constant.array.ndim == 2
    is_read = False
    for node, at in _readers(graph, name):
        if kept.get(id(node)):
            continue  # products read the constant in its place
        is_read = True
        if at == 1 and node.attr("block_shape"):
            continue
        if is_byte or node.domain:
            return False
        is_product = node.op in ("MatMul", "Gemm") and at == 1 and not node.attr("transA")
        is_rows = node.op == "Gather" and at == 0 and node.attr("axis") in (0, -2)
        if not (id(node) in kept or (is_matrix and (is_product or is_rows))):
            return False
    return is_read


def _read_codes(graph: Graph, node: OnnxNode, product: OnnxNode, *, turns: bool) -> None:
    """Have a product read the matrix that a node widens, its scales and its zero points."""
    rows, cols = graph.constants[node.inputs[0]].array.shape
    scale, zero = (*node.inputs[1:], "", "")[:2] if node.op == "DequantizeLinear" else ("", "")
    block = (0, 0)
    if scale and node.attr("block_size"):
        size = node.attr("block_size")
        block = (1, size) if node.attr("axis") % 2 else (size, 1)
    elif scale and graph.constants[scale].array.size > 1:
        block = (0, 1) if node.attr("axis") % 2 else (1, 0)
    if zero:
        values = graph.constants[zero].array.astype(np.float32)
        zero = _added(graph, f"{zero}/float", values) if values.any() else ""
    names = [node.inputs[0], scale, zero]
    block = (block[0] or rows, block[1] or cols)
    if scale and turns and not product.attr("transB"):
        blocks = -(-rows // block[0]), -(-cols // block[1])
        shapes = ((rows, cols), blocks, blocks)
        names = [
            _added(graph, f"{one}/turned", graph.constants[one].array.reshape(shape).T)
            if one
            else ""
            for one, shape in zip(names, shapes, strict=True)
        ]
        block = block[1], block[0]
        product.attrs["is_turned"] = True
    filled = (*product.inputs, "")[:3] if product.op == "Gemm" else product.inputs[:2]
    kinds = (*product.in_types, "")[: len(filled)]
    more = [one for one in names[1:] if one]
    types = [*node.in_types[1:2], "tensor(float)"][: len(more)]
    product.inputs = (filled[0], names[0], *filled[2:], *more)
    product.in_types = (kinds[0], node.in_types[0], *kinds[2:], *types)
    product.attrs["block_shape"] = block


def _added(graph: Graph, name: str, array: Array) -> str:
    """Add a constant, unless it is there, and return its name."""
    if name not in graph.constants:
        graph.constants[name] = Constant(name, np.asarray(array, order="C"))
    return name
