"""What compilers refuse of declarations: sizes, memory, members, parameters of entry points."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import Remark, builtin_named, functions_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wgsl_kernels.wgsl.names.resolve import Symbol
    from wgsl_kernels.wgsl.types.constants import ConstantValues

_VECTORS = ("global_invocation_id", "local_invocation_id", "num_workgroups", "workgroup_id")
_NUMBERS = ("local_invocation_index", "subgroup_invocation_id", "subgroup_size")
_TYPES = {
    **dict.fromkeys(_VECTORS, ("vec3<u32>", "vec3u")),
    **dict.fromkeys(_NUMBERS, ("u32",)),
}
"""How the types of built-in values are written."""
_KINDS = {"let": "a let", "parameter": "a parameter", "var": "a var", "override": "an override"}


def declaration_remarks(
    module: tree.Module, meant: Mapping[int, Symbol], constants: ConstantValues
) -> Iterator[Remark]:
    """Yield the declarations that no compiler takes, each with what to write."""
    for struct in module.structs.values():
        yield from _twice(struct.fields)
    for variable in module.variables.values():
        yield from _of_module(variable)
    for function in functions_of(module):
        yield from _twice(function.parameters)
        if function.is_entry:
            for parameter in function.parameters:
                yield from _of_entry(parameter, module)
    for declaration in module.declarations:
        is_workgroup = isinstance(declaration, tree.Var) and declaration.space == "workgroup"
        for node in descendants(declaration):
            if isinstance(node, tree.Name) and node.templates:
                yield from _of_type(node, meant, constants, may_be_late=is_workgroup)
            elif isinstance(node, tree.Var) and node is not declaration:
                yield from _of_function(node)


def _twice(members: tuple[tree.Parameter, ...]) -> Iterator[Remark]:
    """Yield names that are given a second time in a list of members or parameters."""
    seen: Counter[str] = Counter()
    for one in members:
        seen[one.name] += 1
        if seen[one.name] > 1:
            words = f"{one.name} is there before, in the same list. Take another name."
            yield Remark("does-not-compile", words, one.ident.span)


def _of_module(node: tree.Var) -> Iterator[Remark]:
    if not node.templates and not node.attributes:
        words = (
            f"a var outside of functions says where it is stored. Write var<private> {node.name}, "
            f"or var<workgroup> {node.name}."
        )
        yield Remark("does-not-compile", words, node.ident.span)
    elif node.space == "workgroup" and node.value is not None:
        words = (
            f"{node.name} is workgroup memory, which takes no value here. Write it in main, and "
            "workgroupBarrier() before it is read."
        )
        yield Remark("does-not-compile", words, node.ident.span)
    elif node.space in ("private", "workgroup") and _is_unsized(node.type):
        yield _unsized(node)


def _of_function(node: tree.Var) -> Iterator[Remark]:
    if node.type is None and node.value is None:
        words = f"{node.name} has neither type nor value. Write var {node.name}: f32;, or = 0.0."
        yield Remark("does-not-compile", words, node.ident.span)
    elif node.space not in ("", "function"):
        words = f"var<{node.space}> stands outside of functions. Move it there, or write var."
        yield Remark("does-not-compile", words, node.ident.span)
    elif _is_unsized(node.type):
        yield _unsized(node)


def _is_unsized(type_: tree.Name | None) -> bool:
    return type_ is not None and type_.name == "array" and len(type_.templates) == 1


def _unsized(node: tree.Var) -> Remark:
    words = f"{node.name} is an array without size, which storage buffers alone have. Write array"
    return Remark("does-not-compile", f"{words}<type, size>.", node.ident.span)


def _of_entry(parameter: tree.Parameter, module: tree.Module) -> Iterator[Remark]:
    """Yield a parameter of an entry point that is no built-in value, or not of its type."""
    asked = builtin_named(parameter)
    type_ = spell(parameter.type)
    name = parameter.name
    if not asked and type_ not in {*module.structs, *module.aliases}:
        words = (
            f"{name} is no built-in value, and an entry point is given no other. Write "
            f"@builtin(global_invocation_id) {name}: vec3<u32>, or read it from a uniform."
        )
        yield Remark("does-not-compile", words, parameter.ident.span)
    wanted = _TYPES.get(asked, ())
    if wanted and type_.replace(" ", "") not in wanted and type_ not in module.aliases:
        words = f"{asked} is {wanted[0]}, and {name} is {type_}. Write {name}: {wanted[0]}."
        yield Remark("wrong-type", words, parameter.type.span)


def _of_type(
    node: tree.Name,
    meant: Mapping[int, Symbol],
    constants: ConstantValues,
    *,
    may_be_late: bool,
) -> Iterator[Remark]:
    """Yield what is wrong with the size of an array, or the type of an atomic."""
    if node.name == "atomic" and isinstance(node.templates[0], tree.Name):
        type_ = node.templates[0].name
        if type_ in ("f32", "f16", "bool"):
            words = f"there are atomics of i32 and u32, and none of {type_}. Write atomic<u32>"
            words += ", and bitcast the value." if type_ == "f32" else "."
            yield Remark("wrong-type", words, node.templates[0].span)
    if node.name != "array" or len(node.templates) < 2:
        return
    size = node.templates[1]
    for one in descendants(size):
        symbol = meant.get(one.ident.begin) if isinstance(one, tree.Name) else None
        kind = "" if symbol is None else _KINDS.get(symbol.kind, "")
        if symbol is not None and kind and not (may_be_late and symbol.kind == "override"):
            words = (
                f"the size of an array is a const, and {symbol.name} is {kind}. Declare it with "
                "const, or take the largest size."
            )
            yield Remark("does-not-compile", words, one.span)
    value = constants.number_or_none(size)
    if value is not None and (value < 1 or isinstance(value, float)):
        words = f"the size of an array is an integer, 1 or more, and this is {value:g}."
        yield Remark("does-not-compile", words, size.span)
