"""The writer of ONNX's nodes: what rules call, for a version of the operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.onnx.saving.graph_writer import GraphWriter
from wgsl_kernels.onnx.saving.tracing import CannotSayError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.saving.tracing import FunctionTrace, TracedCall
    from wgsl_kernels.onnx.saving.varying import Dims

Attrs = Mapping[str, Any]
"""What a rule is given of a kernel's attributes."""
Values = Sequence[Any]
"""What a rule is given of inputs and outputs."""
KINDS = {
    "bool": 9,
    "float16": 10,
    "float32": 1,
    "float64": 11,
    "int32": 6,
    "int64": 7,
    "int8": 3,
    "uint8": 2,
}
"""The numbers that the format has for element types."""
OLDEST, OPSET, NEWEST = 13, 21, 25
"""The versions of ONNX's operators that can be written, and the one that is by default."""
OF_BOOL = frozenset(
    {
        "Add", "All", "Any", "ArgMax", "ArgMin", "Attention", "BitwiseAnd", "BitwiseInvert",
        "BitwiseOr", "BitwiseXor", "BroadcastTo", "Cast", "Concat", "Cumsum", "Equal", "ExpandDims",
        "GatherNd", "GatherV2", "Greater", "GreaterEqual", "Identity", "Less", "LessEqual",
        "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "Max", "Maximum", "Mean", "Min",
        "Minimum", "Multiply", "NotEqual", "OnesLike", "Pack", "Prod", "RealDiv", "Reshape",
        "Reverse", "Select", "Slice", "SplitV", "StridedSlice", "Sub", "Sum", "TakeAlongAxis",
        "Tile", "Transpose", "Unpack", "ZerosLike",
    }
)  # fmt: skip
"""Kernels whose operators take bool, or whose rules cast it."""
_WIDER = {"bool": "int32", "float16": "float32", "int8": "int32", "uint8": "int32"}
_THEIRS = {"float32": "float", "float64": "double"}
"""Element types that the format calls otherwise."""


class ModelWriter(GraphWriter):
    """Writes nodes of ONNX.

    Attributes:
        opset: The version of the operators.
    """

    def __init__(self, traced: FunctionTrace, opset: int) -> None:
        super().__init__(traced)
        self.opset = opset

    def check(self, call: TracedCall) -> None:
        """Refuse what operators are given of bool but those that take it."""
        of_bool = any(x is not None and x.dtype == "bool" for x in call.inputs)
        if of_bool and call.kernel not in OF_BOOL:
            raise CannotSayError("of bool")

    def since(self, version: int) -> None:
        """Refuse what operators before a version cannot say.

        Raises:
            CannotSayError: They are older.
        """
        if self.opset < version:
            raise CannotSayError(f"before version {version} of its operators")

    def computing(self, op: str, dtype: Any) -> str:
        """Return a dtype, or the wider one to compute in where an operator takes none of it.

        Raises:
            CannotSayError: It takes neither.
        """
        import onnx

        types = onnx.defs.get_schema(op, self.opset, "").inputs[0].types
        for one in (str(dtype), _WIDER.get(str(dtype), "")):
            if f"tensor({_THEIRS.get(one, one)})" in types:
                return one
        raise CannotSayError(f"of {dtype}")

    def cast(self, name: str, to: Any, given: Any = None) -> str:
        """Return a value in a dtype, which it may have already."""
        if given is not None and str(given) == str(to):
            return name
        if str(to) not in KINDS:
            raise CannotSayError(f"to {to}")
        return self.emit("Cast", [name], to=KINDS[str(to)])

    def reshaped(self, name: str, shape: Iterable[int]) -> str:
        """Return a value in another shape."""
        lengths = list(shape)
        if self.opset < 14 and 0 in lengths:
            raise CannotSayError("of no elements before version 14 of its operators")
        options = {"allowzero": 1} if 0 in lengths else {}
        return self.emit("Reshape", [name, self.reshaping(lengths)], **options)

    def transposed(self, name: str, order: Iterable[int]) -> str:
        """Return a value with its axes in another order."""
        perm = list(order)
        return self.emit("Transpose", [name], perm=perm) if perm else name

    def sliced(
        self,
        name: str,
        begin: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int] | None = None,
        steps: Sequence[int] | None = None,
    ) -> str:
        """Return a part of a value."""
        along = list(range(len(begin))) if axes is None else list(axes)
        if not along:
            return name
        numbers = (begin, ends, along, [1] * len(begin) if steps is None else steps)
        return self.emit("Slice", [name, *map(self.ints, numbers)])

    def reduced(self, op: str, name: str, axes: Sequence[int], *, keep: bool) -> str:
        """Return what a reduction makes of a value; its axes were attributes once."""
        if self.opset >= (13 if op == "ReduceSum" else 18):
            return self.emit(op, [name, self.ints(axes)], keepdims=int(keep))
        return self.emit(op, [name], axes=list(axes), keepdims=int(keep))

    def length(self, name: str, axis: int) -> str:
        """Write how long an axis of an input is."""
        return self.emit("Gather", [self.emit("Shape", [name]), self.ints(axis)], axis=0)

    def arithmetic(self, kind: str, a: str, b: str) -> str:
        """Write a product or a sum of integers."""
        return self.emit({"multiply": "Mul", "add": "Add"}[kind], [a, b])

    def counted(self, start: int, stop: int, step: int, dtype: Any) -> str:
        """Write whole numbers from ``start`` to before ``stop``."""
        return self.cast(self.emit("Range", [self.ints(n) for n in (start, stop, step)]), dtype)

    def repeated(self, array: Array, shape: str) -> str:
        """Write values broadcast to a shape that is computed."""
        return self.emit("Expand", [self.constant(array), shape])

    def model(self, inputs: Mapping[str, Dims], outputs: Mapping[str, Dims]) -> Any:
        """Return the model."""
        from onnx import helper, numpy_helper

        values = self.traced.outputs
        sources = [self.name(one) for one in values.values()]
        nodes = [
            helper.make_node(one.op, one.inputs, one.outputs, **one.attrs) for one in self.nodes
        ]
        nodes += [
            helper.make_node("Identity", [source], [name])
            for name, source in zip(values, sources, strict=True)
        ]
        graph = helper.make_graph(
            _needed(nodes, set(values)),
            "wgsl-kernels",
            [_info(name, one.dtype, inputs[name]) for name, one in self.traced.inputs.items()],
            [_info(name, one.dtype, outputs[name]) for name, one in values.items()],
        )
        read = {name for node in graph.node for name in node.input}
        graph.initializer.extend(
            numpy_helper.from_array(np.asarray(one.array, order="C"), name)
            for name, one in self.constants.items()
            if name in read
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name="wgsl-kernels",
        )


def _needed(nodes: Sequence[Any], wanted: set[str]) -> list[Any]:
    kept = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    return kept[::-1]


def _info(name: str, dtype: Any, dims: Dims) -> Any:
    from onnx import helper

    if str(dtype) not in KINDS:
        raise ArgumentError(f"save: {name!r} is {dtype}; want one of {', '.join(KINDS)}.")
    return helper.make_tensor_value_info(name, KINDS[str(dtype)], list(dims))
