"""What holds for this thread or task only: the backend in use, interceptors, scope, overrides.

Each open `with` block is one change; the context is what the changes make of one another, outermost
first. A block that ends takes its own change out, wherever it is among them, so that blocks may end
in any order: a generator that is closed late leaves nothing behind, and puts nothing back.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_NOTHING: Mapping[str, Any] = MappingProxyType({})
_MERGED = frozenset({"config", "gradients"})


class Context:
    """A snapshot that nobody changes: a `with` block puts another one in its place.

    Drivers, interceptors, scopes and rules are of packages above this one, which put them here and
    alone take them out; here they have no type.

    Attributes:
        double: Whether new floats are float64: inside a numeric gradient check.
        watch: What is notified of variables made and assigned: inside a capture or a warm-up.
        change: What the innermost open block changed, None outside all.
        outer: The context around that block.
    """

    __slots__ = (
        "change",
        "config",
        "double",
        "driver",
        "gradients",
        "interceptors",
        "outer",
        "scope",
        "watch",
    )

    def __init__(self) -> None:
        self.driver: Any = None
        self.interceptors: tuple[Any, ...] = ()
        self.scope: Any = None
        self.gradients: Mapping[str, Any] = _NOTHING
        self.config: Mapping[str, Any] = _NOTHING
        self.double: bool = False
        self.watch: Any = None
        self.change: Change | None = None
        self.outer: Context | None = None


class Change:
    """What one open block changes; told from others by identity."""

    __slots__ = ("_fields_of",)

    def __init__(self, fields_of: Callable[[Context], Mapping[str, Any]]) -> None:
        self._fields_of = fields_of

    def made_to(self, outer: Context) -> Context:
        """Return the context of the block in ``outer``."""
        new = Context()
        new.driver = outer.driver
        new.interceptors = outer.interceptors
        new.scope = outer.scope
        new.gradients = outer.gradients
        new.config = outer.config
        new.double = outer.double
        new.watch = outer.watch
        new.change = self
        new.outer = outer
        for name, value in self._fields_of(outer).items():
            setattr(new, name, value)
        return new


_current: ContextVar[Context] = ContextVar("wgsl_kernels_context", default=Context())  # noqa: B039  nobody changes it
current = _current.get


class ContextBlock:
    """A `with` block of this thread or task in which the context differs.

    An interrupt on the way in or out leaves nothing behind, at the latest once nobody holds the
    block any more: what was raised holds it, through the frames that it came through.
    """

    __slots__ = ("_change", "_is_in")

    def __init__(self, fields_of: Callable[[Context], Mapping[str, Any]]) -> None:
        self._is_in = False
        self._change = Change(fields_of)

    def __enter__(self) -> None:
        self._is_in = True
        _current.set(self._change.made_to(_current.get()))

    def __exit__(self, *error: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Leave the block, unless that was done."""
        if self._is_in:
            try:
                _current.set(_without(self._change, _current.get()))
            except BaseException:
                _current.set(_without(self._change, _current.get()))
                raise
            finally:
                self._is_in = False

    def __del__(self) -> None:
        if getattr(self, "_is_in", False):  # an interrupt in ``__init__`` leaves not even that
            self.leave()


def _without(change: Change, now: Context) -> Context:
    """Return the context that would be, had one change not been made: ``now`` where it was not."""
    inner: list[Change] = []
    at = now
    while at.change is not change:
        if at.change is None or at.outer is None:
            return now
        inner.append(at.change)
        at = at.outer
    found = at.outer or at
    for one in reversed(inner):
        found = one.made_to(found)
    return found


def changed(**fields: Any) -> ContextBlock:
    """Hold ``fields`` for a block; those that are mappings add to what holds around it."""

    def fields_of(outer: Context) -> Mapping[str, Any]:
        return {
            name: {**getattr(outer, name), **value} if name in _MERGED else value
            for name, value in fields.items()
        }

    return ContextBlock(fields_of if _MERGED & fields.keys() else lambda _: fields)


def intercepted(interceptor: Any) -> ContextBlock:
    """Let an interceptor see each kernel run of a block, before those put there earlier."""
    return ContextBlock(lambda outer: {"interceptors": (*outer.interceptors, interceptor)})


def hidden(kind: type) -> ContextBlock:
    """Let no interceptor of a kind see the kernel runs of a block; others do."""
    return ContextBlock(
        lambda outer: {
            "interceptors": tuple([one for one in outer.interceptors if not isinstance(one, kind)])
        }
    )
