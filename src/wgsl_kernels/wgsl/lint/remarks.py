"""A remark: what one rule says of one part of a module, before its place is the author's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.constants import ConstantValues

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.wgsl.syntax.places import Span


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to say of a module.

    Attributes:
        code: Its code; `wgsl.errors.finding_codes` lists all.
        words: What is wrong, and what to write.
        span: The characters of the module's text that are meant.
        related: Other places that explain it, by what they are.
    """

    code: str
    words: str
    span: Span
    related: tuple[tuple[str, Span], ...] = field(default=())


def constants_of(module: tree.Module) -> ConstantValues:
    """Return the consts of a module whose names mean nothing else in it.

    Overrides are left out: what is said of a module holds for all that they may be.
    """
    values = {name: one for name, one in module.constants.items() if one.keyword == "const"}
    for function in module.functions.values() if values else ():
        for parameter in function.parameters:
            values.pop(parameter.name, None)
        for one in descendants(function.body):
            if isinstance(one, (tree.Value, tree.Var)):
                values.pop(one.name, None)
    return ConstantValues(values)


def functions_of(module: tree.Module) -> Iterator[tree.Function]:
    """Yield the functions of a module whose bodies were understood."""
    for one in module.declarations:
        if isinstance(one, tree.Function) and isinstance(one.body, tree.CompoundStatement):
            yield one


def entries_of(module: tree.Module) -> Iterator[tree.Function]:
    """Yield the compute entry points of a module."""
    for one in functions_of(module):
        if one.is_entry:
            yield one


def builtins_of(
    function: tree.Function, module: tree.Module
) -> Iterator[tuple[tree.Parameter, str, str]]:
    """Yield an entry point's parameters, the member (or "") and the built-in value that each is."""
    structs = module.structs
    for parameter in function.parameters:
        own = builtin_named(parameter)
        if own:
            yield parameter, "", own
        elif parameter.type.name in structs:
            for field_ in structs[parameter.type.name].fields:
                yield parameter, field_.ident.name, builtin_named(field_)


def builtin_named(parameter: tree.Parameter) -> str:
    """Return the built-in value that a parameter or a field is, "" for none."""
    for attribute in parameter.attributes:
        if attribute.name == "builtin" and attribute.arguments:
            named = attribute.arguments[0]
            return named.name if isinstance(named, tree.Name) else ""
    return ""


def root_of(node: tree.Expression) -> tree.Name | None:
    """Return the variable that an expression is part of: ``a`` of ``a[i].x``, ``*a``, ``&a``."""
    while True:
        if isinstance(node, (tree.Index, tree.Access)):
            node = node.base
        elif isinstance(node, tree.Paren):
            node = node.inner
        elif isinstance(node, tree.Unary) and node.operator in "*&":
            node = node.operand
        else:
            return node if isinstance(node, tree.Name) else None


def is_behind_pointer(node: tree.Expression) -> bool:
    """Say whether an expression is part of what a pointer leads to: ``(*a)[i].x``."""
    while isinstance(node, (tree.Index, tree.Access, tree.Paren)):
        node = node.inner if isinstance(node, tree.Paren) else node.base
    return isinstance(node, tree.Unary) and node.operator == "*"


def bare(node: tree.Expression) -> tree.Expression:
    """Return an expression without the parentheses around it."""
    while isinstance(node, tree.Paren):
        node = node.inner
    return node


def calls_in(node: tree.Node) -> Iterator[tree.Call]:
    """Yield all calls inside of a node."""
    return (one for one in descendants(node) if isinstance(one, tree.Call))


def jumps_in(node: tree.Node | None) -> frozenset[str]:
    """Return how a statement may leave the block that it stands in."""
    if node is None:
        return frozenset()
    if isinstance(node, tree.Return):
        return frozenset({"return"})
    if isinstance(node, tree.Jump):
        return frozenset({node.keyword})
    if isinstance(node, (tree.Loop, tree.While, tree.For)):
        return jumps_in(node.body) - {"break", "continue"}
    found: frozenset[str] = frozenset()
    if isinstance(node, tree.CompoundStatement):
        for one in node.statements:
            found |= jumps_in(one)
    elif isinstance(node, tree.If):
        branch: tree.If | tree.CompoundStatement | None = node
        while isinstance(branch, tree.If):
            found |= jumps_in(branch.body)
            branch = branch.otherwise
        found |= jumps_in(branch)
    elif isinstance(node, tree.Switch):
        for clause in node.clauses:
            found |= jumps_in(clause.body) - {"break"}
    elif isinstance(node, (tree.Continuing, tree.Round)):
        found = jumps_in(node.body)
    return found
