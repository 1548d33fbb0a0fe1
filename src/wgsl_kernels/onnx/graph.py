"""A graph as it runs: nodes with their attributes and types, constants, what lives how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.tensors.scopes import keep
from wgsl_kernels.engine.values.dtypes import itemsize
from wgsl_kernels.onnx.types import CARRIERS, PACKED_KINDS, carried, codes_of, element_of
from wgsl_kernels.ops.names import public_ops as ops
from wgsl_kernels.ops.quantization.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.engine.execution.variables import Variable
    from wgsl_kernels.engine.tensors.tensor import Tensor
    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.registry import Operator


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a graph.

    Attributes:
        name: Its name in the graph.
        type: ONNX's name of its type, as ``tensor(float)``; "" where nothing is declared.
        shape: Lengths, names of lengths that may vary, and None; None where nothing is declared.
    """

    name: str
    type: str
    shape: tuple[int | str | None, ...] | None

    def __str__(self) -> str:
        shape = "" if self.shape is None else f"[{', '.join(str(n or '?') for n in self.shape)}]"
        return f"{self.name}: {self.type or '?'}{shape}"


class Constant:
    """A value that a graph has from the start, on the host and, once asked for, on a device.

    Attributes:
        name: Its name in the graph.
        array: On the host, in its own dtype.
        is_packed: Whether a device has its codes alone, which what reads them widens.
    """

    __slots__ = ("_codes", "_tensor", "array", "is_packed", "name")

    def __init__(self, name: str, array: Array) -> None:
        self.name = name
        self.array = array
        self.is_packed = False
        self._codes: Tensor | None = None
        self._tensor: Tensor | Variable | None = None

    @property
    def tensor(self) -> Tensor | Variable:
        """The tensor that carries it: the same one at each use, or made anew of its codes."""
        if self.is_packed and self.kind is not None:
            return ops.widen(self.codes, kind=self.kind, size=self.array.shape[-1])
        if self._tensor is None:
            self._tensor = keep(carried(self.array, self.name))
        return self._tensor

    @property
    def kind(self) -> str | None:
        """The kind of its numbers, as `widen` names it; None where they have no codes."""
        return PACKED_KINDS.get(element_of(self.array.dtype))

    @property
    def codes(self) -> Tensor:
        """What packs its numbers along the last axis."""
        if self._codes is None:
            assert self.kind is not None
            self._codes = keep(ops.tensor(codes_of(self.array, self.kind)))
        return self._codes

    @property
    def nbytes(self) -> int:
        """The bytes that it takes on a device."""
        if self.is_packed and self.kind is not None:
            return self.array[..., 0].size * KINDS[self.kind].bytes_of(self.array.shape[-1])
        return self.array.size * itemsize(CARRIERS[element_of(self.array.dtype)])

    def keep_in(self, variable: Variable) -> None:
        """Have a variable be the value on a device from now on."""
        self._tensor = variable


@dataclass(eq=False)
class OnnxNode:
    """An operator with what it reads and gives.

    Attributes:
        op: The operator, as ``Conv``.
        domain: Its domain; ONNX's own is "".
        name: The node's name, or what it was expanded from.
        version: The version of the operator set since which it means what it does.
        inputs: Names of values, "" for those left out.
        outputs: Names, likewise.
        attrs: Attributes with their defaults; graphs as `Graph`.
        in_types: ONNX's names of the types of ``inputs``, "" for those left out.
        out_types: Those of ``outputs``.
        implementation: What computes it.
        numpy: What computes it in NumPy where all its inputs are on the host, or None.
        axes_at: The place of the input that says axes; None where there is none.
    """

    op: str
    domain: str
    name: str
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: dict[str, Any]
    in_types: tuple[str, ...]
    out_types: tuple[str, ...]
    implementation: Operator
    numpy: Callable[..., Any] | None
    axes_at: int | None = None

    def __repr__(self) -> str:
        return f"{', '.join(self.outputs)} = {self.op}({', '.join(self.inputs)})"

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute; ``default`` where the node and its schema have none."""
        return self.attrs.get(name, default)

    @property
    def wanted(self) -> int:
        """How many outputs are asked for, counted to the last that has a name."""
        return max((i + 1 for i, name in enumerate(self.outputs) if name), default=0)

    def graphs(self) -> Iterator[Graph]:
        """Yield the graphs among the attributes."""
        for value in self.attrs.values():
            if isinstance(value, Graph):
                yield value

    def reads(self) -> Iterator[str]:
        """Yield the names of what the node reads, its graphs' from around them included."""
        yield from (name for name in self.inputs if name)
        for graph in self.graphs():
            yield from graph.reads()


@dataclass(eq=False)
class Graph:
    """Nodes in an order in which they can run.

    Attributes:
        name: As the file has it.
        inputs: What a call gives.
        outputs: What it gets.
        constants: Initializers and what was computed on load, by name.
        nodes: In order.
        dead: For each node the names of what nobody reads after it.
    """

    name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    constants: dict[str, Constant]
    nodes: list[OnnxNode]
    dead: list[tuple[str, ...]] = field(default_factory=list)

    def reads(self) -> Iterator[str]:
        """Yield the names of what the graph reads and does not make itself."""
        own = {one.name for one in self.inputs} | set(self.constants)
        own.update(name for node in self.nodes for name in node.outputs)
        for node in self.nodes:
            yield from (name for name in node.reads() if name not in own)
        yield from (one.name for one in self.outputs if one.name not in own)

    def keep(self, nodes: list[OnnxNode]) -> int:
        """Have only some of the nodes, and return how many are gone."""
        count, self.nodes = len(self.nodes) - len(nodes), nodes
        return count

    def find_dead(self) -> None:
        """Set ``dead`` from the order of the nodes, here and in the graphs among attributes."""
        last: dict[str, int] = {}
        for place, node in enumerate(self.nodes):
            last.update((name, place) for name in node.outputs if name)
            last.update((name, place) for name in node.reads())
            for graph in node.graphs():
                graph.find_dead()
        made = {name for node in self.nodes for name in node.outputs}
        kept = {one.name for one in self.outputs}
        found: list[list[str]] = [[] for _ in self.nodes]
        for name, place in last.items():
            if name in made and name not in kept:
                found[place].append(name)
        self.dead = [tuple(names) for names in found]
