"""Nodes that are made rather than read: they stand nowhere in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterable


def made_name(name: str, *templates: tree.Expression) -> tree.Name:
    return tree.Name(0, 0, tree.Ident(0, 0, name), templates)


def made_parameter(name: str, type_: tree.Name) -> tree.Parameter:
    return tree.Parameter(0, 0, (), tree.Ident(0, 0, name), type_)


def made_function(
    name: str, parameters: Iterable[tree.Parameter], returns: tree.Name | None
) -> tree.Function:
    """Return a function that does nothing yet."""
    body = tree.CompoundStatement(0, 0, (), ())
    return tree.Function(0, 0, (), tree.Ident(0, 0, name), tuple(parameters), (), returns, body)
