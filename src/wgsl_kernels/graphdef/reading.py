"""Reading a ``GraphDef`` of TensorFlow in JSON as a graph that runs.

Source: TensorFlow, core/framework/graph.proto, node_def.proto, and core/protobuf/meta_graph.proto
for signatures; TensorFlow.js, tfjs-converter/src/operations/operation_mapper.ts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.formats.tfjs_files import held_to, member
from wgsl_kernels.graphdef.attributes import (
    ELEMENTS,
    INTEGERS,
    attributes_of,
    dtype_name,
    lengths_of,
)
from wgsl_kernels.graphdef.rules import RULES
from wgsl_kernels.onnx.graph import Constant, Graph, OnnxNode, ValueInfo
from wgsl_kernels.onnx.registry import Operator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wgsl_kernels.engine.values.host import Array
    from wgsl_kernels.formats.tfjs_files import TfjsGraphFile

_ALIASES = frozenset(
    {"CheckNumerics", "EnsureShape", "Identity", "PlaceholderWithDefault", "PreventGradient"}
    | {"Snapshot"}
)
"""Operators that give their first input."""
_CONTROL = frozenset(
    {"Case", "Enter", "Exit", "If", "LoopCond", "Merge", "NextIteration", "PartitionedCall"}
    | {"StatefulPartitionedCall", "StatelessIf", "StatelessWhile", "Switch", "While"}
)
_MOST_OUTPUTS = 1 << 16
_GIVES = Operator(lambda node, *values: values, 1, frozenset(), True, None)
"""What gives the outputs of a graph under the names of its signature."""


class _NodeOutput(NamedTuple):
    """An output of a node: what "name:1" means."""

    node: str
    place: int

    def __str__(self) -> str:
        return f"{self.node}:{self.place}"


def read_graph(file: TfjsGraphFile) -> Graph:
    """Return the graph that computes the outputs of a signature.

    Nodes that these do not need are left out, whatever they are. Without a signature the inputs are
    the placeholders and the outputs are what no node reads, both in the order of the file.

    Raises:
        ArgumentError: Nodes are of operators that are not known here, all of them at once; or one
            reads what no node gives; nodes wait for one another; a constant has no weight.
        ValueError: The JSON is not of the form that a ``GraphDef`` has.
    """
    return _GraphDefReader(file).graph()


class _GraphDefReader:
    def __init__(self, file: TfjsGraphFile) -> None:
        self._nodes: dict[str, dict[str, Any]] = {}
        for at, node in enumerate(file.graph["node"]):
            place = f"modelTopology.node.{at}"
            name = member(held_to(node, dict, place), "name", str, place)
            member(node, "op", str, place)
            if not name:
                raise ValueError(f"a node is called {name!r}")
            if name in self._nodes:
                raise ValueError(f"two nodes are called {name!r}")
            self._nodes[name] = node
        self._attrs = {name: attributes_of(node) for name, node in self._nodes.items()}
        self._reads = {name: self._sources(node) for name, node in self._nodes.items()}
        self._weights = file.weights
        self._inputs, self._outputs = self._signature(file.signature)

    def _sources(self, node: Mapping[str, Any]) -> list[_NodeOutput]:
        """Return what a node reads; that it waits for others ("^name") says nothing here."""
        place = f"input of {node['name']!r}"
        names = held_to(node.get("input") or [], list, place)
        return [_source(one) for one in names if not held_to(one, str, place).startswith("^")]

    def _signature(
        self, signature: Mapping[str, Any]
    ) -> tuple[dict[str, ValueInfo], dict[str, _NodeOutput]]:
        """Return the inputs by their nodes, and the outputs by their names."""
        given, wanted = (
            held_to(signature.get(key) or {}, dict, f"signature.{key}")
            for key in ("inputs", "outputs")
        )
        for key, declared in (("inputs", given), ("outputs", wanted)):
            for name, one in declared.items():
                where = f"signature.{key}.{name}"
                member(held_to(one, dict, where), "name", str, where)
        if not wanted:
            read = {one.node for sources in self._reads.values() for one in sources}
            wanted = {name: {"name": name} for name in self._nodes if name not in read}
        if not given:
            given = {
                name: {"name": name}
                for name, node in self._nodes.items()
                if node["op"] == "Placeholder"
            }
        if "" in given or "" in wanted:
            raise ValueError("an input or output has no name")
        self._results = tuple(_value_info(name, one, {}) for name, one in wanted.items())
        outputs = {name: _source(one["name"]) for name, one in wanted.items()}
        inputs: dict[str, ValueInfo] = {}
        for name, one in given.items():
            node, place = _source(one["name"])
            if node not in self._nodes or place:
                raise ArgumentError(f"load_graph_model: no node gives the input {name!r}.")
            if node in inputs:
                raise ArgumentError(
                    f"load_graph_model: inputs {inputs[node].name!r} and {name!r} are one node."
                )
            inputs[node] = _value_info(name, one, self._attrs[node])
            if not inputs[node].type:
                raise ArgumentError(
                    f"load_graph_model: the dtype of input {name!r} is none of "
                    f"{', '.join(ELEMENTS)}."
                )
        return inputs, outputs

    def graph(self) -> Graph:
        """Return the graph; see `read_graph`."""
        order = self._order()
        self._check_operators(order)
        constants: dict[str, Constant] = {}
        names: dict[_NodeOutput, str] = {
            _NodeOutput(node, 0): info.name for node, info in self._inputs.items()
        }
        taken = set(names.values())
        nodes = []
        for name in order:
            op, sources = self._nodes[name]["op"], self._reads[name]
            if name in self._inputs:
                continue
            if op == "Const":
                key = f"{name}:0" if name in taken else name
                constants[key] = Constant(key, self._weight(name))
                names[_NodeOutput(name, 0)] = key
            elif op in _ALIASES or op == "IdentityN":
                for place, one in enumerate(sources):
                    names[_NodeOutput(name, place)] = _found(names, one, name)
            else:
                node = self._node(name, [_found(names, one, name) for one in sources])
                names.update((_NodeOutput(name, i), key) for i, key in enumerate(node.outputs))
                nodes.append(node)
        results = [_found(names, one, "the signature") for one in self._outputs.values()]
        nodes.append(_giving(results, list(self._outputs)))
        return Graph(
            name="graph",
            inputs=tuple(self._inputs.values()),
            outputs=self._results,
            constants=constants,
            nodes=nodes,
        )

    def _order(self) -> list[str]:
        """Return the nodes that the outputs need, each behind those that it reads."""
        done: dict[str, bool] = {}
        pending = [(one.node, "the signature") for one in reversed(self._outputs.values())]
        found = []
        while pending:
            name, reader = pending[-1]
            if name not in self._nodes:
                raise ArgumentError(
                    f"load_graph_model: {reader!r} reads {name!r}, which no node gives."
                )
            if name not in done:
                done[name] = False
                if name in self._inputs:
                    continue
                for one in reversed(self._reads[name]):
                    if done.get(one.node) is False:
                        raise ArgumentError(
                            f"load_graph_model: nodes wait for one another: {one.node!r} and "
                            f"{name!r} among them."
                        )
                    if one.node not in done:
                        pending.append((one.node, name))
                continue
            pending.pop()
            if not done[name]:
                done[name] = True
                found.append(name)
        return found

    def _check_operators(self, order: Iterable[str]) -> None:
        """Raise an error that has every node whose operator is not known."""
        known = RULES.keys() | _ALIASES | {"Const", "IdentityN"}
        unknown: dict[str, list[str]] = {}
        for name in order:
            op = self._nodes[name]["op"]
            if name not in self._inputs and op not in known:
                unknown.setdefault(op, []).append(name)
        if unknown:
            said = "; ".join(
                f"{op} at {', '.join(map(repr, names))}" for op, names in sorted(unknown.items())
            )
            why = " Control flow is not read." if _CONTROL & unknown.keys() else ""
            why += " The signature has no such input." if "Placeholder" in unknown else ""
            raise ArgumentError(
                f"load_graph_model: operators that are not known here: {said}.{why}"
            )

    def _weight(self, name: str) -> Array:
        if name not in self._weights:
            raise ArgumentError(f"load_graph_model: no weight is called {name!r}, as a Const is.")
        return self._weights[name]

    def _node(self, name: str, inputs: list[str]) -> OnnxNode:
        op, attrs = self._nodes[name]["op"], self._attrs[name]
        rule = RULES[op]
        if not rule.takes(len(inputs)):
            raise ArgumentError(
                f"load_graph_model: {op} at {name!r} has {len(inputs)} inputs; want another number."
            )
        count = attrs.get(rule.outputs) if isinstance(rule.outputs, str) else rule.outputs
        if not isinstance(count, int) or not 0 < count <= _MOST_OUTPUTS:
            raise ArgumentError(f"load_graph_model: {op} at {name!r} has {count} outputs.")
        rule = rule.for_node(len(inputs), count)
        of_integers = _dtype_of(attrs) in INTEGERS
        return OnnxNode(
            op=op,
            domain="tensorflow",
            name=name,
            version=1,
            inputs=tuple(inputs),
            outputs=tuple(f"{name}:{i}" for i in range(count)),
            attrs=attrs,
            in_types=("",) * len(inputs),
            out_types=("",) * count,
            implementation=rule.operator,
            numpy=rule.numpy if of_integers else None,
        )


def _value_info(name: str, declared: Mapping[str, Any], attrs: Mapping[str, Any]) -> ValueInfo:
    """Return an input or output as a signature declares it, or else the node's attributes."""
    dtype = declared.get("dtype", attrs.get("dtype"))
    shape = declared.get("tensorShape")
    known = ELEMENTS.get(dtype_name(dtype))
    return ValueInfo(
        name,
        "" if known is None else f"tensor({known})",
        attrs.get("shape") if shape is None else lengths_of(shape),
    )


def _dtype_of(attrs: Mapping[str, Any]) -> str | None:
    """Return the dtype of what a node reads, by the attribute that says so."""
    return next((attrs[name] for name in ("T", "Tparams", "SrcT", "Tidx") if name in attrs), None)


def _found(names: Mapping[_NodeOutput, str], source: _NodeOutput, reader: str) -> str:
    if source not in names:
        raise ArgumentError(
            f"load_graph_model: {reader!r} reads {str(source)!r}; {source.node!r} has no such "
            "output."
        )
    return names[source]


def _source(text: Any) -> _NodeOutput:
    """Return the output that a text means: "name", which is its first, or "name:1"."""
    if not isinstance(text, str):
        raise ValueError(f"what a node reads is {text!r}")
    name, colon, place = text.rpartition(":")
    if not colon:
        return _NodeOutput(text, 0)
    if not place.isdecimal():
        raise ValueError(f"what a node reads is {text!r}")
    return _NodeOutput(name, int(place))


def _giving(values: list[str], names: list[str]) -> OnnxNode:
    """Return the node that gives the outputs under the names of the signature."""
    return OnnxNode(
        op="_Retval",
        domain="tensorflow",
        name="outputs",
        version=1,
        inputs=tuple(values),
        outputs=tuple(names),
        attrs={},
        in_types=("",) * len(values),
        out_types=("",) * len(values),
        implementation=_GIVES,
        numpy=None,
    )
