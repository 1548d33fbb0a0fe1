"""A model of the package ``onnx`` read as a graph that can run: types found, functions expanded."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.onnx import registry
from wgsl_kernels.onnx.contributed import OperatorSchema, schema_of
from wgsl_kernels.onnx.files import type_name, type_name_of, values_of
from wgsl_kernels.onnx.graph import Constant, Graph, OnnxNode, ValueInfo
from wgsl_kernels.onnx.inference import KINDS, body_types, check_types, result_types
from wgsl_kernels.onnx.types import CARRIERS, element, element_of, tensor_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from wgsl_kernels.engine.values.host import Array

_MOST_FUNCTIONS = 64  # one within another

Scope = dict[str, str]
"""The types of the values that are known by name."""


def read_graph(model: onnx.ModelProto, folder: str = "") -> Graph:
    """Return the graph of a model, with functions expanded and every node's operator found.

    Args:
        model: As ``onnx.load`` gives it, without external data.
        folder: Where the files of external data are.

    Raises:
        ArgumentError: Operators are unknown, all of which the message names; a node reads what
            nothing gives; a tensor's data is not what its shape says.
    """
    reader = _GraphReader(model, folder)
    graph = reader.graph(model.graph, {}, _BodyNames())
    graph.outputs = tuple(map(reader.with_shape, graph.outputs))
    if reader.missing:
        count = len(reader.missing)
        raise ArgumentError(
            f"load: {count} node{'s have' if count > 1 else ' has'} an operator that is not known "
            f"here: {'; '.join(reader.missing)}. "
            'See "wgsl-kernels onnx coverage" for those that are.'
        )
    return graph


class _BodyNames:
    """What names of a function's body become in the graph that it is expanded into."""

    def __init__(
        self,
        prefix: str = "",
        bound: Mapping[str, str] | None = None,
        attributes: Mapping[str, onnx.AttributeProto] | None = None,
        opsets: Mapping[str, int] | None = None,
        depth: int = 0,
    ) -> None:
        self.prefix = prefix
        self.bound = dict(bound or {})
        self.attributes = attributes
        self.opsets = opsets
        self.depth = depth

    def __call__(self, name: str) -> str:
        if not name or not self.prefix:
            return name
        return self.bound.get(name, self.prefix + name)


class _GraphReader:
    def __init__(self, model: onnx.ModelProto, folder: str) -> None:
        self.folder = folder
        self.opsets = _versions(model.opset_import)
        self.functions = {
            (registry.plain_domain(one.domain), one.name): one for one in model.functions
        }
        self.missing: list[str] = []
        self.values = values_of(model)
        self._schemas: dict[tuple[str, int, str], OperatorSchema | None] = {}
        newest = defs.onnx_opset_version()
        if self.opsets.get("", 1) > newest:
            raise ArgumentError(
                f"load: the model wants version {self.opsets['']} of ONNX's operators; the "
                f"installed package onnx knows {newest}. Use a newer one."
            )

    def with_shape(self, output: ValueInfo) -> ValueInfo:
        """Return an output of the model with the shape that is known of it."""
        shape = _value_info(self.values[output.name], _BodyNames()).shape
        return ValueInfo(output.name, output.type, shape)

    def graph(
        self,
        proto: onnx.GraphProto,
        around: Scope,
        names: _BodyNames,
        in_types: tuple[str, ...] = (),
    ) -> Graph:
        """Return a graph; ``around`` has the types of what it may read from outside."""
        scope = dict(around)
        constants: dict[str, Constant] = {}
        _check_names(
            "initializer",
            [*(one.name for one in proto.initializer)]
            + [one.values.name for one in proto.sparse_initializer],
        )
        _check_names("input", [one.name for one in proto.input])
        for tensor in proto.initializer:
            name = names(tensor.name)
            constants[name] = Constant(name, self._array(tensor, name))
        for sparse in proto.sparse_initializer:
            name = names(sparse.values.name)
            constants[name] = Constant(name, self._dense(sparse, name))
        inputs = tuple(
            _value_info(one, names) for one in proto.input if names(one.name) not in constants
        )
        scope.update((name, _type_of(one.array)) for name, one in constants.items())
        every = itertools.chain(in_types, itertools.repeat(""))
        scope.update((one.name, one.type or kind) for one, kind in zip(inputs, every, strict=False))
        nodes = self._nodes(proto.node, scope, constants, names)
        outputs = []
        for one in proto.output:
            info = _value_info(one, names)
            if info.name not in scope:
                raise ArgumentError(f"load: nothing gives the output {info.name!r}.")
            known = scope[info.name]
            if info.type and known and info.type != known:
                raise ArgumentError(
                    f"load: the output {info.name!r} is declared as {info.type}; what gives it "
                    f"gives {known}."
                )
            outputs.append(ValueInfo(info.name, info.type or known, info.shape))
        return Graph(proto.name, inputs, tuple(outputs), constants, nodes)

    def _nodes(
        self,
        protos: Iterable[onnx.NodeProto],
        scope: Scope,
        constants: dict[str, Constant],
        names: _BodyNames,
    ) -> list[OnnxNode]:
        found: list[OnnxNode] = []
        for proto in protos:
            shown = names.prefix.rstrip("/") or proto.name or f"{proto.op_type} -> {_first(proto)}"
            for name in map(names, proto.input):
                if name and name not in scope:
                    raise ArgumentError(
                        f"load: node {shown!r} reads {name!r}, which nothing before it gives."
                    )
            if proto.op_type == "Constant" and registry.plain_domain(proto.domain) == "":
                name = names(proto.output[0])
                constants[name] = Constant(name, self._constant(proto, name, names))
                scope[name] = _type_of(constants[name].array)
                continue
            found += self._node(proto, scope, constants, names, shown)
        return found

    def _node(
        self,
        proto: onnx.NodeProto,
        scope: Scope,
        constants: dict[str, Constant],
        names: _BodyNames,
        shown: str,
    ) -> list[OnnxNode]:
        """Return what runs for a node: itself, or the nodes of a function."""
        domain = registry.plain_domain(proto.domain)
        version = (names.opsets or self.opsets).get(domain, self.opsets.get(domain, 0))
        given = {one.name: self._bound(one, names) for one in proto.attribute}
        attributes = {name: one for name, one in given.items() if one is not None}
        in_names = tuple(map(names, proto.input))
        while in_names and not in_names[-1]:
            in_names = in_names[:-1]
        in_types = tuple(scope.get(name, "") for name in in_names)
        function = self.functions.get((domain, proto.op_type))
        schema = None if function is not None else self._schema(proto.op_type, version, domain)
        if schema is not None:
            _check(schema, attributes, in_names, shown)
            check_types(schema, in_types, shown)
            for name, default in schema.defaults.items():
                attributes.setdefault(name, default)
            plain = {
                name: self._attribute(one, scope, names)
                for name, one in attributes.items()
                if one.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
            }
            wanted = max((i + 1 for i, name in enumerate(proto.output) if name), default=0)
            row = registry.find(domain, proto.op_type, version, plain, len(in_names), wanted)
            if row is not None:
                kinds = body_types(proto.op_type, in_types)
                plain |= {
                    name: self._attribute(one, scope, names, kinds)
                    for name, one in attributes.items()
                    if name not in plain
                }
                outputs = tuple(map(names, proto.output))
                out_types = result_types(schema, proto.op_type, plain, in_types, len(outputs))
                self._declare(outputs, out_types, scope, shown)
                node = OnnxNode(
                    op=proto.op_type,
                    domain=domain,
                    name=shown,
                    version=schema.since_version,
                    inputs=in_names,
                    outputs=outputs,
                    attrs=plain,
                    in_types=in_types,
                    out_types=out_types,
                    implementation=row,
                    numpy=registry.host_function(domain, proto.op_type),
                    axes_at=next(
                        (i for i, one in enumerate(schema.inputs) if one.name in ("axes", "axis")),
                        None,
                    ),
                )
                return [node]
            function = self._schema_function(
                schema.schema, proto, attributes, scope, names, version
            )
        if function is None:
            where = f" of {domain}" if domain else ""
            self.missing.append(f"{proto.op_type}{where} (version {version}) at {shown!r}")
            for name in map(names, proto.output):
                scope.setdefault(name, "")
            return []
        if names.depth > _MOST_FUNCTIONS:
            raise ArgumentError(f"load: functions call each other in a circle at {shown!r}.")
        return self._expanded(function, attributes, proto, scope, constants, names, shown)

    def _schema(self, *key: Any) -> OperatorSchema | None:
        if key not in self._schemas:
            self._schemas[key] = schema_of(*key)
        return self._schemas[key]

    def _declare(
        self, outputs: tuple[str, ...], types: tuple[str, ...], scope: Scope, shown: str
    ) -> None:
        for name, type_ in zip(outputs, types, strict=True):
            if not name:
                continue
            if name in scope:
                raise ArgumentError(
                    f"load: node {shown!r} gives {name!r}, which is there already; want one "
                    "node for each value."
                )
            scope[name] = type_

    def _expanded(
        self,
        function: onnx.FunctionProto,
        attributes: Mapping[str, onnx.AttributeProto],
        proto: onnx.NodeProto,
        scope: Scope,
        constants: dict[str, Constant],
        names: _BodyNames,
        shown: str,
    ) -> list[OnnxNode]:
        """Return the nodes of a function's body, under names of their own."""
        given = {one.name: one for one in function.attribute_proto} | dict(attributes)
        prefix = f"{names.prefix}{proto.op_type}.{_first(proto)}/"
        bound = dict.fromkeys(function.input, "")
        bound |= dict(zip(function.input, map(names, proto.input), strict=False))
        results = {
            inner: names(outer)
            for inner, outer in zip(function.output, proto.output, strict=False)
            if outer
        }
        taken = {inner for inner in results if inner in bound}  # an input that is also an output
        bound |= {inner: outer for inner, outer in results.items() if inner not in taken}
        opsets = _versions(function.opset_import)
        inner_names = _BodyNames(prefix, bound, given, self.opsets | opsets, names.depth + 1)
        nodes = self._nodes(function.node, scope, constants, inner_names)
        return [
            node if node.name != prefix.rstrip("/") else _renamed(node, shown) for node in nodes
        ]

    def _schema_function(
        self,
        schema: Any,
        proto: onnx.NodeProto,
        attributes: Mapping[str, onnx.AttributeProto],
        scope: Scope,
        names: _BodyNames,
        version: int,
    ) -> onnx.FunctionProto | None:
        """Return the function that a schema has of its operator, or None."""
        if schema.has_function:
            body: onnx.FunctionProto = schema.function_body
            return body
        if not schema.has_context_dependent_function:
            return None
        node = onnx.NodeProto()
        node.CopyFrom(proto)
        del node.attribute[:]
        node.attribute.extend(attributes.values())
        types = [self._type_proto(names(one), scope).SerializeToString() for one in proto.input]
        there = schema.context_dependent_function_opset_versions
        chosen = max([one for one in there if one <= version] or [min(there)])
        found = onnx.FunctionProto()
        found.ParseFromString(
            schema.get_context_dependent_function_with_opset_version(
                chosen, node.SerializeToString(), types
            )
        )
        return found

    def _type_proto(self, name: str, scope: Scope) -> onnx.TypeProto:
        known = self.values.get(name)
        if known is not None and known.type.WhichOneof("value"):
            return known.type
        found = onnx.TypeProto()
        if name and scope.get(name, "").startswith("tensor("):
            kind = scope[name][7:-1].upper()
            found.tensor_type.elem_type = onnx.TensorProto.DataType.Value(kind)
        return found

    def _bound(self, one: onnx.AttributeProto, names: _BodyNames) -> onnx.AttributeProto | None:
        """Return an attribute, or what a function's caller gave for it; None for nothing."""
        if not one.ref_attr_name:
            return one
        source = (names.attributes or {}).get(one.ref_attr_name)
        if source is None:
            return None
        found = onnx.AttributeProto()
        found.CopyFrom(source)
        found.name = one.name
        return found

    def _attribute(
        self,
        one: onnx.AttributeProto,
        scope: Scope,
        names: _BodyNames,
        in_types: tuple[str, ...] = (),
    ) -> Any:
        kinds = onnx.AttributeProto
        if one.type == kinds.GRAPH:
            return self.graph(one.g, scope, names, in_types)
        if one.type == kinds.TENSOR:
            return self._array(one.t, one.name)
        if one.type == kinds.SPARSE_TENSOR:
            return self._dense(one.sparse_tensor, one.name)
        if one.type == kinds.TYPE_PROTO:
            return type_name(one.tp)
        value = helper.get_attribute_value(one)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if one.type == kinds.STRINGS:
            return tuple(text.decode("utf-8", "replace") for text in value)
        return tuple(value) if one.type in (kinds.INTS, kinds.FLOATS) else value

    def _constant(self, proto: onnx.NodeProto, name: str, names: _BodyNames) -> Array:
        """Return what a node ``Constant`` has as its one attribute."""
        kinds = {"value_int": "int64", "value_ints": "int64"}
        kinds |= {"value_float": "float32", "value_floats": "float32"}
        for one in proto.attribute:
            bound = self._bound(one, names)
            if bound is not None:
                value = self._attribute(bound, {}, names)
                if isinstance(value, np.ndarray):
                    return value
                return np.asarray(value, kinds.get(one.name, object))
        raise ArgumentError(f"load: the constant {name!r} has no value.")

    def _array(self, tensor: onnx.TensorProto, name: str) -> Array:
        """Return a tensor's values, with those in files of external data."""
        if any(n < 0 for n in tensor.dims):
            raise ArgumentError(
                f"load: the tensor {name!r} has shape {list(tensor.dims)}; want no length below 0."
            )
        try:
            found: Array = np.asarray(numpy_helper.to_array(tensor, base_dir=self.folder))
        except (ValueError, TypeError, KeyError, OSError, RuntimeError, OverflowError) as error:
            raise ArgumentError(
                f"load: the tensor {name!r} of shape {list(tensor.dims)} cannot be read: {error}."
            ) from error
        except onnx.checker.ValidationError as error:
            raise ArgumentError(f"load: the tensor {name!r} cannot be read: {error}.") from error
        return found

    def _dense(self, sparse: onnx.SparseTensorProto, name: str) -> Array:
        values, places = self._array(sparse.values, name), self._array(sparse.indices, name)
        shape = tuple(sparse.dims)
        try:
            found = np.zeros(shape, values.dtype)
            if places.ndim == 2:
                found[tuple(places.T)] = values
            else:
                found.reshape(-1)[places] = values
        except (ValueError, IndexError, MemoryError) as error:
            raise ArgumentError(
                f"load: the sparse tensor {name!r} of shape {list(shape)} cannot be read: {error}."
            ) from error
        return found


def _versions(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each domain's operators that a model or a function asks for.

    Raises:
        ArgumentError: One is no version.
    """
    found = {registry.plain_domain(one.domain): one.version for one in imports}
    for domain, version in found.items():
        if not 0 < version < 1 << 31:
            raise ArgumentError(f"load: version {version} of {domain or 'ONNX'}'s operators.")
    return found


def _check(
    schema: OperatorSchema,
    attributes: Mapping[str, onnx.AttributeProto],
    inputs: tuple[str, ...],
    shown: str,
) -> None:
    """Hold a node to the schema of its operator.

    Raises:
        ArgumentError: It has too few inputs or too many, or an attribute is missing, unknown or of
            another type.
    """
    op = schema.name
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    needed = schema.min_input  # of which the last may be optional, with more behind them
    while needed and schema.inputs[min(needed, len(schema.inputs)) - 1].option == optional:
        needed -= 1
    if not needed <= len(inputs) <= schema.max_input:
        raise ArgumentError(
            f"load: {op} at {shown!r} has {len(inputs)} inputs; want {needed} to "
            f"{schema.max_input}."
        )
    known = schema.attributes
    for name, one in attributes.items():
        if name not in known:
            raise ArgumentError(
                f"load: {op} at {shown!r} has no attribute {name!r}; it has "
                f"{', '.join(sorted(known)) or 'none'}."
            )
        if one.type != known[name].type.value:
            kind = onnx.AttributeProto.AttributeType.Name(one.type)
            raise ArgumentError(
                f"load: attribute {name!r} of {op} at {shown!r} is {kind}; want "
                f"{known[name].type.name}."
            )
        if name in KINDS and type_name_of(one.i) == "" and (one.i or known[name].required):
            raise ArgumentError(
                f"load: attribute {name!r} of {op} at {shown!r} is {one.i}, which is no type."
            )
    missing = [name for name, one in known.items() if one.required and name not in attributes]
    if missing:
        raise ArgumentError(f"load: {op} at {shown!r} lacks the attribute {missing[0]!r}.")


def _check_names(what: str, names: list[str]) -> None:
    """Refuse names of which one is given twice.

    Raises:
        ArgumentError: One is.
    """
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ArgumentError(f"load: the {what} {twice!r} is there twice; want one of each name.")


def _renamed(node: OnnxNode, shown: str) -> OnnxNode:
    node.name = shown
    return node


def _first(proto: onnx.NodeProto) -> str:
    return next((name for name in proto.output if name), "")


def _type_of(array: Array) -> str:
    return tensor_type(element_of(array.dtype))


def _value_info(one: onnx.ValueInfoProto, names: Callable[[str], str]) -> ValueInfo:
    shape = None
    kind = one.type
    if kind.HasField("tensor_type") and kind.tensor_type.HasField("shape"):
        shape = tuple(
            d.dim_value if d.HasField("dim_value") else d.dim_param or None
            for d in kind.tensor_type.shape.dim
        )
    found = type_name(kind)
    if "tensor(" in found and element(found) not in CARRIERS:
        raise ArgumentError(f"load: {one.name!r} is of type {found}, which is not known here.")
    return ValueInfo(names(one.name), found, shape)
