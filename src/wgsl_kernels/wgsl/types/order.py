"""An order of declarations in which each comes behind those that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants

if TYPE_CHECKING:
    from collections.abc import Iterable

Typed: TypeAlias = tree.Alias | tree.Struct | tree.Value | tree.Var


def in_order_of_need(declarations: Iterable[tree.Declaration]) -> list[Typed]:
    """Return the types, constants and variables, each behind those that it names.

    What needs itself, which WGSL does not allow, comes in any order.
    """
    nodes: dict[str, Typed] = {}
    for node in declarations:
        if isinstance(node, (tree.Alias, tree.Struct, tree.Value, tree.Var)):
            nodes.setdefault(node.ident.name, node)
    found: dict[str, Typed] = {}
    seen: set[str] = set()
    open_ = [(name, False) for name in reversed(nodes)]
    while open_:
        name, is_ready = open_.pop()
        if is_ready:
            found.setdefault(name, nodes[name])
        elif name not in seen:
            seen.add(name)
            open_.append((name, True))
            needed = (one.name for one in descendants(nodes[name]) if isinstance(one, tree.Name))
            open_ += [(one, False) for one in needed if one in nodes]
    return list(found.values())
