"""The writer of TensorFlow's nodes: what rules call, and how a ``GraphDef`` is in JSON.

Source: TensorFlow, core/framework/attr_value.proto; Protocol Buffers, ProtoJSON.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.onnx.saving.graph_writer import GraphWriter
from wgsl_kernels.onnx.saving.tracing import CannotSayError, free_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.onnx.saving.tracing import FunctionTrace, TracedCall
    from wgsl_kernels.onnx.saving.varying import Dims

Attrs = Mapping[str, Any]
"""What a rule is given of a kernel's attributes."""
Values = Sequence[Any]
"""What a rule is given of inputs and outputs."""
DTYPES = {
    "bool": "DT_BOOL",
    "complex64": "DT_COMPLEX64",
    "float32": "DT_FLOAT",
    "int32": "DT_INT32",
}
"""The dtypes that TensorFlow.js computes with, as TensorFlow calls them."""
STORED = ("bool", "float32", "int32")
"""Those of inputs, outputs and weights."""


class NodeWriter(GraphWriter):
    """Writes nodes of TensorFlow."""

    shape_dtype = np.int32

    def __init__(self, traced: FunctionTrace) -> None:
        super().__init__(traced)
        self._dtypes = {name: str(one.dtype) for name, one in traced.inputs.items()}

    def check(self, call: TracedCall) -> None:
        """Refuse dtypes that TensorFlow.js lacks."""
        for x in (*call.inputs, *call.outputs):
            if x is not None and str(x.dtype) not in DTYPES:
                raise CannotSayError(f"of {x.dtype}")

    def new_outputs(self, op: str, count: int) -> list[str]:
        """Return names for the outputs of the next node: that of the node, and others behind it."""
        name = free_name(f"{op.lstrip('_')}_{self._count}", self.taken)
        self._count += 1
        return [name, *(f"{name}:{i}" for i in range(1, count))]

    def node(self, op: str, inputs: Sequence[str], dtype: Any, **attrs: Any) -> str:
        """Write a node of one output, of inputs of a dtype, and return that output's name."""
        return self.emit(op, inputs, T=DTYPES[str(dtype)], **attrs)

    def cast(self, name: str, to: Any, given: Any) -> str:
        """Return a value in a dtype, which it may have already."""
        if str(given) == str(to):
            return name
        return self.emit("Cast", [name], SrcT=DTYPES[str(given)], DstT=DTYPES[str(to)])

    def named(self, x: Any, dtype: Any) -> str:
        """Return the name of a value in a dtype."""
        return self.cast(self.name(x), dtype, x.dtype)

    def reshaped(self, name: str, shape: Iterable[int], dtype: Any) -> str:
        """Return a value in another shape."""
        return self.node("Reshape", [name, self.reshaping(shape)], dtype)

    def transposed(self, name: str, order: Iterable[int], dtype: Any) -> str:
        """Return a value with its axes in another order."""
        return self.node("Transpose", [name, self.ints(list(order))], dtype)

    def length(self, name: str, axis: int) -> str:
        """Write how long an axis of an input is."""
        lengths = self.node("Shape", [name], self._dtypes[name], out_type="DT_INT32")
        places = [self.ints([axis]), self.ints([axis + 1]), self.ints([1])]
        masks = {f"{one}_mask": 0 for one in ("begin", "end", "ellipsis", "new_axis")}
        return self.node("StridedSlice", [lengths, *places], "int32", shrink_axis_mask=1, **masks)

    def arithmetic(self, kind: str, a: str, b: str) -> str:
        """Write a product or a sum of integers."""
        return self.node({"multiply": "Mul", "add": "AddV2"}[kind], [a, b], "int32")

    def counted(self, start: int, stop: int, step: int, dtype: Any) -> str:
        """Write whole numbers from ``start`` to before ``stop``."""
        numbers = [self.ints(n) for n in (start, stop, step)]
        return self.cast(self.emit("Range", numbers, Tidx="DT_INT32"), dtype, "int32")

    def repeated(self, array: Array, shape: str) -> str:
        """Write values broadcast to a shape that is computed."""
        return self.node("BroadcastTo", [self.constant(array), shape], array.dtype.name)

    def graph(self, inputs: Mapping[str, Dims]) -> tuple[list[dict[str, Any]], dict[str, Array]]:
        """Return the nodes in JSON, and the weights by the node that gives them."""
        values = self.traced.outputs
        sources = {name: self.name(one) for name, one in values.items()}
        needed = {source.partition(":")[0] for source in sources.values()}
        kept = []
        for one in reversed(self.nodes):
            if one.outputs[0] in needed:
                needed.update(name.partition(":")[0] for name in one.inputs)
                kept.append(one)
        weights = {name: one.array for name, one in self.constants.items() if name in needed}
        nodes = [
            _json(name, "Placeholder", [], {"dtype": self._type(name), "shape": inputs[name]})
            for name in self.traced.inputs
        ]
        nodes += [
            _json(name, "Const", [], {"dtype": DTYPES[array.dtype.name]})
            for name, array in weights.items()
        ]
        nodes += [_json(one.outputs[0], one.op, one.inputs, one.attrs) for one in reversed(kept)]
        nodes += [
            _json(name, "Identity", [source], {"T": DTYPES[str(values[name].dtype)]})
            for name, source in sources.items()
        ]
        return nodes, weights

    def _type(self, name: str) -> str:
        return DTYPES[self._dtypes[name]]


def shape_json(dims: Dims) -> dict[str, Any]:
    """Return a ``TensorShapeProto``, in which lengths that vary are -1."""
    return {"dim": [{"size": str(one if isinstance(one, int) else -1)} for one in dims]}


def _json(name: str, op: str, inputs: Sequence[str], attrs: Attrs) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "op": op}
    if inputs:
        found["input"] = list(inputs)
    found["attr"] = {key: _attribute(value) for key, value in attrs.items()}
    return found


def _attribute(value: Any) -> dict[str, Any]:
    """Return an ``AttrValue``: dtypes are strings that begin with ``DT_``, shapes are tuples."""
    if isinstance(value, tuple):
        return {"shape": shape_json(value)}
    if isinstance(value, list):
        listed: dict[str, list[Any]] = {}
        for one in value:
            for kind, item in _attribute(one).items():
                listed.setdefault(kind, []).append(item)
        return {"list": listed}
    if isinstance(value, bool):
        return {"b": value}
    if isinstance(value, int):
        return {"i": str(value)}
    if isinstance(value, float):
        return {"f": value}
    if value.startswith("DT_"):
        return {"type": value}
    return {"s": base64.b64encode(value.encode()).decode()}
