"""Names that WGSL keeps, subgroups of a width that is taken for granted, grids that fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import (
    Remark,
    builtins_of,
    calls_in,
    entries_of,
)
from wgsl_kernels.wgsl.names.resolve import names_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.names import RESERVED
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.values import literal_value

if TYPE_CHECKING:
    from collections.abc import Iterator


_MANY = 32
"""Invocations that a workgroup of a kernel for many elements has at least."""


def name_remarks(module: tree.Module) -> Iterator[Remark]:
    """Yield a remark for each declared name that WGSL keeps for itself."""
    for symbol in names_of(module).symbols:
        name = symbol.name
        if name in RESERVED or name == "_" or name.startswith("__"):
            words = f"WGSL keeps the name {name!r} for itself. Write {name.strip('_')}_ instead."
            yield Remark("reserved-word", words, symbol.ident.span)


def binding_remarks(module: tree.Module) -> Iterator[Remark]:
    """Yield a remark for each variable of a binding that one before has, of one entry point."""
    if len([*entries_of(module)]) > 1:
        return  # each may have its own
    first: dict[tuple[str, str], tree.Var] = {}
    for one in module.declarations:
        if not isinstance(one, tree.Var):
            continue
        group, number = (_argument(module, one, name) for name in ("group", "binding"))
        if not group or not number:
            continue
        before = first.setdefault((group, number), one)
        if before is not one:
            words = (
                f"@group({group}) @binding({number}) is that of {before.name!r}, too. It runs, as "
                "tensors are bound by name here, but other compilers refuse the text. Give "
                f"{one.name!r} another number."
            )
            yield Remark("shared-binding", words, one.ident.span)


def _argument(module: tree.Module, declared: tree.Var, name: str) -> str:
    """Return what stands in an attribute, as it is written; empty where there is none."""
    text = module.text.text
    found = [one.arguments for one in declared.attributes if one.name == name and one.arguments]
    return text[found[0][0].begin : found[0][0].end].strip() if found else ""


def subgroup_remarks(module: tree.Module) -> Iterator[Remark]:
    """Yield a remark where subgroups are used and nothing asks how many invocations they have."""
    asked = any(
        builtin == "subgroup_size"
        for entry in entries_of(module)
        for _, _, builtin in builtins_of(entry, module)
    )
    if asked:
        return
    for declaration in module.declarations:
        for call in calls_in(declaration):
            if call.callee.name.startswith("subgroup") and "Barrier" not in call.callee.name:
                words = (
                    f"{call.callee.name} works on a subgroup, of 4 to 128 invocations depending "
                    "on the GPU. Take @builtin(subgroup_size) and let the loop follow it."
                )
                yield Remark("subgroup-width", words, call.callee.span)
                return


def grid_remarks(module: tree.Module) -> Iterator[Remark]:
    """Yield a remark where an index comes from ``id.x`` alone, though the grid may fold.

    It is for kernels whose grid is the default one: an invocation for each element, folded into two
    dimensions past 65,535 workgroups.
    """
    for entry in entries_of(module):
        known = {
            builtin: parameter
            for parameter, member, builtin in builtins_of(entry, module)
            if not member
        }
        id_ = known.get("global_invocation_id")
        others = [known[one] for one in ("num_workgroups", "workgroup_id") if one in known]
        if id_ is None or any(_members(entry, one.ident.name) for one in others):
            continue
        if _members(entry, id_.ident.name) == {"x"} and not _is_small(entry):
            name = id_.ident.name
            words = (
                f"{name}.x is the index only up to 65,535 workgroups; past that the grid folds "
                f"into two dimensions. Write {name}.x + {name}.y * groups.x * GROUP with "
                "@builtin(num_workgroups) groups: vec3<u32>, or pass groups=."
            )
            yield Remark("unfolded-grid", words, id_.ident.span)


def _is_small(function: tree.Function) -> bool:
    """Say whether a workgroup is too small for a kernel of many elements."""
    sizes = function.workgroup_size
    if not sizes:
        return True
    return isinstance(sizes[0], tree.Literal) and literal_value(sizes[0].text) < _MANY


def _members(function: tree.Function, name: str) -> set[str]:
    """Return which members of a parameter are asked for; "" where all of it is used."""
    found: set[str] = set()
    inner: set[int] = set()
    for node in descendants(function.body):
        if not isinstance(node, tree.Access) or not isinstance(node.base, tree.Name):
            continue
        if node.base.name == name:
            found.add(node.member.name)
            inner.add(id(node.base))
    for node in descendants(function.body):
        if isinstance(node, tree.Name) and node.name == name and id(node) not in inner:
            found.add("")
    return found
