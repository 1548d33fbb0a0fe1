"""Control flow, whose bodies are graphs; sequences and optional values, lists and None."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx import ops
from wgsl_kernels.onnx.registry import operator
from wgsl_kernels.onnx.running import device, host, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, Node

    Run = Callable[[Graph, Sequence[Any]], tuple[Any, ...]]


def _flag(x: Any) -> bool:
    return bool(np.ravel(host(x))[0])


@operator("If")
def branch(node: Node, run: Run, condition: Any) -> tuple[Any, ...]:
    """Return what one of two graphs gives; the condition is read."""
    return run(node.attr("then_branch" if _flag(condition) else "else_branch"), [])


@operator("Loop")
def loop(
    node: Node, run: Run, trips: Any = None, condition: Any = None, *state: Any
) -> tuple[Any, ...]:
    """Return the last state and all that each iteration gave; conditions are read."""
    body = node.attr("body")
    most = None if trips is None else int(np.ravel(host(trips))[0])
    goes_on = condition is None or _flag(condition)
    count, number = len(state), 0
    scans: list[list[Any]] = [[] for _ in body.outputs[1 + count :]]
    while goes_on and (most is None or number < most):
        goes_on_next, *results = run(body, [np.array(number, np.int64), np.array(True), *state])
        goes_on, state = _flag(goes_on_next), tuple(results[:count])
        for collected, one in zip(scans, results[count:], strict=True):
            collected.append(one)
        number += 1
    return (*state, *(_joined(one, body, count + i) for i, one in enumerate(scans)))


def _joined(values: list[Any], body: Graph, place: int) -> Any:
    """Return what iterations gave as one value; of none of them an empty one."""
    if values:
        return stacked(values)
    info = body.outputs[1 + place]
    return np.zeros((0, *(n if isinstance(n, int) else 0 for n in info.shape or ())), np.float32)


@operator("Scan", since=9)
def scan(node: Node, run: Run, *given: Any) -> tuple[Any, ...]:
    """Return the last state and what a graph gave for each element of sequences."""
    count = node.attr("num_scan_inputs")
    states, inputs = list(given[: len(given) - count]), [device(x) for x in given[-count:]]
    body = node.attr("body")
    outs = len(body.outputs) - len(states)
    in_axes = node.attr("scan_input_axes") or (0,) * count
    out_axes = node.attr("scan_output_axes") or (0,) * outs
    in_back = node.attr("scan_input_directions") or (0,) * count
    out_back = node.attr("scan_output_directions") or (0,) * outs
    steps = inputs[0].shape[in_axes[0]]
    collected: list[list[Any]] = [[] for _ in range(outs)]
    for step in range(steps):
        now = [
            x[(*(slice(None),) * (axis % x.ndim), steps - 1 - step if back else step)]
            for x, axis, back in zip(inputs, in_axes, in_back, strict=True)
        ]
        results = run(body, [*states, *now])
        states = list(results[: len(states)])
        for one, value in zip(collected, results[len(states) :], strict=True):
            one.append(value)
    joined = [
        stacked(one[::-1] if back else one, axis)
        for one, axis, back in zip(collected, out_axes, out_back, strict=True)
    ]
    return (*states, *joined)


@operator("Scan", since=8)
def scan_batches(node: Node, run: Run, lengths: Any, *given: Any) -> tuple[Any, ...]:
    """Return what `scan` does of each element of a batch, as it was before version 9."""
    every = [device(x) for x in given]
    rows = [scan(node, run, *(x[i] for x in every)) for i in range(every[0].shape[0])]
    return tuple(stacked(one) for one in zip(*rows, strict=True))


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
    join = ops.stack if node.attr("new_axis") else ops.concat
    return join(values, node.attr("axis"))


@operator("SplitToSequence", host=(1,))
def split(node: Node, x: Tensor, sizes: Any = None) -> list[Tensor]:
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
def sequence_map(node: Node, run: Run, *given: Any) -> tuple[list[Any], ...]:
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
