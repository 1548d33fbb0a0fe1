"""Workgroup memory that a shader takes for zero.

WGSL promises zeros at the start of a workgroup; Mesa's llvmpipe keeps what the workgroup before
left there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import Remark, root_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Iterator


def memory_remarks(module: tree.Module) -> Iterator[Remark]:
    """Yield a remark for each workgroup variable that is used and that nothing sets."""
    shared = {name: one for name, one in module.variables.items() if one.space == "workgroup"}
    if not shared:
        return
    used: set[str] = set()
    written: set[str] = set()
    for declaration in module.declarations:
        for node in descendants(declaration):
            if isinstance(node, tree.Name):
                used.add(node.name)
            if isinstance(node, (tree.Assign, tree.IncrementStatement)) and node.target is not None:
                is_set = isinstance(node, tree.Assign) and node.operator == "="
                if is_set and (root := root_of(node.target)) is not None:
                    written.add(root.name)
            elif isinstance(node, tree.Call):
                written |= _set_by(node)
            elif isinstance(node, (tree.Value, tree.Var)) and node.value is not None:
                written |= _pointed(node.value)  # a pointer with a name may be written through
    for name, variable in shared.items():
        if name in used and name not in written:
            words = (
                f"{name} is workgroup memory that nothing sets before it is used. WGSL promises "
                "zeros there, some drivers do not give them: set every element, and put a barrier "
                "behind that."
            )
            yield Remark("unset-workgroup-memory", words, variable.ident.span)


def _set_by(node: tree.Call) -> set[str]:
    """Return the variables that a call may set: not those that atomics only change."""
    name = node.callee.name
    if name.startswith("atomic") and name not in ("atomicStore", "atomicExchange"):
        return set()
    found: set[str] = set()
    for one in node.arguments:
        found |= _pointed(one)
    return found


def _pointed(node: tree.Expression) -> set[str]:
    if isinstance(node, tree.Unary) and node.operator == "&":
        root = root_of(node)
        return set() if root is None else {root.name}
    return set()
