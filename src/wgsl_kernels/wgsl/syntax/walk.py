"""Walking a syntax tree, whatever its nodes are; depth is no matter of Python's stack."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN = frozenset({"begin", "end", "name", "text", "operator", "keyword", "path"})
"""The fields of nodes that hold no others."""
_HOLDING: dict[type[tree.Node], tuple[str, ...]] = {}
"""The other fields of each kind of nodes."""


def held(node: tree.Node) -> Iterator[tuple[str, tree.Node | tuple[tree.Node | None, ...]]]:
    """Yield the fields of ``node`` that hold nodes, and what they hold."""
    for name in _holding(type(node)):
        value = getattr(node, name)
        if value is not None and not isinstance(value, str):
            yield name, value


def children(node: tree.Node) -> list[tree.Node]:
    """Return the nodes that ``node`` is made of, in the order of the text."""
    found: list[tree.Node] = []
    for name in _holding(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            found += [one for one in value if one is not None]
        elif isinstance(value, tree.Node):
            found.append(value)
    return found


def _holding(kind: type[tree.Node]) -> tuple[str, ...]:
    names = _HOLDING.get(kind)
    if names is None:
        plain = tuple(field.name for field in fields(kind) if field.name not in _PLAIN)
        names = _HOLDING[kind] = plain
    return names


def descendants(node: tree.Node) -> Iterator[tree.Node]:
    """Yield ``node`` and all nodes inside of it, each before what is inside of it."""
    open_ = [node]
    while open_:
        one = open_.pop()
        yield one
        open_ += children(one)
