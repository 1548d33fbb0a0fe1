"""Other names in a tree; all that has none of them is shared with the old one."""

from __future__ import annotations

import bisect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import children, held

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_Node = TypeVar("_Node", bound=tree.Node)


def with_names(node: _Node, names: Mapping[int, str]) -> _Node:
    """Return ``node`` with the names that ``names`` gives, by where they stand."""
    if not names:
        return node
    begins = sorted(names)

    def holds_name(one: tree.Node) -> bool:
        at = bisect.bisect_left(begins, one.begin)
        return at < len(begins) and begins[at] < one.end

    new: dict[int, tree.Node] = {}  # by the identity of the old one
    open_: list[tree.Node] = [node]
    ready: list[tree.Node] = []
    while open_:  # each comes before what is in it, whose depth is no matter of Python's stack
        one = open_.pop()
        if holds_name(one):
            ready.append(one)
            open_ += children(one)
    for one in reversed(ready):
        if isinstance(one, tree.Ident):
            new[id(one)] = replace(one, name=names.get(one.begin, one.name))
        else:
            new[id(one)] = replace(one, **dict(_changed(one, new)))
    return new.get(id(node), node)  # type: ignore[return-value]  # a node of the same kind


def _changed(node: tree.Node, new: Mapping[int, tree.Node]) -> Iterator[tuple[str, Any]]:
    """Yield the fields of ``node`` that hold something new."""
    for name, value in held(node):
        if isinstance(value, tree.Node):
            if id(value) in new:
                yield name, new[id(value)]
        elif any(id(one) in new for one in value):
            yield name, tuple(new.get(id(one), one) for one in value)
