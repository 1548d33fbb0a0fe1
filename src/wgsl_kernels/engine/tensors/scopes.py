"""Scopes that dispose what was made inside: tidy, keep, dispose."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from wgsl_kernels.engine.environment import context
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.tensors.tensor import Tensor
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    from types import TracebackType

F = TypeVar("F")


class Scope:
    """The tensors made in one block, held weakly: what nobody holds is gone already."""

    __slots__ = ("made", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.made: list[weakref.ref[Tensor]] = []
        self.outer = outer

    def add(self, tensor: Tensor) -> None:
        """Count ``tensor`` in."""
        self.made.append(weakref.ref(tensor))

    def close(self, result: Any = None) -> None:
        """Dispose all but kept tensors and those in ``result``, which move to the outer scope."""
        saved = {id(one) for one in tensors_in(result)}
        for reference in self.made:
            tensor = reference()
            if tensor is None or tensor.is_disposed or tensor._is_kept:
                continue
            if id(tensor) not in saved:
                tensor.dispose()
            elif self.outer is not None:
                self.outer.add(tensor)


class _Tidy:
    """The `with wk.tidy():` block."""

    __slots__ = ("_block", "_scope")

    def __enter__(self) -> None:
        self._scope = Scope(context.current().scope)
        self._block = context.changed(scope=self._scope)
        self._block.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._block.__exit__(kind, error, trace)
        self._scope.close()


@overload
def tidy() -> _Tidy: ...
@overload
def tidy(f: Callable[[], F]) -> F: ...
def tidy(f: Callable[[], Any] | None = None) -> Any:
    """Dispose the tensors made while ``f`` runs, but for those it returns and those kept.

    Without ``f``, return a context manager that does so for a block. Variables are left alone.

    Args:
        f: A function without parameters; its result may be any nesting of lists, tuples and
            mappings with tensors in it.

    Returns:
        What ``f`` returns, or the context manager.
    """
    if f is None:
        return _Tidy()
    function("tidy", "f", f)
    scope = Scope(context.current().scope)
    result = None
    with context.changed(scope=scope):
        try:
            result = f()
        finally:
            scope.close(result)
    return result


def keep(tensor: Tensor) -> Tensor:
    """Save ``tensor`` from every `tidy` around; it lives until disposed or collected.

    Raises:
        ArgumentError: It is no tensor.
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentError(f"keep: got {type(tensor).__name__}; want a tensor.")
    tensor._is_kept = True
    return tensor


def dispose(obj: Any) -> None:
    """Dispose every tensor in any nesting of lists, tuples and mappings."""
    for tensor in tensors_in(obj):
        tensor.dispose()


def tensors_in(obj: Any, around: tuple[int, ...] = ()) -> Iterator[Tensor]:
    """Yield the tensors in any nesting of lists, tuples, sets and mappings.

    Args:
        obj: What they are in.
        around: The ids of what that is in: something that holds itself is gone through once.
    """
    if isinstance(obj, Tensor):
        yield obj
    elif isinstance(obj, (Mapping, list, tuple, set, frozenset)) and id(obj) not in around:
        for one in obj.values() if isinstance(obj, Mapping) else obj:
            yield from tensors_in(one, (*around, id(obj)))
