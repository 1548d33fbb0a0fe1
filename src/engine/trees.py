"""Trees of tensors: nested tuples, lists, dicts, dataclasses, and what optree has registered.

optree is imported when the first tree comes: programs that pass tensors do not need it.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from wgsl_kernels.engine.errors import ArgumentError
from wgsl_kernels.engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    names = tuple(field.name for field in dataclasses.fields(kind))

    def flatten(one: Any) -> tuple[Any, ...]:
        return [getattr(one, name) for name in names], None, names

    def rebuild(_: Any, values: Any) -> Any:
        made: Any = object.__new__(kind)  # a dataclass may compute, and check, in its __init__
        for name, value in zip(names, values, strict=True):
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


_LEAVES = (Tensor, np.ndarray, type(None), type, *_NUMBERS)
