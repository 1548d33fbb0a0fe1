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
    """What is notified of variables made and assigned: inside a capture or a warm-up."""


_current: ContextVar[Context] = ContextVar("wgsl_kernels_context", default=Context())  # noqa: B039  it is immutable
current = _current.get


class Block:
    """A `with` block of this thread or task in which the context differs.

    An interrupt on the way in or out leaves nothing behind, at the latest once nobody holds the
    block any more: what was raised holds it, through the frames that it came through.
    """

    __slots__ = ("_is_in",)

    def __init__(self) -> None:
        self._is_in = False

    def entered(self, now: Context) -> Context:
        """Return the context of the block."""
        raise AssertionError("each block says itself what differs")

    def left(self, now: Context) -> Context:
        """Return the context behind the block."""
        raise AssertionError("each block says itself what it puts back")

    def __enter__(self) -> None:
        self._is_in = True
        _current.set(self.entered(_current.get()))

    def __exit__(self, *error: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Leave the block, unless that was done."""
        if self._is_in:
            try:
                _current.set(self.left(_current.get()))
            except BaseException:
                _current.set(self.left(_current.get()))
                raise
            finally:
                self._is_in = False

    def __del__(self) -> None:
        if self._was_entered():
            self.leave()

    def _was_entered(self) -> bool:
        """Say whether the block is open; an interrupt in ``__init__`` leaves not even that."""
        return getattr(self, "_is_in", False)


class Changed(Block):
    """Some fields have other values; only these are put back, so that blocks may end in any order.

    Attributes:
        fields: The values.
    """

    __slots__ = ("_before", "fields")

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__()
        self.fields = fields
        self._before: dict[str, Any] = {}

    def entered(self, now: Context) -> Context:
        """Remember the fields, and set them."""
        self._before = {name: getattr(now, name) for name in self.fields}
        return replace(now, **self.fields)

    def left(self, now: Context) -> Context:
        """Put them back."""
        return replace(now, **self._before)

    def __del__(self) -> None:
        """Put the fields back, where nobody has set others meanwhile."""
        now = _current.get()
        if self._was_entered() and all(
            getattr(now, one) is value for one, value in self.fields.items()
        ):
            self.leave()


class Intercepted(Block):
    """An interceptor stands innermost: it sees a kernel run before those put there earlier."""

    __slots__ = ("_interceptor",)

    def __init__(self, interceptor: Interceptor) -> None:
        super().__init__()
        self._interceptor = interceptor

    def entered(self, now: Context) -> Context:
        """Put it there."""
        return replace(now, interceptors=(*now.interceptors, self._interceptor))

    def left(self, now: Context) -> Context:
        """Take it out again, wherever it stands."""
        kept = tuple([one for one in now.interceptors if one is not self._interceptor])
        return replace(now, interceptors=kept)


def changed(**fields: Any) -> Changed:
    """Hold ``fields`` for a block."""
    return Changed(fields)
