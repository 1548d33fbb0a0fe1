"""Which expressions of a function read or write an element of an array, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from wgsl_kernels.wgsl.lint.remarks import root_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.kinds import Array, Pointer, Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.wgsl.types.infer import Types

Kind: TypeAlias = Literal["read", "write", "mark", "atomic"]
"""``mark``: it is written somehow, as through a pointer; ``atomic``: it is changed by an atomic."""


@dataclass(frozen=True, slots=True)
class ElementAccess:
    """One index of an array.

    Attributes:
        node: The expression ``base[index]``.
        kind: What is done with the element.
        variable: The variable that the array is, or is part of.
        length: The expression of how many elements the array has.
        above: Whether the array is an element of another one.
        is_outer: Whether its elements are arrays.
        is_part: Whether a component or a member of the element is meant.
    """

    node: tree.Index
    kind: Kind
    variable: str
    length: str
    above: bool
    is_outer: bool
    is_part: bool


def accesses_in(function: tree.Function, types: Types) -> Iterator[ElementAccess]:
    """Yield the accesses of a function's body whose array and length are known."""
    kinds = _kinds(function.body)
    parts = _parts(function.body)
    constants = {
        id(inner)
        for node in descendants(function.body)
        if isinstance(node, tree.Value) and node.keyword == "const" and node.value is not None
        for inner in descendants(node.value)
    }
    for node in descendants(function.body):
        if not isinstance(node, tree.Index) or id(node) in constants:
            continue
        store = _store(types, node.base)
        root = root_of(node.base)
        if not isinstance(store, Array) or root is None:
            continue
        length = _length(node.base, store)
        is_known = isinstance(node.index, tree.Literal) and store.count is not None
        if length is None or (is_known and not _is_shared(types, root)):
            continue
        is_outer = isinstance(store.element, Array)
        above = isinstance(node.base, tree.Index)
        kind = kinds.get(id(node), "read")
        yield ElementAccess(node, kind, root.name, length, above, is_outer, id(node) in parts)


def _is_shared(types: Types, root: tree.Name) -> bool:
    found = types.of(root)
    return isinstance(found, Reference) and found.space in ("workgroup", "storage")


def _store(types: Types, base: tree.Expression) -> object:
    found = types.of(base)
    if isinstance(found, (Reference, Pointer)):
        return found.store
    return None  # an element of a value: its index is checked nowhere, and reads nothing else


def _length(base: tree.Expression, store: Array) -> str | None:
    if isinstance(store.count, int):
        return f"{store.count}u"
    if store.count is not None:
        return f"u32({store.count})"
    return f"arrayLength(&{base.name})" if isinstance(base, tree.Name) else None


def _kinds(body: tree.Node) -> dict[int, Kind]:
    """Return what is done with those indexed elements that are not read."""
    found: dict[int, Kind] = {}

    def note(node: tree.Expression, kind: Kind) -> None:
        while isinstance(node, (tree.Access, tree.Paren)):
            kind = "mark" if isinstance(node, tree.Access) and kind == "write" else kind
            node = node.base if isinstance(node, tree.Access) else node.inner
        if isinstance(node, tree.Index):
            found[id(node)] = kind

    for node in descendants(body):
        if isinstance(node, (tree.Assign, tree.IncrementStatement)) and node.target is not None:
            note(node.target, "write")
        elif isinstance(node, tree.Call):
            is_atomic = node.callee.name.startswith("atomic")
            sets = node.callee.name in ("atomicStore", "atomicExchange")
            for one in node.arguments:
                if isinstance(one, tree.Unary) and one.operator == "&":
                    note(one.operand, "atomic" if is_atomic and not sets else "mark")
        elif isinstance(node, (tree.Value, tree.Var)):
            given = node.value
            if isinstance(given, tree.Unary) and given.operator == "&":
                note(given.operand, "mark")
    return found


def _parts(body: tree.Node) -> set[int]:
    """Return the indexed elements of which only a member or a component is meant."""
    found: set[int] = set()
    for node in descendants(body):
        if isinstance(node, tree.Access):
            base: tree.Expression = node.base
            while isinstance(base, tree.Paren):
                base = base.inner
            if isinstance(base, tree.Index):
                found.add(id(base))
    return found
