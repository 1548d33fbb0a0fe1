"""Running a graph: node by node, values on the device or, where they are shapes, on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.backends.cpu.limits import check_allocation
from wgsl_kernels.engine.drivers.host_memory import too_large
from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.config import config
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.spec import Spec
from wgsl_kernels.onnx.graph import Constant
from wgsl_kernels.onnx.narrow import fit
from wgsl_kernels.onnx.overflow import check_integers
from wgsl_kernels.onnx.placing import reason_not_replayed
from wgsl_kernels.onnx.types import carried, element, numpy_type
from wgsl_kernels.ops.names import public_ops as ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.graph import Graph, OnnxNode

_MISFITS = (ArithmeticError, IndexError, KeyError, RuntimeError, TypeError, ValueError)
"""What arithmetic on lengths and axes raises where they do not fit."""

Value = Any
"""A tensor, an array on the host, a constant, a list of these, or None for what is left out."""


@dataclass(frozen=True)
class GraphRunner:
    """Runs graphs among a node's attributes.

    Attributes:
        around: The values that they may read from outside, by name.
    """

    around: Mapping[str, Value]

    def __call__(self, graph: Graph, given: Sequence[Value]) -> tuple[Value, ...]:
        """Return the outputs of a graph."""
        return run_graph(graph, given, self.around)

    def can_be_recorded(self, graph: Graph) -> bool:
        """Say whether runs of a graph can be replayed."""
        on_host = [
            name
            for name in graph.reads()
            if isinstance(self.around[name], (Constant, np.ndarray, np.generic))
        ]
        return reason_not_replayed(graph, on_host) is None


def run_graph(
    graph: Graph,
    given: Sequence[Value],
    around: Mapping[str, Value] | None = None,
    observe: Callable[[OnnxNode, tuple[Value, ...]], None] | None = None,
) -> tuple[Value, ...]:
    """Return the outputs of a graph.

    Args:
        graph: What to run.
        given: Its inputs, in order.
        around: Values by name that it may read from outside.
        observe: Called with each node and what it gave.
    """
    values = dict(around or {})
    values.update(graph.constants)
    values.update(zip((one.name for one in graph.inputs), given, strict=True))
    for node, dead in zip(graph.nodes, graph.dead, strict=True):
        given_to = [values[name] if name else None for name in node.inputs]
        found = run_node(node, given_to, values)
        if observe is not None:
            observe(node, found)
        values.update((name, one) for name, one in zip(node.outputs, found, strict=False) if name)
        for name in dead:
            del values[name]
    return tuple(values[one.name] for one in graph.outputs)


def run_node(
    node: OnnxNode, inputs: Sequence[Value], values: Mapping[str, Value]
) -> tuple[Value, ...]:
    """Return what a node gives, each output as its type has it; see `run_graph`."""
    row = node.implementation
    arrays = [one.array if isinstance(one, Constant) else one for one in inputs]
    try:
        if not node.domain:
            _check_axes(node, arrays)
        if node.numpy is not None and arrays and all(map(_is_on_host, arrays)):
            found = node.numpy(node, *arrays)
        elif next(node.graphs(), None) is not None:
            found = row.function(node, GraphRunner(values), *inputs)
        else:
            given = inputs if row.raw else _placed(inputs, row.host)
            found = row.function(node, *given)
            if config.is_on("check_numerics", context.current()):
                check_integers(node, given)
    except WgslKernelsError as error:
        error.add_note(f"in node {node.name!r} ({node.op})")
        raise
    except MemoryError:
        refusal = too_large()
        refusal.add_note(f"in node {node.name!r} ({node.op})")
        raise refusal from None
    except _MISFITS as error:
        shapes = [list(x.shape) if hasattr(x, "shape") else type(x).__name__ for x in arrays]
        raise ArgumentError(
            f"{node.op} at {node.name!r}: inputs of shapes {shapes} do not fit each other, or its "
            f"attributes: {error}."
        ) from error
    results = found if isinstance(found, tuple) else (found,)
    return tuple(_fitted(one, kind) for one, kind in zip(results, node.out_types, strict=False))


_OF_AXES = ("axes", "axis", "batch_axis", "perm", "time_axis")
"""Attributes that are axes of the first input, or of the result."""


def _check_axes(node: OnnxNode, inputs: Sequence[Value]) -> None:
    """Refuse axes that are none of what they count in.

    Raises:
        ArgumentError: One is none.
    """
    given = [(name, node.attrs[name]) for name in _OF_AXES if name in node.attrs]
    if node.axes_at is not None and node.axes_at < len(inputs):
        given.append(("axes", inputs[node.axes_at]))
    first: Any = inputs[0] if inputs else None
    first = first[0] if isinstance(first, list) and first else first
    if not given or not hasattr(first, "ndim"):
        return
    if node.op in ("DequantizeLinear", "QuantizeLinear") and inputs[1].size == 1:
        return  # of all elements
    for name, axes in given:
        every = () if axes is None else ints(host(axes))
        more = {"OneHot": 1, "Unsqueeze": len(every), "ConcatFromSequence": node.attr("new_axis")}
        rank = first.ndim + (more.get(node.op) or 0)
        least = 0 if name == "perm" else -max(rank, 1)
        end = max(rank, 1) + (node.op == "Flatten")
        for axis in every:
            if not least <= axis < end:
                raise ArgumentError(
                    f"{node.op} at {node.name!r}: {name} has {axis}, but the tensor has rank "
                    f"{rank}; want one in [{least}, {end})."
                )


def _placed(inputs: Sequence[Value], on_host: frozenset[int]) -> list[Any]:
    return [host(x) if at in on_host else device(x) for at, x in enumerate(inputs)]


def _is_on_host(x: Value) -> bool:
    return x is None or (isinstance(x, np.ndarray) and x.dtype.kind in "ib" and x.size <= 4096)


def _fitted(x: Value, type_: str) -> Value:
    """Return what a node gave as its type has it."""
    if isinstance(x, Tensor) and type_.startswith("tensor("):
        return fit(x, element(type_))
    if isinstance(x, (np.ndarray, np.generic)) and type_.startswith("tensor("):
        return np.asarray(x, numpy_type(element(type_)))
    return x


def device(x: Value) -> Any:
    """Return a value as a tensor; None and lists as they are."""
    if isinstance(x, Constant):
        return x.tensor
    if isinstance(x, (np.ndarray, np.generic)):
        return carried(x)
    return x


def host(x: Value) -> Any:
    """Return a value as an array, waiting for it where it is on a device."""
    if isinstance(x, Constant):
        return x.array
    if isinstance(x, (Tensor, Variable)):
        return np.asarray(x.numpy())
    return x


def ints(values: Any) -> tuple[int, ...]:
    """Return values as Python's integers, in one row."""
    return tuple(int(one) for one in np.ravel(values))


def known_shape(x: Value) -> tuple[int, ...]:
    """Return the shape of a tensor, an array or a constant; nothing is read."""
    found: tuple[int, ...] = (x.array if isinstance(x, Constant) else x).shape
    return found


def check_table(*lengths: int) -> None:
    """Ask for the limit before NumPy makes a table of numbers of 8 bytes.

    Raises:
        OutOfMemoryError: It is more than ``config.memory_limit``.
    """
    check_allocation(Spec((*lengths, 2), "int32"), 0)


def stacked(values: Sequence[Value], axis: int = 0) -> Tensor | Array:
    """Return values of one shape as one, along a new axis."""
    if all(isinstance(one, (np.ndarray, np.generic, Constant)) for one in values) and values:
        return np.stack([host(one) for one in values], axis)
    return ops.stack([device(one) for one in values], axis)
