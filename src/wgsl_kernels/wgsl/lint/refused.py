"""What compilers refuse though all types fit: by place in memory, by stage, by constants."""

from __future__ import annotations

import bisect
import difflib
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.declarations import declaration_remarks
from wgsl_kernels.wgsl.lint.misused import name_uses
from wgsl_kernels.wgsl.lint.remarks import (
    Remark,
    builtin_named,
    constants_of,
    functions_of,
    root_of,
)
from wgsl_kernels.wgsl.lint.statements import statement_remarks
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.kinds import (
    INTEGERS,
    Array,
    Atomic,
    Matrix,
    Pointer,
    Reference,
    Scalar,
    StructType,
    Vector,
    scalar_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from wgsl_kernels.wgsl.names.resolve import Names, Use
    from wgsl_kernels.wgsl.types.constants import ConstantValues
    from wgsl_kernels.wgsl.types.infer import Types

_BUILTIN_VALUES = (
    "global_invocation_id",
    "local_invocation_id",
    "local_invocation_index",
    "num_workgroups",
    "subgroup_invocation_id",
    "subgroup_size",
    "workgroup_id",
)
_WIDE = {"f64": "f32", "i64": "i32", "u64": "u32"}
_OF_FRAGMENTS = ("dpdx", "dpdy", "fwidth", "textureSample")
"""How the names of functions begin that need the neighbours of a fragment."""


def refusals(
    module: tree.Module, types: Types, names: Names, imported: Collection[str] = ()
) -> Iterator[Remark]:
    """Yield what a compute shader's compiler refuses, each with what to write.

    Args:
        module: A complete shader, or one file of it.
        types: The types of its expressions.
        names: What its names mean.
        imported: The names that it imports, which are none of WGSL's own.
    """
    constants, meant = constants_of(module), names.meant
    yield from statement_remarks(module, types, meant, constants, imported)
    yield from declaration_remarks(module, meant, constants)
    yield from name_uses(module, types, meant, imported)
    for function in functions_of(module):
        yield from _parameters(function)
        assert isinstance(function.body, tree.CompoundStatement)
        yield from _redeclared(_declared(function.body), [one.name for one in function.parameters])
    own = module.functions
    bodies = {id(one.body) for one in functions_of(module)}
    at_run_time = sorted((one for one in names.uses if _is_at_run_time(one)), key=_begin)
    for declaration in module.declarations:
        for node in descendants(declaration):
            if isinstance(node, tree.Index):
                yield from _outside(node, types, constants)
                yield from _without_elements(node, types)
            elif isinstance(node, tree.Binary) and node.operator in ("<<", ">>"):
                yield from _shifted_out(node, types, constants)
            elif isinstance(node, tree.ConstAssert):
                yield from _asserted(node, constants)
            elif isinstance(node, (tree.Assign, tree.IncrementStatement)):
                yield from _read_alone(node, types)
            elif isinstance(node, tree.Call) and node.callee.name not in own:
                yield from _of_fragments(node)
            elif isinstance(node, tree.Jump) and node.keyword == "discard":
                words = "discard is for fragment shaders. Write return, and store nothing."
                yield Remark("does-not-compile", words, node.span)
            elif isinstance(node, tree.Unary) and node.operator == "*":
                yield from _not_through_pointer(node, types)
            elif isinstance(node, tree.Value) and node.keyword == "const":
                yield from _not_constant(node, at_run_time)
            elif isinstance(node, tree.Switch):
                yield from _selector(node, types)
            elif isinstance(node, tree.CompoundStatement) and id(node) not in bodies:
                yield from _redeclared(_declared(node))
            elif isinstance(node, tree.Name) and node.name in _WIDE:
                words = f"WGSL has no type {node.name!r}. Write {_WIDE[node.name]}."
                yield Remark("unknown-name", words, node.span)


def _declared(block: tree.CompoundStatement) -> list[tree.Var | tree.Value]:
    return [one for one in block.statements if isinstance(one, (tree.Var, tree.Value))]


def _redeclared(
    declared: Sequence[tree.Var | tree.Value], before: Sequence[str] = ()
) -> Iterator[Remark]:
    """Yield names that are given a second time in one scope."""
    seen = set(before)
    for one in declared:
        name = one.ident.name
        if name in seen:
            words = f"{name} is declared before, in the same scope. Take another name."
            yield Remark("does-not-compile", words, one.ident.span)
        seen.add(name)


def _parameters(function: tree.Function) -> Iterator[Remark]:
    """Yield pointers that no function takes, and built-in values that there are not."""
    for one in function.parameters:
        space = one.type.templates[0] if one.type.templates else None
        name = one.ident.name
        if one.type.name == "ptr" and isinstance(space, tree.Name) and space.name in _SHARED:
            words = (
                f"{name} points to {_SHARED[space.name]}, and a function takes pointers to "
                "function and private memory alone. Name the variable in the function, and pass "
                "an index."
            )
            yield Remark("does-not-compile", words, one.ident.span)
        if function.is_entry:
            yield from _builtin(one)


_SHARED = {
    "workgroup": "workgroup memory",
    "storage": "a storage buffer",
    "uniform": "a uniform buffer",
}


def _builtin(parameter: tree.Parameter) -> Iterator[Remark]:
    asked = builtin_named(parameter)
    if not asked or asked in _BUILTIN_VALUES:
        return
    near = difflib.get_close_matches(asked, _BUILTIN_VALUES, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(_BUILTIN_VALUES)}."
    words = f"a compute shader has no built-in value {asked!r}. {hint}"
    for one in parameter.attributes:
        if one.name == "builtin" and one.arguments:
            yield Remark("unknown-name", words, one.arguments[0].span)


def _outside(node: tree.Index, types: Types, constants: ConstantValues) -> Iterator[Remark]:
    """Yield an index that is known before the shader runs, and outside of what it is into."""
    index = constants.number_or_none(node.index)
    base = types.value_of(node.base)
    if isinstance(base, Pointer):
        base = base.store
    length = {Vector: "size", Matrix: "columns", Array: "count"}.get(type(base), "")
    size = getattr(base, length, None)
    if index is None or not isinstance(size, int) or size < 1 or 0 <= index < size:
        return
    what = "columns" if isinstance(base, Matrix) else "elements"
    words = f"index {index:g} is outside of {base}, which has the {what} 0 to {size - 1}."
    yield Remark("does-not-compile", words, node.index.span)


def _without_elements(node: tree.Index, types: Types) -> Iterator[Remark]:
    """Yield what is indexed though it is one value."""
    base = types.value_of(node.base)
    if isinstance(base, (Scalar, Atomic, StructType)):
        shown = spell(node.base, blank=" ")
        remedy = f"Leave [{spell(node.index)}] out."
        if isinstance(base, StructType):
            remedy = "Write a dot and the name of a member."
        words = f"{shown} is {base}, which has no elements. {remedy}"
        yield Remark("wrong-type", words, node.base.span)


def _shifted_out(node: tree.Binary, types: Types, constants: ConstantValues) -> Iterator[Remark]:
    """Yield a shift by as many bits as the value has, or more."""
    by, left = constants.number_or_none(node.right), types.value_of(node.left)
    scalar = None if left is None else scalar_of(left)
    if by is not None and by >= _BITS and isinstance(scalar, Scalar) and scalar.name in _OF_BITS:
        words = f"{left} has {_BITS} bits, and is shifted by {by:g}. Shift by 0 to {_BITS - 1}."
        yield Remark("does-not-compile", words, node.right.span)


_BITS = 32
_OF_BITS = ("i32", "u32")


def _asserted(node: tree.ConstAssert, constants: ConstantValues) -> Iterator[Remark]:
    """Yield an assertion that does not hold."""
    if constants.holds(node.condition) is False:
        shown = spell(node.condition, blank=" ")
        words = f"this does not hold: {shown}. Change the constants that it is about."
        yield Remark("does-not-compile", words, node.condition.span)


def _read_alone(node: tree.Assign | tree.IncrementStatement, types: Types) -> Iterator[Remark]:
    """Yield what is written to though it is bound for reading."""
    target = None if node.target is None else types.of(node.target)
    root = None if node.target is None else root_of(node.target)
    if not isinstance(target, Reference) or target.access != "read" or root is None:
        return
    what = "a uniform" if target.space == "uniform" else "an input, bound as var<storage, read>"
    words = (
        f"{root.name} is {what}, and cannot be written to. Write to the output, or copy what is "
        "changed to a var."
    )
    yield Remark("immutable", words, root.span)


def _of_fragments(node: tree.Call) -> Iterator[Remark]:
    name = node.callee.name
    if not name.startswith(_OF_FRAGMENTS):
        return
    remedy = "Tensors are arrays: read their elements by index."
    if not name.startswith("texture"):
        remedy = "Subtract neighbours: load_x_at of a map, or x[i + 1u] - x[i]."
    words = f"{name} is for fragment shaders, and this is a compute shader. {remedy}"
    yield Remark("does-not-compile", words, node.callee.span)


def _not_through_pointer(node: tree.Unary, types: Types) -> Iterator[Remark]:
    found = types.value_of(node.operand)
    if found is None or isinstance(found, Pointer):
        return
    words = (
        f"* reads through a pointer, and this is {found}. Leave it out, or write pow(x, y) for **."
    )
    yield Remark("wrong-type", words, Span(node.begin, node.begin + 1))


def _is_at_run_time(use: Use) -> bool:
    return use.symbol is not None and use.symbol.kind in ("let", "override", "parameter", "var")


def _begin(use: Use) -> int:
    return use.ident.begin


def _not_constant(node: tree.Value, at_run_time: Sequence[Use]) -> Iterator[Remark]:
    """Yield what a const is made of that is known only while the shader runs.

    Args:
        node: The const.
        at_run_time: Where a text names what is known only then, in its order.
    """
    if node.value is None:
        return
    first = bisect.bisect_left(at_run_time, node.value.begin, key=_begin)
    for use in at_run_time[first : first + 1]:
        if use.ident.begin < node.value.end:
            words = (
                f"{node.name} is a const, which is known before the shader runs, and "
                f"{use.ident.name} is not. Write let."
            )
            yield Remark("does-not-compile", words, use.ident.span)


def _selector(node: tree.Switch, types: Types) -> Iterator[Remark]:
    found = types.value_of(node.selector)
    if found is not None and not (isinstance(found, Scalar) and found.name in INTEGERS):
        inner = node.selector.inner if isinstance(node.selector, tree.Paren) else node.selector
        words = f"switch takes an integer, and this is {found}. Write if, or convert it to i32."
        yield Remark("wrong-type", words, inner.span)
