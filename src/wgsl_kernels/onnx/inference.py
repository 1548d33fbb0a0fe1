"""The types of what a node gives, from its schema, its attributes and the types that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.onnx.files import type_name_of
from wgsl_kernels.onnx.types import element, element_of, tensor_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.onnx.contributed import OperatorSchema
    from wgsl_kernels.onnx.graph import Graph

KINDS = ("to", "dtype", "output_dtype", "output_datatype")
"""Attributes that say the type of the output by its number."""


def result_types(
    schema: OperatorSchema,
    op: str,
    attrs: Mapping[str, Any],
    in_types: tuple[str, ...],
    count: int,
) -> tuple[str, ...]:
    """Return ONNX's names of the types of a node's outputs; "" where they are unknown.

    Args:
        schema: What is known of the operator.
        op: The operator.
        attrs: With defaults, graphs as `Graph`.
        in_types: Of the inputs, "" for those left out.
        count: How many outputs the node has.
    """
    if op in _RULES:
        return _RULES[op](attrs, in_types, count)
    bound: dict[str, str] = {}
    for formal, given in zip(_formals(schema.inputs, len(in_types)), in_types, strict=True):
        if given:
            bound.setdefault(formal, given)
    asked = next((_kind(attrs[name]) for name in KINDS if attrs.get(name)), "")
    value = attrs.get("value")
    if not asked and op == "ConstantOfShape":
        asked = "tensor(float)" if value is None else tensor_type(element_of(value.dtype))
    found = []
    for formal in _formals(schema.outputs, count):
        if "(" in formal:
            found.append(formal)
        elif asked and op not in _CAST_INSIDE:
            found.append(asked)
        elif formal in bound:
            found.append(bound[formal])
        else:
            found.append(_default(schema, formal, in_types))
    return tuple(found)


def check_types(schema: OperatorSchema, in_types: tuple[str, ...], shown: str) -> None:
    """Hold the types of what a node reads, where they are known, to the schema of its operator.

    Raises:
        ArgumentError: One is none that the operator takes, or differs from another of its variable.
    """
    bound: dict[str, str] = {}
    for i, given in enumerate(in_types):
        one = schema.inputs[min(i, len(schema.inputs) - 1)]
        if not given:
            continue
        wanted = schema.allowed.get(one.type_str, [one.type_str])
        if given not in wanted and not given.startswith("optional("):
            said = ", ".join(sorted(wanted)) if len(wanted) < _FEW else "another type"
            raise ArgumentError(
                f"load: {schema.name} at {shown!r}: {one.name} is {given}; want {said}."
            )
        if one.is_homogeneous and bound.setdefault(one.type_str, given) != given:
            raise ArgumentError(
                f"load: {schema.name} at {shown!r}: {one.name} is {given}, but another input is "
                f"{bound[one.type_str]}; want one type."
            )


_FEW = 5
"""Types that a message lists."""


def body_types(op: str, in_types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types of what a node's graph takes, which the graph need not declare."""
    if op == "Loop":
        return ("tensor(int64)", "tensor(bool)", *in_types[2:])
    if op == "SequenceMap":
        return tuple(_inner(one) if one.startswith("seq(") else one for one in in_types)
    return in_types if op == "Scan" else ()


_CAST_INSIDE = frozenset({"LayerNormalization"})  # an attribute of that name is no output's type


def _formals(parameters: Any, count: int) -> list[str]:
    """Return the type, or the variable of types, of each of ``count`` parameters."""
    kinds = [one.type_str for one in parameters]
    return [kinds[min(i, len(kinds) - 1)] for i in range(count)] if kinds else [""] * count


def _default(schema: OperatorSchema, formal: str, in_types: tuple[str, ...]) -> str:
    """Return the type of a variable that no input binds: the only one, or the first input's."""
    allowed = schema.allowed.get(formal, [])
    given = in_types[0] if in_types else ""
    if len(allowed) == 1 or given not in allowed:
        return "tensor(float)" if "tensor(float)" in allowed else next(iter(allowed), given)
    return given


def _kind(number: Any) -> str:
    return type_name_of(int(number))


def _inner(type_: str) -> str:
    return type_.partition("(")[2][:-1]


def _of_graph(name: str, skipped: int = 0) -> Callable[..., tuple[str, ...]]:
    def rule(attrs: Mapping[str, Any], in_types: tuple[str, ...], count: int) -> tuple[str, ...]:
        graph: Graph = attrs[name]
        kinds = [one.type for one in graph.outputs[skipped:]]
        return tuple((kinds + [""] * count)[:count])

    return rule


def _of_branches(
    attrs: Mapping[str, Any], in_types: tuple[str, ...], count: int
) -> tuple[str, ...]:
    """Return the types that both branches give.

    Raises:
        ArgumentError: They give something else, or another number.
    """
    then, other = (
        _of_graph(name)(attrs, in_types, count) for name in ("then_branch", "else_branch")
    )
    counts = [len(attrs[name].outputs) for name in ("then_branch", "else_branch")]
    if counts != [count, count] or any(
        a and b and a != b for a, b in zip(then, other, strict=True)
    ):
        raise ArgumentError(
            f"load: the branches of an If give {', '.join(then)} ({counts[0]}) and "
            f"{', '.join(other)} ({counts[1]}); want the same, {count} each."
        )
    return then


def _quantized(attrs: Mapping[str, Any], in_types: tuple[str, ...], count: int) -> tuple[str, ...]:
    if len(in_types) > 2 and in_types[2]:
        return (in_types[2],)
    asked = attrs.get("output_dtype")
    return (_kind(asked) if asked else "tensor(uint8)",)


def _widened(attrs: Mapping[str, Any], in_types: tuple[str, ...], count: int) -> tuple[str, ...]:
    asked, scale = attrs.get("output_dtype"), in_types[1]
    is_power = element(scale) == "float8e8m0"
    return (_kind(asked) if asked else tensor_type("float") if is_power else scale,)


_RULES: Mapping[str, Callable[..., tuple[str, ...]]] = {
    "If": _of_branches,
    "Loop": _of_graph("body", 1),
    "Scan": _of_graph("body"),
    "DequantizeLinear": _widened,
    "QuantizeLinear": _quantized,
    "SequenceMap": lambda attrs, types, n: tuple(
        f"seq({kind})" for kind in _of_graph("body")(attrs, types, n)
    ),
    "SequenceEmpty": lambda attrs, types, n: (
        f"seq({_kind(attrs['dtype']) if attrs.get('dtype') else 'tensor(float)'})",
    ),
    "SequenceConstruct": lambda attrs, types, n: (f"seq({types[0]})",),
    "SequenceAt": lambda attrs, types, n: (_inner(types[0]),),
    "ConcatFromSequence": lambda attrs, types, n: (_inner(types[0]),),
    "SplitToSequence": lambda attrs, types, n: (f"seq({types[0]})",),
    "Optional": lambda attrs, types, n: (
        f"optional({types[0] if types else attrs.get('type', '')})",
    ),
    "OptionalGetElement": lambda attrs, types, n: (
        _inner(types[0]) if types[0].startswith("optional(") else types[0],
    ),
}
