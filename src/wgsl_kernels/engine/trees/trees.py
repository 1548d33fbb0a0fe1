"""Models: trees of dicts, lists, tuples, dataclasses and other objects, with tensors as leaves.

Types that users have registered with optree are taken apart as they said.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterator, Mapping, Set, ValuesView
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.dtypes import is_differentiable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    LeafTest = Callable[[Any], bool]

SPACE = "wgsl_kernels"
"""optree's namespace that is asked, with what is registered for all of them."""

DEEPEST = 100
"""How deep a model may be nested."""

_NUMBERS = (bool, int, float, complex, str, bytes, np.generic)
_FLOATS = (float, complex, np.floating, np.complexfloating)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    enum.Enum,
)
_LEAVES = (Tensor, np.ndarray, type(None), type, *_NUMBERS)
FORMLESS = (Iterator, Set, ValuesView)
"""What is gone through, and is no tree."""

_NEVER_NODES = (*_LEAVES, *_FUNCTIONS)
_ATTRIBUTE, _FIELD, _CONTAINER = range(3)
_IS_OF_PYTHON = 1 << 9
"""The flag of classes that Python code has made, in ``__flags__``."""


class Leaves(NamedTuple):
    """What the leaves of a model are.

    Attributes:
        everywhere: Says so of a value, wherever it is.
        in_containers: Says so of what a dict, list, tuple or a field of a dataclass holds.
        refuses: Whether what else a dict, list or tuple holds is a leaf, too, if it is no node: for
            the caller to refuse.
    """

    everywhere: LeafTest
    in_containers: LeafTest = lambda _: False
    refuses: bool = False


class Parts(NamedTuple):
    """One node, opened.

    Attributes:
        kind: What two nodes of the same form have in common.
        names: Its parts' names in paths.
        values: Its parts.
        rebuild: Makes such a node of other parts.
        level: Whether it has them as attributes, in fields or as a container.
        declared: How many of them; those behind are attributes that no field declares.
        constants: What else makes it what it is: keys, static fields, an optree node's metadata.
    """

    kind: Any
    names: Sequence[Any]
    values: Sequence[Any]
    rebuild: Callable[[Sequence[Any]], Any]
    level: int = _CONTAINER
    declared: int | None = None
    constants: Any = ()


class Tree:
    """A model taken apart.

    Containers are entered as they are; of other objects those attributes count that lead to a leaf,
    be they in ``vars`` or in ``__slots__``. Fields of a dataclass with the metadata ``static`` do
    not count, and None is no leaf.

    Attributes:
        leaves: What is in it, in order.

    Raises:
        ArgumentError: It holds itself, or is nested more than `DEEPEST` deep.
    """

    __slots__ = ("_form", "leaves")

    def __init__(self, caller: str, value: Any, kind: Leaves) -> None:
        walk = _ModelWalk(caller, kind)
        try:
            self._form = walk.form(value, _CONTAINER)
        except RecursionError:
            raise ArgumentError(
                f"{caller}: the model is a {type(value).__name__} that holds itself, or is nested "
                f"more than {DEEPEST} deep; want a tree."
            ) from None
        self.leaves = walk.leaves

    def filled(self, leaves: Sequence[Any]) -> Any:
        """Return the same form with other leaves."""
        return _filled(self._form, iter(leaves))

    def slopes(self, leaves: Sequence[Any]) -> Any:
        """Return the same form with gradients; tensors that are no leaves have None."""
        return _filled(self._form, iter(leaves), tensors=False)

    def matched(self, other: Any) -> list[Any] | None:
        """Return what is in another value where this one has leaves; None if the forms differ.

        What is there may be anything, None among it.
        """
        found: list[Any] = []
        return found if _is_matched(self._form, other, found) else None

    def paths(self) -> list[tuple[Any, ...]]:
        """Return the names that lead to each leaf."""
        return list(_paths(self._form, ()))

    def names(self) -> list[str]:
        """Return the paths of the leaves as text: ``hidden/w``."""
        return ["/".join(map(str, path)) for path in self.paths()]


class _InnerNode(NamedTuple):
    parts: Parts
    forms: list[Any]


class _StaticPart(NamedTuple):
    """What is no leaf, and leads to none.

    Attributes:
        value: That.
        has_tensors: Whether it is, or has, tensors: there is no gradient for them.
    """

    value: Any
    has_tensors: bool = False


_LEAF = object()
_NONE = _StaticPart(None)


class _ModelWalk:
    """A walk through a model, which enters what has no leaves once: it may be large, and round."""

    def __init__(self, caller: str, kind: Leaves) -> None:
        self._caller = caller
        self._kind = kind
        self._above: set[int] = set()
        self._empty: dict[int, _StaticPart] = {}
        self._others = 0
        self._circles: dict[int, str] = {}
        self._path: list[Any] = []
        self.leaves: list[Any] = []

    def form(self, value: Any, level: int) -> Any:
        """Return the form of a value that is at the end of the path."""
        if self._kind[0](value):
            self.leaves.append(value)
            return _LEAF
        if value is None and self._path:
            return _NONE
        is_leaf = level and self._kind.in_containers(value)
        parts = None if is_leaf else parts_of(value)
        if isinstance(value, Tensor):
            self._others += 1
        if parts is None:
            is_refused = level == _CONTAINER and (self._kind.refuses or not self._path)
            if is_leaf or is_refused:
                self.leaves.append(value)
                return _LEAF
            return _StaticPart(value, isinstance(value, Tensor))
        identity = id(value)
        if identity in self._empty:
            return self._empty[identity]
        if identity in self._above:
            self._circles[identity] = "/".join(map(str, self._path))
            return _StaticPart(value)
        if len(self._path) >= DEEPEST:
            raise ArgumentError(
                f"{self._caller}: the model is nested more than {DEEPEST} deep; want a tree."
            )
        return self._node(parts, value, min(level, parts.level))

    def _node(self, parts: Parts, value: Any, level: int) -> Any:
        before, others = len(self.leaves), self._others
        self._above.add(id(value))
        forms: list[Any] = []
        for at, (name, one) in enumerate(zip(parts.names, parts.values, strict=True)):
            is_loose = parts.declared is not None and at >= parts.declared
            self._path.append(name)
            forms.append(self.form(one, _ATTRIBUTE if is_loose else level))
            self._path.pop()
        self._above.discard(id(value))
        if len(self.leaves) == before:
            if not self._path and parts.level != _CONTAINER:
                self.leaves.append(value)
                return _LEAF
            self._empty[id(value)] = found = _StaticPart(value, self._others > others)
            return found
        if id(value) in self._circles:
            raise ArgumentError(
                f"{self._caller}: the model holds itself, under {self._circles[id(value)]!r}; want "
                "a tree."
            )
        return _InnerNode(parts, forms)


def _paths(form: Any, above: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if form is _LEAF:
        yield above
    elif isinstance(form, _InnerNode):
        for name, one in zip(form.parts.names, form.forms, strict=True):
            yield from _paths(one, (*above, name))


def _filled(form: Any, leaves: Iterator[Any], *, tensors: bool = True) -> Any:
    if form is _LEAF:
        return next(leaves)
    if isinstance(form, _StaticPart):
        return form.value if tensors or not form.has_tensors else None
    return form.parts.rebuild([_filled(one, leaves, tensors=tensors) for one in form.forms])


def _is_matched(form: Any, other: Any, found: list[Any]) -> bool:
    if form is _LEAF:
        found.append(other)
        return True
    if isinstance(form, _StaticPart):
        return True
    mine, parts = form.parts, parts_of(other)
    if parts is None or parts.kind != mine.kind:
        return False
    values = dict(zip(parts.names, parts.values, strict=True))
    if mine.level == _CONTAINER and values.keys() != set(mine.names):
        return False
    return all(
        isinstance(one, _StaticPart) or (name in values and _is_matched(one, values[name], found))
        for name, one in zip(mine.names, form.forms, strict=True)
    )


def variables_of(caller: str, model: Any) -> list[Variable]:
    """Return the variables of a model, in order; none where it has none.

    Raises:
        ArgumentError: It holds itself, or is nested too deep.
    """
    leaves = Tree(caller, model, Leaves(_is_variable)).leaves
    return list(filter(_is_variable, leaves))  # a model that is no node is a leaf itself


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def parts_of(value: Any) -> Parts | None:
    """Return the parts of a node of a model, or None of anything else."""
    if type(value) is dict:
        return _mapping(value)
    if isinstance(value, _NEVER_NODES) or hasattr(type(value), "__array__"):
        return None
    return container_parts(value) or _attributes(value)


def container_parts(value: Any) -> Parts | None:
    """Return the parts of what is made to hold others: no object but a dataclass; None else."""
    kind: Any = type(value)
    if isinstance(value, _LEAVES):
        return None
    if kind is dict:
        return _mapping(value)
    if isinstance(value, (list, tuple)):
        return _sequence(value)
    found = _registered(value)
    if found is None and isinstance(value, Mapping):
        return _mapping(value)
    if found is None and dataclasses.is_dataclass(kind):
        return _attributes(value)
    return found


def _sequence(value: list[Any] | tuple[Any, ...]) -> Parts:
    kind: Any = type(value)
    fields = getattr(value, "_fields", None)
    own = dict(getattr(value, "__dict__", {}))

    def rebuild(items: Sequence[Any]) -> Any:
        if fields is not None:
            return kind(*items)
        if kind in (list, tuple):
            return kind(items)
        made = tuple.__new__(kind, items) if isinstance(value, tuple) else kind.__new__(kind)
        if isinstance(made, list):
            list.extend(made, items)
        getattr(made, "__dict__", {}).update(own)
        return made

    return Parts(kind, fields or [str(index) for index in range(len(value))], value, rebuild)


def _mapping(value: Mapping[Any, Any]) -> Parts:
    kind: Any = type(value)
    keys = list(value)
    own = dict(getattr(value, "__dict__", {}))

    def rebuild(items: Sequence[Any]) -> Any:
        pairs = dict(zip(keys, items, strict=True))
        if kind is dict or not isinstance(value, dict):
            return pairs
        made = kind.__new__(kind)
        dict.update(made, pairs)
        getattr(made, "__dict__", {}).update(own)
        return made

    return Parts(Mapping, keys, list(value.values()), rebuild, constants=keys)


_unregistered: WeakSet[type] = WeakSet()


def _registered(value: Any) -> Parts | None:
    """Return the parts of what optree knows: types that come with it, and those of users."""
    kind = type(value)
    if kind in _unregistered:
        return None
    import optree

    try:
        one = optree.tree_flatten_one_level(value, namespace=SPACE)
    except ValueError:  # optree's word for a leaf
        _unregistered.add(kind)
        return None
    same: Any = Mapping if isinstance(value, Mapping) else kind
    return Parts(
        same,
        [str(entry) if type(entry) is int else entry for entry in one.entries],
        one.children,
        lambda items: one.unflatten_func(one.metadata, items),
        constants=one.metadata,
    )


def _attributes(value: Any) -> Parts | None:
    """Return the attributes of an object, of a dataclass its fields but static ones."""
    kind: Any = type(value)
    own = dict(getattr(value, "__dict__", {}))
    slots = _slots(value)
    names = {**slots, **{name: name for name in own}}
    level, count, static = _ATTRIBUTE, None, []
    if dataclasses.is_dataclass(value):
        level, fields = _FIELD, dataclasses.fields(value)
        static = [one.name for one in fields if one.metadata.get("static")]
        declared = [one.name for one in fields if one.name not in static]
        loose = {name: full for name, full in names.items() if name not in {*declared, *static}}
        names = {**{name: name for name in declared}, **loose}
        count = len(declared)
    elif not (names or kind.__flags__ & _IS_OF_PYTHON):
        return None
    state = {full: getattr(value, full) for full in slots.values()}

    def rebuild(items: Sequence[Any]) -> Any:
        made: Any = kind.__new__(kind)  # what __init__ computes and checks is done
        given = {**own, **state, **dict(zip(names.values(), items, strict=True))}
        for name, one in given.items():
            if name in own:
                made.__dict__[name] = one
            else:
                object.__setattr__(made, name, one)
        return made

    values = [own[name] if name in own else getattr(value, name) for name in names.values()]
    constants = [getattr(value, name) for name in static]
    return Parts(kind, list(names), values, rebuild, level, count, constants)


def _slots(value: Any) -> dict[str, str]:
    """Return the slots that are set, by name: each as it is called outside its class."""
    found: dict[str, str] = {}
    for kind in type(value).__mro__:
        own = kind.__dict__.get("__slots__", ())
        for name in (own,) if isinstance(own, str) else own:
            is_private = name.startswith("__") and not name.endswith("__")
            full = f"_{kind.__name__.lstrip('_')}{name}" if is_private else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, full):
                found.setdefault(name, full)
    return found


def _are_numbers(value: Any) -> bool:
    """Say whether a value is a number, or lists of nothing but numbers: one tensor."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return all(_are_numbers(one) for one in value)
    return isinstance(value, _NUMBERS)


def _are_floats(value: Any) -> bool:
    """Say whether a field of a dataclass has a derivative: a float, an array or list of these."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc"
    if isinstance(value, (list, tuple)):
        return bool(value) and _are_numbers(value) and any(_are_floats(one) for one in value)
    return isinstance(value, _FLOATS)


def _flows(value: Any) -> bool:
    """Say whether gradients flow through what is in a model: floats, and no frozen variables."""
    if not isinstance(value, Tensor) or not is_differentiable(value.dtype):
        return False
    return value.trainable or not isinstance(value, Variable)


GRADIENTS = Leaves(lambda one: isinstance(one, Tensor))
"""The leaves of gradients."""

OUTPUTS = GRADIENTS._replace(refuses=True)
"""The leaves of what a function that has derivatives returns."""

INPUTS = Leaves(_flows, _are_floats)
"""The leaves of what derivatives take: tensors of floats, and floats in containers and fields."""

VARIABLES = Leaves(lambda one: isinstance(one, Variable) and one.trainable)
"""The leaves of what is trained."""
