"""What holds for this thread or task only: the backend in use, interceptors, scope, overrides."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.engine.driver import Driver
    from wgsl_kernels.engine.gradients import GradientRule
    from wgsl_kernels.engine.run import Interceptor
    from wgsl_kernels.engine.scopes import Scope
    from wgsl_kernels.engine.watch import Watch

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Context:
    """An immutable snapshot; a `with` block swaps in a changed one and puts its field back."""

    driver: Driver | None = None
    interceptors: tuple[Interceptor, ...] = ()
    scope: Scope | None = None
    gradients: Mapping[str, GradientRule] = field(default_factory=lambda: _NOTHING)
    config: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    double: bool = False
    """Whether new floats are float64: inside a numeric gradient check."""
    watch: Watch | None = None
    """What is told of variables made and assigned: inside a capture or a warm-up."""


_current: ContextVar[Context] = ContextVar("wgsl_kernels_context", default=Context())  # noqa: B039  it is immutable
current = _current.get


class Changed:
    """A block of this thread or task in which some fields differ; see `changed`."""

    __slots__ = ("_before", "_fields")

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self._before: Context | None = None

    def __enter__(self) -> None:
        self._before = before = _current.get()
        _current.set(replace(before, **self._fields))

    def __exit__(self, *error: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Put the fields back, unless that was done."""
        before = self._before
        if before is not None:
            old = {name: getattr(before, name) for name in self._fields}
            _current.set(replace(_current.get(), **old))
            self._before = None

    def __del__(self) -> None:
        """Put back what an interrupt on the way into the block, or out of it, has left there."""
        before = self._before
        if before is not None:
            now = _current.get()
            if all(getattr(now, name) is value for name, value in self._fields.items()):
                self.leave()


def changed(**fields: Any) -> Changed:
    """Hold ``fields`` for a block of this thread or task.

    On leaving, only these fields are put back, so that blocks may end in any order.
    """
    return Changed(fields)


def push_interceptor(interceptor: Interceptor) -> None:
    """Put ``interceptor`` innermost: it sees a kernel run before those pushed earlier."""
    now = _current.get()
    _current.set(replace(now, interceptors=(*now.interceptors, interceptor)))


def pop_interceptor(interceptor: Interceptor) -> None:
    """Take ``interceptor`` out again, wherever it stands."""
    now = _current.get()
    kept = tuple(one for one in now.interceptors if one is not interceptor)
    _current.set(replace(now, interceptors=kept))
