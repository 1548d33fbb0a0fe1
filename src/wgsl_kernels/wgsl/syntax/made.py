"""Nodes that are made rather than read: they stand nowhere in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.parser import parse_expression
from wgsl_kernels.wgsl.syntax.printer import spell_head

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def made_name(name: str, *templates: tree.Expression) -> tree.Name:
    return tree.Name(0, 0, tree.Ident(0, 0, name), templates)


def made_type(spelled: str) -> tree.Name:
    """Return a type as it is spelled."""
    found = parse_expression(spelled)
    assert isinstance(found, tree.Name), spelled
    return found


def made_parameter(name: str, type_: tree.Name) -> tree.Parameter:
    return tree.Parameter(0, 0, (), tree.Ident(0, 0, name), type_)


def made_function(
    name: str, parameters: Iterable[tree.Parameter], returns: tree.Name | None
) -> tree.Function:
    """Return a function that does nothing yet."""
    body = tree.CompoundStatement(0, 0, (), ())
    return tree.Function(0, 0, (), tree.Ident(0, 0, name), tuple(parameters), (), returns, body)


def written(function: tree.Function, *statements: str) -> str:
    """Return a function as text, with these statements for its body."""
    lines = [f"  {one}" for one in statements]
    return "\n".join((f"{spell_head(function)} {{", *lines, "}", ""))


def written_function(
    name: str, parameters: Mapping[str, str], returns: str | None, *statements: str
) -> str:
    """Return a function as text: its types as they are spelled, and its statements."""
    made = [made_parameter(one, made_type(type_)) for one, type_ in parameters.items()]
    head = made_function(name, made, None if returns is None else made_type(returns))
    return written(head, *statements)
