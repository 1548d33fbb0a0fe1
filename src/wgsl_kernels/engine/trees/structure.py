"""Nested arguments and results: what tells calls apart, and the tensors among them."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from wgsl_kernels.engine.execution.creation import tensor
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.trees.trees import container_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence


class OpaqueError(Exception):
    """A value in which tensors could hide from us; the message says which."""


_PLAIN = (bool, int, str, bytes, type(None))


def signature_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Hashable, list[Tensor]]:
    """Return what tells this call's arguments from another's, and the tensors among them.

    Tensors count by their specs, variables by themselves, NumPy arrays as new tensors, plain values
    by value, other objects as dictionaries tell them apart.

    Raises:
        OpaqueError: An argument cannot be told from another.
    """
    leaves: list[Tensor] = []
    try:
        key: list[Hashable] = [_key_of(one, leaves) for one in args]
        if kwargs:
            key.extend((name, _key_of(one, leaves)) for name, one in kwargs.items())
    except RecursionError:
        raise OpaqueError("an argument holds itself, or is nested beyond any use") from None
    return tuple(key), leaves


def _key_of(value: Any, leaves: list[Tensor]) -> Hashable:
    kind = type(value)
    if kind is Tensor:
        leaves.append(value)
        return cast("Hashable", value.spec)
    if kind is float:
        return (kind, value.hex())  # tells 0.0 from -0.0, and NaN is NaN
    if kind in _PLAIN:
        return (kind, value)
    if isinstance(value, Tensor):
        leaves.append(value)
        return (kind, value._id)
    if isinstance(value, np.ndarray):
        leaves.append(tensor(value))
        return cast("Hashable", leaves[-1].spec)
    if isinstance(value, (tuple, list)):
        items = cast("tuple[Any, ...]", value)
        return (kind, *[_key_of(one, leaves) for one in items])
    if kind is dict:
        pairs = _dict(value).items()
        return (kind, *[(_key_of(name, leaves), _key_of(one, leaves)) for name, one in pairs])
    return _key_of_object(value, leaves)


def _key_of_object(value: Any, leaves: list[Tensor]) -> Hashable:
    kind = type(value)
    if isinstance(value, complex):
        return (complex, value.real.hex(), value.imag.hex())
    if isinstance(value, np.generic):
        return (value.dtype.str, value.tobytes())
    node = container_parts(value)
    if node is not None:
        constants = _key_of(node.constants, leaves)
        return (cast("Hashable", kind), constants, *[_key_of(one, leaves) for one in node.values])
    try:
        hash(value)
    except TypeError:
        raise OpaqueError(
            f"an argument is a {kind.__name__}, whose contents cannot be watched"
        ) from None
    try:
        return (kind, weakref.ref(value))  # members of two enumerations may be equal
    except TypeError:
        return (kind, value)


def with_leaves(value: Any, leaves: Iterator[Tensor]) -> Any:
    """Return ``value``, arguments of `signature_of`, with its tensors replaced in order."""
    if isinstance(value, (Tensor, np.ndarray)):
        return next(leaves)
    if isinstance(value, (tuple, list)):
        return _rebuilt(value, [with_leaves(one, leaves) for one in cast("list[Any]", value)])
    if type(value) is dict:
        pairs = _dict(value).items()
        return {name: with_leaves(one, leaves) for name, one in pairs}
    return _with(value, lambda one: with_leaves(one, leaves))


def _with(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a node of another kind with each of its parts changed, a leaf as it is."""
    if isinstance(value, (*_PLAIN, float, complex)):
        return value
    node = container_parts(value)
    return value if node is None else node.rebuild([change(one) for one in node.values])


def _dict(value: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = value
    return found


def _rebuilt(like: Any, items: list[Any]) -> Any:
    kind = type(like)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


class _LeafIndex:
    """Where a tensor stands in a result."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class _TreeNode(NamedTuple):
    """A dataclass, or what else optree takes apart, in a result."""

    parts: list[Any]
    rebuild: Callable[[Sequence[Any]], Any]


class TreeDefinition:
    """The form of a result, to be filled with tensors again.

    Attributes:
        tensors: Those of the result.
        count: How many there are.
        is_bare: Whether it is a tensor by itself.
    """

    def __init__(self, result: Any) -> None:
        """Take a result apart.

        Raises:
            OpaqueError: It holds something that cannot be built again.
        """
        self.tensors: list[Tensor] = []
        self._form = self._flattened(result)
        self.count = len(self.tensors)
        self.is_bare = isinstance(result, Tensor)

    def filled(self, tensors: list[Tensor]) -> Any:
        """Return a new result with these tensors in their places."""
        return self._filled(self._form, tensors)

    def _flattened(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            self.tensors.append(value)
            return _LeafIndex(len(self.tensors) - 1)
        if isinstance(value, (tuple, list)):
            return _rebuilt(value, [self._flattened(one) for one in cast("list[Any]", value)])
        if type(value) is dict:
            pairs = _dict(value).items()
            return {name: self._flattened(one) for name, one in pairs}
        if isinstance(value, (*_PLAIN, float, complex, np.generic, np.dtype)):
            return value
        node = container_parts(value)
        if node is not None:
            return _TreeNode([self._flattened(one) for one in node.values], node.rebuild)
        kind = type(value).__name__
        raise OpaqueError(f"it returns a {kind}; want tensors in tuples, lists, dicts, dataclasses")

    def _filled(self, form: Any, tensors: list[Tensor]) -> Any:
        if isinstance(form, _LeafIndex):
            return tensors[form.index]
        if isinstance(form, _TreeNode):
            return form.rebuild([self._filled(one, tensors) for one in form.parts])
        if isinstance(form, (tuple, list)):
            return _rebuilt(form, [self._filled(one, tensors) for one in cast("list[Any]", form)])
        if type(form) is dict:
            pairs = _dict(form).items()
            return {name: self._filled(one, tensors) for name, one in pairs}
        return form


def replaced(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Return ``value`` with every tensor in its tuples, lists and dicts changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, (tuple, list)):
        return _rebuilt(value, [replaced(one, change) for one in cast("list[Any]", value)])
    if type(value) is dict:
        pairs = _dict(value).items()
        return {name: replaced(one, change) for name, one in pairs}
    return _with(value, lambda one: replaced(one, change))
