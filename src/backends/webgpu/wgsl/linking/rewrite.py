"""Other names in a tree; all that has none of them is shared with the old one."""

from __future__ import annotations

import bisect
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.backends.webgpu.wgsl import tree

if TYPE_CHECKING:
    from collections.abc import Mapping

_Node = TypeVar("_Node", bound=tree.Node)


def with_names(node: _Node, names: Mapping[int, str]) -> _Node:
    """Return ``node`` with the names that ``names`` gives, by where they stand."""
    return _Rewriting(names).node(node) if names else node


class _Rewriting:
    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names
        self.begins = sorted(names)

    def node(self, node: _Node) -> _Node:
        if isinstance(node, tree.Ident):
            name = self.names.get(node.begin, node.name)
            return node if name == node.name else replace(node, name=name)
        at = bisect.bisect_left(self.begins, node.begin)
        if at == len(self.begins) or self.begins[at] >= node.end:
            return node
        if isinstance(node, tree.Binary):
            return self.chain(node)  # type: ignore[return-value]  # a Binary for a Binary
        changed: dict[str, Any] = {}
        for field in fields(node):
            name = field.name
            if name in _PLAIN:
                continue
            value = getattr(node, name)
            if isinstance(value, tuple):
                changed[name] = tuple(
                    self.node(one) if isinstance(one, tree.Node) else one for one in value
                )
            elif isinstance(value, tree.Node):
                changed[name] = self.node(value)
        return replace(node, **changed)

    def chain(self, node: tree.Binary) -> tree.Binary:
        """Rewrite a sum from its left end: long ones lean to the left, too far to recurse."""
        links: list[tree.Binary] = []
        left: tree.Expression = node
        while isinstance(left, tree.Binary):
            links.append(left)
            left = left.left
        left = self.node(left)
        for link in reversed(links):
            left = replace(link, left=left, right=self.node(link.right))
        assert isinstance(left, tree.Binary)
        return left


_PLAIN = frozenset({"begin", "end", "name", "text", "operator", "keyword", "path"})
"""The fields of nodes that hold no others."""
