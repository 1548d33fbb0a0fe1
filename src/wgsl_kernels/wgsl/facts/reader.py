"""What a WGSL file declares, taken from its syntax tree."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.facts.facts import (
    AliasDeclaration,
    AttributeText,
    ConstantDeclaration,
    Declaration,
    DirectiveText,
    Facts,
    FunctionDeclaration,
    IncludeText,
    Member,
    OtherDeclaration,
    StructDeclaration,
    VariableDeclaration,
)
from wgsl_kernels.wgsl.names.resolve import resolve
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.parser import parse
from wgsl_kernels.wgsl.syntax.printer import spell

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text


@once_per_text
def read(source: Text) -> Facts:
    """Return what ``source`` declares.

    A declaration that is not understood is kept as `OtherDeclaration`, so that the compiler can
    say in its own words what is wrong with it.

    Raises:
        ShaderError: A comment is never closed, brackets do not match, or an include is malformed.
    """
    module = parse(source)
    names = resolve(source)
    begins = [symbol.ident.begin for symbol in names.symbols]

    def local(node: tree.Node) -> frozenset[str]:
        first = bisect.bisect_left(begins, node.begin)
        behind = bisect.bisect_left(begins, node.end, first)
        return frozenset(symbol.name for symbol in names.symbols[first:behind])

    return Facts(
        source,
        module,
        tuple(_directive(node) for node in module.directives),
        tuple(IncludeText(node.path, node.span) for node in module.includes),
        tuple(
            _declaration(node, needs, local(node))
            for node, needs in zip(module.declarations, names.needs, strict=True)
        ),
        names.indexed,
    )


def _directive(node: tree.Directive) -> DirectiveText:
    arguments = ", ".join(spell(argument) for argument in node.arguments)
    return DirectiveText(
        node.keyword, f"({arguments})" if node.keyword == "diagnostic" else arguments, node.span
    )


def _declaration(node: tree.Declaration, needs: frozenset[str], own: frozenset[str]) -> Declaration:
    names = own | needs
    if isinstance(node, (tree.ConstAssert, tree.Broken)):
        known = isinstance(node, tree.ConstAssert)
        return OtherDeclaration("", node.span, node.span, names, needs, known)
    name, span, name_span = node.ident.name, node.span, node.ident.span
    if isinstance(node, tree.Function):
        return FunctionDeclaration(
            name,
            span,
            name_span,
            names,
            needs,
            _members(node.parameters),
            None if node.returns is None else spell(node.returns),
            _attributes(node.attributes),
        )
    if isinstance(node, tree.Struct):
        close = node.end - 1
        return StructDeclaration(name, span, name_span, names, needs, _members(node.fields), close)
    if isinstance(node, tree.Alias):
        return AliasDeclaration(name, span, name_span, names, needs, spell(node.type))
    if isinstance(node, tree.Value):
        return ConstantDeclaration(name, span, name_span, names, needs, node)
    type_ = "" if node.type is None else spell(node.type)
    space, access = _space(node)
    return VariableDeclaration(
        name,
        span,
        name_span,
        names,
        needs,
        space,
        access,
        type_,
        _number(node.attributes, "group"),
        _number(node.attributes, "binding"),
    )


def _space(node: tree.Var) -> tuple[str, str]:
    """Return a variable's address space and how it may be accessed."""
    words = [spell(one) for one in node.templates]
    space = words[0] if words else ""
    if space == "uniform":
        return space, "read"
    if len(words) > 1:
        return space, words[1]
    return space, "read" if space == "storage" else "read_write" if space else ""


def _members(nodes: tuple[tree.Parameter, ...]) -> tuple[Member, ...]:
    return tuple(
        Member(n.ident.name, spell(n.type), _attributes(n.attributes), n.span) for n in nodes
    )


def _attributes(nodes: tuple[tree.Attribute, ...]) -> tuple[AttributeText, ...]:
    return tuple(AttributeText(n.name, n.arguments or (), n.span) for n in nodes)


def _number(attributes: tuple[tree.Attribute, ...], name: str) -> int | None:
    for attribute in attributes:
        if attribute.name == name and attribute.arguments:
            text = spell(attribute.arguments[0]).rstrip("iu")
            return int(text) if text.isdecimal() and len(text) < 10 else None
    return None
