"""Trees of tensors: nested tuples, lists, dicts, dataclasses, and what optree has registered.

optree is imported when the first tree comes: programs that pass tensors do not need it.
"""

from __future__ import annotations

import dataclasses
import enum
import threading
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SPACE = "wgsl_kernels"
"""optree's namespace for the dataclasses that we have met; it has all of the global one, too."""

_lock = threading.Lock()
_registered: set[type] = set()
_leaf_kinds: WeakSet[type] = WeakSet()
_NUMBERS = (bool, int, float, complex, str, bytes, np.generic)


class Tree:
    """A value taken apart.

    Attributes:
        leaves: What is in it, in order.
        is_bare: Whether it is a leaf by itself.

    Raises:
        ArgumentError: It holds itself, or is nested too deep.
    """

    def __init__(self, value: Any) -> None:
        self.leaves: list[Any] = [value]
        self._spec: Any = None
        try:
            self.is_bare = _is_leaf(value)
            if not self.is_bare:
                self.leaves, self._spec = _flatten(value)
        except RecursionError:
            raise ArgumentError(
                f"an argument is a {type(value).__name__} that holds itself, or is nested beyond "
                "any use; want a tensor, or a tree of them."
            ) from None

    def filled(self, leaves: Sequence[Any]) -> Any:
        """Return the same form with other leaves."""
        if self.is_bare:
            return leaves[0]
        import optree

        return optree.tree_unflatten(self._spec, leaves)

    def matched(self, other: Any) -> list[Any] | None:
        """Return what stands in another value where this one has leaves; None if it cannot be.

        What stands there may be anything, None among it.
        """
        if self.is_bare:
            return [other]
        Tree(other)  # so that its dataclasses are known
        try:
            return list(self._spec.flatten_up_to(other))
        except ValueError:  # optree's word for another form
            return None

    def names(self) -> list[str]:
        """Return where each leaf stands, as Python would write it: ``['hidden']['w']``."""
        if self.is_bare:
            return [""]
        return [accessor.codify("") for accessor in self._spec.accessors()]


def _is_leaf(value: Any) -> bool:
    """Say whether a value is one tensor, or what makes one: lists of nothing but numbers do."""
    if isinstance(value, (Tensor, np.ndarray, *_NUMBERS)):
        return True
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return all(_is_numbers(one) for one in value)
    return not isinstance(value, (list, tuple, dict)) and taken_apart(value) is None


def _is_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_numbers(one) for one in value)
    return isinstance(value, _NUMBERS)


def _flatten(value: Any) -> tuple[list[Any], Any]:
    import optree

    while True:
        leaves, spec = optree.tree_flatten(value, namespace=SPACE)
        new = {type(one) for one in leaves if _is_dataclass(one)}
        if not new:
            return leaves, spec
        with _lock:
            for kind in new - _registered:
                _register(kind)
                _registered.add(kind)


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _register(kind: type) -> None:
    """Have optree take dataclasses of one type apart, field by field."""
    import optree

    fields = dataclasses.fields(kind)
    names = tuple(one.name for one in fields if not one.metadata.get("static"))
    static = tuple(one.name for one in fields if one.metadata.get("static"))

    def flatten(one: Any) -> tuple[Any, ...]:
        constants = tuple(getattr(one, name) for name in static)
        return [getattr(one, name) for name in names], constants, names

    def rebuild(constants: Any, values: Any) -> Any:
        made: Any = object.__new__(kind)  # a dataclass may compute, and check, in its __init__
        given = zip((*names, *static), (*values, *constants), strict=True)
        for name, value in given:
            object.__setattr__(made, name, value)
        return made

    optree.register_pytree_node(kind, flatten, rebuild, namespace=SPACE)


def taken_apart(value: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]] | None:
    """Return what a node of a tree holds, and what builds it again; None of a leaf.

    A dict's values come in the order of its own keys.
    """
    kind = type(value)
    if kind in _leaf_kinds or isinstance(value, _LEAVES):
        return None
    import optree

    if _is_dataclass(value):
        _flatten(value)
    try:
        one = optree.tree_flatten_one_level(value, namespace=SPACE)
    except ValueError:  # optree's word for a leaf
        _leaf_kinds.add(kind)
        return None
    return list(one.children), lambda items: one.unflatten_func(one.metadata, items)


def leaves_of(
    caller: str, value: Any, is_leaf: Callable[[Any], bool]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield what a model has, each with the names that lead to it.

    A model is a leaf, or dicts, lists, tuples, dataclasses and other objects with leaves in them.
    Of an object the attributes count that have leaves in them, be it in ``vars`` or in
    ``__slots__``; others, and fields of a dataclass with the metadata ``static``, are no part of
    it. What else is in dicts, lists and tuples is yielded too, for the caller to refuse.

    Raises:
        ArgumentError: It holds itself, or is nested more than `DEEPEST` deep.
    """
    yield from _Walk(caller, is_leaf).leaves(value, (), is_attribute=False)


class _Walk:
    """A walk through a model, which enters what has no leaves once: it may be large, and round."""

    def __init__(self, caller: str, is_leaf: Callable[[Any], bool]) -> None:
        self._caller = caller
        self._is_leaf = is_leaf
        self._above: set[int] = set()
        self._empty: dict[int, Any] = {}
        self._circles: dict[int, str] = {}

    def leaves(
        self, value: Any, names: tuple[Any, ...], *, is_attribute: bool
    ) -> Iterator[tuple[tuple[Any, ...], Any]]:
        parts = None if self._is_leaf(value) else parts_of(value)
        if parts is None:
            if self._is_leaf(value) or not is_attribute:
                yield names, value
            return
        if id(value) in self._empty:
            return
        if id(value) in self._above:
            self._circles[id(value)] = "/".join(map(str, names))
            return
        if len(names) >= DEEPEST:
            raise ArgumentError(
                f"{self._caller}: the model is nested more than {DEEPEST} deep; want a tree."
            )
        self._above.add(id(value))
        inside = is_attribute or not isinstance(value, (Mapping, list, tuple))
        has_leaves = False
        for name, one in parts:
            for found in self.leaves(one, (*names, name), is_attribute=inside):
                has_leaves = True
                yield found
        self._above.discard(id(value))
        if not has_leaves:
            self._empty[id(value)] = value
        elif id(value) in self._circles:
            raise ArgumentError(
                f"{self._caller}: the model holds itself, under {self._circles[id(value)]!r}; want "
                "a tree."
            )


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """Return what a node of a model holds, by name, or None of anything else."""
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        fields = getattr(value, "_fields", None)
        return list(zip(fields or map(str, range(len(value))), value, strict=True))
    if isinstance(value, _LEAVES + _FUNCTIONS) or hasattr(type(value), "__array__"):
        return None
    if _is_dataclass(value):
        return [
            (one.name, getattr(value, one.name))
            for one in dataclasses.fields(value)
            if not one.metadata.get("static")
        ]
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        own = kind.__dict__.get("__slots__", ())
        for name in (own,) if isinstance(own, str) else own:
            full = f"_{kind.__name__.lstrip('_')}{name}" if _is_private(name) else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, full):
                found.setdefault(name, getattr(value, full))
    return list(found.items()) or None


def _is_private(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")


DEEPEST = 100
"""How deep a model may be nested."""

_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    enum.Enum,
)
_LEAVES = (Tensor, np.ndarray, type(None), type, *_NUMBERS)
