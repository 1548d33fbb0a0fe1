"""Control flow, whose bodies are graphs; sequences and optional values, lists and None."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError, ShapeError
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import device, host, stacked
from wgsl_kernels.onnx.types import element, numpy_type
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, OnnxNode
    from wgsl_kernels.onnx.running import GraphRunner


def _flag(x: Any) -> bool:
    return bool(_one(x))


def _place(x: Any) -> int:
    return int(_one(x))


def _one(x: Any) -> Any:
    """Return the one value of a condition or a count.

    Raises:
        ShapeError: There is another number of them.
    """
    found = np.ravel(host(x))
    if found.size != 1:
        raise ShapeError(f"a condition or a count has {found.size} values; want one.")
    return found[0]


@operator("If")
def branch(node: OnnxNode, run: GraphRunner, condition: Any) -> tuple[Any, ...]:
    """Return what one of two graphs gives; the condition is read."""
    return run(node.attr("then_branch" if _flag(condition) else "else_branch"), [])


@operator("Loop")
def loop(
    node: OnnxNode, run: GraphRunner, trips: Any = None, condition: Any = None, *state: Any
) -> tuple[Any, ...]:
    """Return the last state and all that each iteration gave; conditions are read."""
    body = node.attr("body")
    most = None if trips is None else _place(trips)
    goes_on = condition is None or _flag(condition)
    count, number = len(state), 0
    scans: list[list[Any]] = [[] for _ in body.outputs[1 + count :]]
    while goes_on and (most is None or number < most):
        goes_on_next, *results = run(body, [np.array(number, np.int64), np.array(True), *state])
        goes_on, state = _flag(goes_on_next), tuple(results[:count])
        for collected, one in zip(scans, results[count:], strict=True):
            collected.append(one)
        number += 1
    return (*state, *(_joined(one, body, 1 + count + i) for i, one in enumerate(scans)))


def _joined(values: list[Any], body: Graph, place: int) -> Any:
    """Return what iterations gave as one value; of none of them an empty one."""
    if values:
        return stacked(values)
    info = body.outputs[place]
    kind = numpy_type(element(info.type)) if info.type else np.float32
    return np.zeros((0, *(n if isinstance(n, int) else 0 for n in info.shape or ())), kind)


@operator("Scan", since=9)
def scan(node: OnnxNode, run: GraphRunner, *given: Any) -> tuple[Any, ...]:
    """Return the last state and what a graph gave for each element of sequences.

    Where the graph can be replayed it is, once a step; else its values may be on the host.
    """
    count, body = node.attr("num_scan_inputs"), node.attr("body")
    states, inputs = given[: len(given) - count], [device(x) for x in given[-count:]]
    outs = len(body.outputs) - len(states)
    rows = [
        _turned(ops.moveaxis(x, axis, 0), back)
        for x, axis, back in zip(inputs, *_axes(node, "input", count), strict=True)
    ]
    steps = {len(one) for one in rows}
    if len(steps) > 1:
        raise ShapeError(f"Scan: the sequences have {sorted(steps)} elements; want as many each.")

    def step(state: Sequence[Any], now: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        results = run(body, [*state, *now])
        return list(results[: len(states)]), list(results[len(states) :])

    if steps != {0} and run.can_be_recorded(body):
        first = [device(x) for x in states]
        last, every = ops.scan(lambda *one: tuple(map(_on_device, step(*one))), first, rows)
    else:
        last, found = list(states), []
        for place in range(*steps):
            last, one = step(last, [x[place] for x in rows])
            found.append(one)
        every = [_joined([one[i] for one in found], body, len(states) + i) for i in range(outs)]
    joined = [
        ops.moveaxis(_turned(device(one), back), 0, axis)
        for one, axis, back in zip(every, *_axes(node, "output", outs), strict=True)
    ]
    return (*last, *joined)


def _axes(node: OnnxNode, kind: str, count: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return along which axis each sequence goes, and whether it goes backwards."""
    nothing = (0,) * count
    axes, back = (node.attr(f"scan_{kind}_{one}") or nothing for one in ("axes", "directions"))
    return axes, back


def _turned(x: Tensor, back: int) -> Tensor:
    return ops.flip(x, 0) if back else x


def _on_device(values: Sequence[Any]) -> list[Any]:
    return [device(one) for one in values]


@operator("Scan", since=8)
def scan_batches(node: OnnxNode, run: GraphRunner, lengths: Any, *given: Any) -> tuple[Any, ...]:
    """Return what `scan` does of each element of a batch, as it was before version 9."""
    if lengths is not None:
        raise ArgumentError("Scan: got sequence_lens; before version 9 want whole sequences.")
    every = [device(x) for x in given]
    rows = [scan(node, run, *(x[i] for x in every)) for i in range(every[0].shape[0])]
    return tuple(stacked(one) for one in zip(*rows, strict=True))


@operator("SequenceConstruct", "SequenceEmpty", raw=True)
def construct(node: OnnxNode, *xs: Any) -> list[Any]:
    """Return a sequence of values."""
    return list(xs)


@operator("SequenceLength", raw=True)
def length(node: OnnxNode, sequence: list[Any]) -> Array:
    """Return how many values there are, on the host."""
    return np.array(len(sequence), np.int64)


@operator("SequenceAt", raw=True)
def at(node: OnnxNode, sequence: list[Any], place: Any) -> Any:
    """Return one value."""
    return sequence[_place(place)]


@operator("SequenceInsert", raw=True)
def insert(node: OnnxNode, sequence: list[Any], x: Any, place: Any = None) -> list[Any]:
    """Return a sequence with one value more, at its end or before another."""
    found, count = list(sequence), len(sequence)
    before = count if place is None else _place(place)
    if not -count <= before <= count:
        raise ArgumentError(
            f"SequenceInsert: position is {before}, and there are {count} values; want one from "
            f"{-count} to {count}."
        )
    found.insert(before, x)
    return found


@operator("SequenceErase", raw=True)
def erase(node: OnnxNode, sequence: list[Any], place: Any = None) -> list[Any]:
    """Return a sequence without its last value or another."""
    found = list(sequence)
    del found[-1 if place is None else _place(place)]
    return found


@operator("ConcatFromSequence", raw=True)
def concat(node: OnnxNode, sequence: list[Any]) -> Tensor:
    """Return a sequence's values joined along an axis, or along a new one."""
    values = [device(one) for one in sequence]
    join = ops.stack if node.attr("new_axis") else ops.concat
    return join(values, node.attr("axis"))


@operator("SplitToSequence", host=(1,))
def split(node: OnnxNode, x: Tensor, sizes: Any = None) -> list[Tensor]:
    """Return the parts of ``x`` along an axis, of one size, of given ones, or of length 1."""
    axis = node.attr("axis")
    total = x.shape[axis]
    if sizes is None:
        parts = ops.split(x, [1] * total, axis)
        return [one if node.attr("keepdims") else ops.squeeze(one, axis) for one in parts]
    if np.ndim(sizes):
        wanted = [int(one) for one in sizes]
    else:
        size = int(sizes)
        wanted = [size] * (total // size) + [total % size] * (total % size > 0)
    return list(ops.split(x, wanted, axis))


@operator("SequenceMap")
def sequence_map(node: OnnxNode, run: GraphRunner, *given: Any) -> tuple[list[Any], ...]:
    """Return sequences of what a graph gives for each value; tensors are the same for all."""
    count = len(given[0])
    rows = [
        run(node.attr("body"), [one[i] if isinstance(one, list) else one for one in given])
        for i in range(count)
    ]
    return tuple([row[i] for row in rows] for i in range(len(node.outputs)))


@operator("OptionalHasElement", raw=True)
def has_element(node: OnnxNode, x: Any = None) -> Array:
    """Return whether there is something, on the host."""
    return np.array(x is not None)
