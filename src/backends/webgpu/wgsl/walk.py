"""Going through a syntax tree without knowing its every form."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, cast

from wgsl_kernels.backends.webgpu.wgsl.tree import Access, Module, Name, Node

if TYPE_CHECKING:
    from collections.abc import Iterator


_PLAIN = frozenset({"begin", "end", "name", "text", "keyword", "operator", "path"})
_inner: dict[type[Node], tuple[str, ...]] = {}


def walk(node: Node) -> Iterator[Node]:
    """Yield ``node`` and all nodes in it, in the order of the text."""
    yield node
    kind = type(node)
    if kind not in _inner:
        _inner[kind] = tuple(f.name for f in fields(kind) if f.name not in _PLAIN)
    for name in _inner[kind]:
        inner = getattr(node, name)
        if isinstance(inner, Node):
            yield from walk(inner)
        elif isinstance(inner, tuple):
            for one in cast("tuple[object, ...]", inner):
                if isinstance(one, Node):
                    yield from walk(one)


def members_of(module: Module, name: str) -> tuple[str, ...]:
    """Return the members of ``name`` that ``module`` mentions, in the order of the text."""
    return tuple(
        node.member.name
        for declaration in module.declarations
        for node in walk(declaration)
        if isinstance(node, Access) and isinstance(node.base, Name) and node.base.name == name
    )
