"""Writing the values that variables in loops begin with, where their author left them out.

WGSL sets ``var x: T;`` to zero each time it is reached; naga 29 does so in the first round only.
Source: WebGPU Shading Language, section 7.3, var declarations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.parser import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.wgsl.syntax.places import Span, Text


@once_per_text
def types_without_value(source: Text) -> tuple[Span, ...]:
    """Return where the types stand of the variables in loops that are given no value.

    ``= T()`` behind each says what WGSL does without it.
    """
    found: list[Span] = []
    for declaration in parse(source).declarations:
        if isinstance(declaration, tree.Function) and isinstance(
            declaration.body, tree.CompoundStatement
        ):
            found += _in_statement(declaration.body, in_loop=False)
    return tuple(found)


def _in_statement(node: tree.Statement | None, *, in_loop: bool) -> Iterator[Span]:
    """Return them in the order of the text."""
    if isinstance(node, tree.Var):
        if in_loop and node.value is None and node.type is not None:
            yield node.type.span
    elif isinstance(node, tree.CompoundStatement):
        for one in node.statements:
            yield from _in_statement(one, in_loop=in_loop)
    elif isinstance(node, tree.If):
        otherwise: tree.If | tree.CompoundStatement | None = node
        while isinstance(otherwise, tree.If):  # a chain may be too long to recurse
            yield from _in_statement(otherwise.body, in_loop=in_loop)
            otherwise = otherwise.otherwise
        yield from _in_statement(otherwise, in_loop=in_loop)
    elif isinstance(node, tree.Switch):
        for clause in node.clauses:
            yield from _in_statement(clause.body, in_loop=in_loop)
    elif isinstance(node, tree.For):
        yield from _in_statement(node.first, in_loop=in_loop)
        yield from _in_statement(node.body, in_loop=True)
    elif isinstance(node, (tree.Loop, tree.While, tree.Continuing)):
        yield from _in_statement(node.body, in_loop=True)
