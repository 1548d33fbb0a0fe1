"""The nodes of a model as they are written, kernel by kernel, in whatever format."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.registry.signature import find_signature
from wgsl_kernels.onnx.saving.tracing import CannotSayError, GraphValue, free_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Self

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.saving.tracing import FunctionTrace, TracedCall

    Rule = Callable[[Any, Sequence[Any], Mapping[str, Any], Sequence[Any]], list[str]]

Found = TypeVar("Found")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_./-]")
"""What names of nodes of TensorFlow have not."""


_SAID_BY_ITSELF = frozenset({"as_int32", "dtype", "size", "wrap_negative_indices"})
"""Attributes that no rule has to read: of outputs dtype and lengths are known, operators wrap."""


class _NotedAttrs(Mapping[str, Any]):
    """A call's attributes, with a note of those that its rule reads.

    An attribute that a rule does not know, of a kernel that got it later, would be left out of the
    model without a word.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


@dataclass
class WrittenNode:
    """A node of a graph.

    Attributes:
        op: The operator.
        inputs: Names of what it reads.
        outputs: Names of what it gives.
        attrs: Its attributes.
        call: The kernel that it is of, and the line that ran it.
    """

    op: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any]
    call: str


@dataclass(frozen=True)
class StoredConstant:
    """Values that are written into a model.

    Attributes:
        array: The values.
        call: The kernel that made them, or else the one that reads them, and its line.
    """

    array: Array
    call: str


class GraphWriter(ABC):
    """Writes a run of a function as nodes.

    Attributes:
        traced: The run.
        nodes: In the order of the run.
        constants: By name.
        taken: Names that are not free.
        shapes: Names of constants that are new shapes, in which one length may be left open.
        parts: Names of constants that are lengths of parts of an axis, none of them below 0.
    """

    shape_dtype: Any = np.int64
    """The dtype of what says lengths."""

    def __init__(self, traced: FunctionTrace) -> None:
        self.traced = traced
        self.nodes: list[WrittenNode] = []
        self.constants: dict[str, StoredConstant] = {}
        self.shapes: set[str] = set()
        self.parts: set[str] = set()
        self.taken = {*traced.inputs, *traced.outputs}
        self._names = {one: name for name, one in traced.inputs.items()}
        self._call = ""
        self._count = 0
        self._count_constants = 0

    @abstractmethod
    def length(self, name: str, axis: int) -> str:
        """Write how long an axis of an input is, and return the name of that scalar."""

    @abstractmethod
    def arithmetic(self, kind: str, a: str, b: str) -> str:
        """Write ``multiply`` or ``add`` of integers that say lengths."""

    @abstractmethod
    def counted(self, start: int, stop: int, step: int, dtype: Any) -> str:
        """Write whole numbers from ``start`` to before ``stop``."""

    @abstractmethod
    def repeated(self, array: Array, shape: str) -> str:
        """Write values broadcast to a shape that is computed."""

    def write(self, rules: Mapping[str, Rule], caller: str, of: str) -> Self:
        """Write every kernel of the run.

        Raises:
            ArgumentError: Some have no rule, or none for these dtypes or attributes: all of them
                are named.
        """
        unsaid: dict[str, None] = {}
        rules = {**rules, "Range": _range}
        for call in self.traced.calls:
            self._call = f"{call.kernel} at {call.line}"
            try:
                names = self._written(rules, call)
            except CannotSayError as error:
                said = f" {error}" if str(error) else ""
                unsaid[f"{call.kernel}{said} at {call.line}"] = None
                names = [f"unsaid{i}" for i in range(len(call.outputs))]
            self._names.update(zip(call.outputs, names, strict=True))
        self._call = "an output"
        if unsaid:
            raise ArgumentError(
                f"{caller}: it has no {of} rule for {'; '.join(unsaid)}. Write these parts with "
                "other ops, or save the function without them."
            )
        return self

    def _written(self, rules: Mapping[str, Rule], call: TracedCall) -> list[str]:
        rule = rules.get(call.kernel)
        if rule is None:
            raise CannotSayError(call.problem)
        self.check(call)
        attrs = _NotedAttrs(call.attrs)
        names = rule(self, self._promoted(call), attrs, call.outputs)
        declared = find_signature(call.kernel)
        optional = {} if declared is None else declared.optional_attrs
        for name in optional.keys() - attrs.read - _SAID_BY_ITSELF:
            if call.attrs[name] != optional[name]:
                raise CannotSayError(f"with {name}={call.attrs[name]!r}")
        return names

    def _promoted(self, call: TracedCall) -> list[GraphValue | None]:
        """Return a call's inputs, with those that it promotes in their common dtype.

        A constant keeps the dtype in which it is stored.
        """
        found = list(call.inputs)
        for i, (x, dtype) in enumerate(zip(call.inputs, call.casts, strict=True)):
            if x is not None and dtype is not None and x.dtype != dtype:
                found[i] = wide = GraphValue(x.spec.like(dtype=dtype))
                self._names[wide] = self.cast(self.name(x), dtype, x.dtype)
        return found

    @abstractmethod
    def cast(self, name: str, to: Any, given: Any) -> str:
        """Return a value in a dtype, which it may have already."""

    @abstractmethod
    def check(self, call: TracedCall) -> None:
        """Look at a call before its rule does.

        Raises:
            CannotSayError: No rule could write it.
        """

    def name(self, x: GraphValue) -> str:
        """Return the name of a value; what depends on no input becomes a constant."""
        if x not in self._names:
            assert x.array is not None, "a value that depends on inputs is of a call before"
            self._names[x] = self.constant(x.array, x.made, x.name)
        return self._names[x]

    def constant(self, values: Array | np.generic, made: str = "", of: str = "") -> str:
        """Return the name of a new constant, that of a variable where it is of one."""
        wanted = _NOT_IN_NAMES.sub("_", of).lstrip("_/-")
        name = free_name(wanted or f"c{self._count_constants}", self.taken)
        self.taken.add(name)
        self._count_constants += 1
        self.constants[name] = StoredConstant(np.asarray(values), made or self._call)
        return name

    def ints(self, values: Any) -> str:
        """Return the name of a new constant of integers that say lengths, places or axes."""
        return self.constant(np.array(values, self.shape_dtype))

    def number(self, value: Any, dtype: Any) -> str:
        """Return the name of a number in the dtype of a tensor."""
        return self.constant(np.asarray(value, np.dtype(str(dtype))))

    def emit(self, op: str, inputs: Sequence[str], **attrs: Any) -> str:
        """Write a node of one output and return that output's name."""
        return self.emit_many(op, inputs, 1, **attrs)[0]

    def emit_many(self, op: str, inputs: Sequence[str], count: int, **attrs: Any) -> list[str]:
        """Write a node and return the names of its outputs."""
        outputs = self.new_outputs(op, count)
        self.taken.update(outputs)
        self.nodes.append(WrittenNode(op, list(inputs), outputs, attrs, self._call))
        return outputs

    def new_outputs(self, op: str, count: int) -> list[str]:
        """Return names for the outputs of the next node."""
        del op
        number, self._count = self._count, self._count + 1
        return [free_name(f"v{number}_{i}", self.taken) for i in range(count)]

    def reshaping(self, shape: Iterable[int]) -> str:
        """Return the name of a new shape."""
        name = self.ints(list(shape))
        self.shapes.add(name)
        return name

    def splitting(self, lengths: Iterable[int]) -> str:
        """Return the name of new lengths of parts of an axis."""
        name = self.ints(list(lengths))
        self.parts.add(name)
        return name

    def in_front(self, write: Callable[[], Found]) -> Found:
        """Have nodes written in front of all others, and return what ``write`` returns."""
        rest, self.nodes = self.nodes, []
        found = write()
        self.nodes += rest
        return found

    def replace(self, constants: Mapping[str, str]) -> None:
        """Have other values read in place of constants, which are dropped."""
        for node in self.nodes:
            node.inputs[:] = [constants.get(one, one) for one in node.inputs]
        self._names = {x: constants.get(name, name) for x, name in self._names.items()}
        for name in constants:
            del self.constants[name]


def _range(w: GraphWriter, xs: Sequence[Any], attrs: Mapping[str, Any], ys: Any) -> list[str]:
    """Write what is counted up to a length that may vary; else it is a constant."""
    start, step = attrs["start"], attrs["step"]
    if start % 1 or step % 1:
        raise CannotSayError("of fractions")
    first, gap = int(start), int(step)
    return [w.counted(first, first + gap * ys[0].size, gap, ys[0].dtype)]
