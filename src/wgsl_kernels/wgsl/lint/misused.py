"""What compilers refuse of names: functions and types that stand for values, and the reverse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import Remark, bare, root_of
from wgsl_kernels.wgsl.names.predeclared import is_predeclared
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.kinds import VOID, Array, Pointer, Vector

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from wgsl_kernels.wgsl.names.resolve import Symbol
    from wgsl_kernels.wgsl.types.infer import Types

_KINDS = {"var": "a var", "let": "a let", "const": "a const", "parameter": "a parameter"}
_TYPE = re.compile(r"(?:vec[234]|mat[234]x[234])[fhiu]?|[iu]32|f16|f32|bool|array|atomic|ptr")


def name_uses(
    module: tree.Module, types: Types, meant: Mapping[int, Symbol], imported: Collection[str]
) -> Iterator[Remark]:
    """Yield the names that stand where what they mean cannot, each with what to write."""
    for declaration in module.declarations:
        for node in descendants(declaration):
            for one in _values(node):
                yield from _no_value(one, meant, types, imported)
            if isinstance(node, tree.Call):
                yield from _called(node, meant, types)
            elif isinstance(node, tree.Unary) and node.operator == "&":
                yield from _address(node, meant, types)


def _values(node: tree.Node) -> tuple[tree.Expression, ...]:
    """Return the expressions of a node whose values it takes."""
    if isinstance(node, (tree.Var, tree.Value, tree.Assign, tree.Return)):
        return () if node.value is None else (node.value,)
    return (node.left, node.right) if isinstance(node, tree.Binary) else ()


def _no_value(
    node: tree.Expression, meant: Mapping[int, Symbol], types: Types, imported: Collection[str]
) -> Iterator[Remark]:
    value = bare(node)
    type_ = types.value_of(value)
    words = ""
    if isinstance(value, tree.Call) and type_ == VOID:
        words = f"{value.callee.name} returns nothing. Call it as a statement of its own."
    elif isinstance(type_, Array) and type_.count is None:
        words = f"{spell(value)} is an array without size, which cannot be copied. Take an element:"
        words += f" {spell(value)}[i]."
    elif isinstance(value, tree.Name) and value.name not in imported:
        symbol = meant.get(value.ident.begin)
        kind = "" if symbol is None else symbol.kind
        is_type = kind in ("struct", "alias") or _TYPE.fullmatch(value.name)
        if kind not in ("", "function", "struct", "alias"):
            return
        if is_type:
            words = f"{value.name} is a type, and no value. Write {spell(value)}(value)."
        elif kind == "function" or is_predeclared(value.name):
            words = f"{value.name} is a function, and no value. Call it: {value.name}(...)."
    if words:
        yield Remark("wrong-type", words, value.span)


def _called(node: tree.Call, meant: Mapping[int, Symbol], types: Types) -> Iterator[Remark]:
    name = node.callee.name
    symbol = meant.get(node.callee.ident.begin)
    if symbol is not None and symbol.kind in _KINDS:
        words = f"{name} is {_KINDS[symbol.kind]}, and no function. Write * for a product."
        yield Remark("wrong-type", words, node.callee.span)
    if name == "arrayLength" and len(node.arguments) == 1:
        pointer = types.value_of(node.arguments[0])
        array = pointer.store if isinstance(pointer, Pointer) else None
        if isinstance(array, Array) and array.count is not None:
            words = f"arrayLength is for arrays without size, and this is {array}. Write its size."
            yield Remark("wrong-type", words, node.arguments[0].span)


def _address(node: tree.Unary, meant: Mapping[int, Symbol], types: Types) -> Iterator[Remark]:
    """Yield an address of what is no variable, or of a component."""
    root = root_of(node.operand)
    symbol = None if root is None else meant.get(root.ident.begin)
    if symbol is not None and symbol.kind in ("let", "const") and root is not None:
        if isinstance(types.value_of(root), Pointer):
            return
        words = f"& takes a var, and {root.name} is {_KINDS[symbol.kind]}. Declare it with var."
        yield Remark("wrong-type", words, root.span)
    elif root is None and not isinstance(bare(node.operand), (tree.Access, tree.Index)):
        words = "& takes a var, and this is a value. Declare a var of it."
        yield Remark("wrong-type", words, node.operand.span)
    elif isinstance(bare(node.operand), (tree.Access, tree.Index)):
        part = bare(node.operand)
        assert isinstance(part, (tree.Access, tree.Index))
        if isinstance(types.value_of(part.base), Vector):
            words = f"no pointer leads to a component. Write &{spell(part.base)}, to the vector."
            yield Remark("wrong-type", words, node.operand.span)
