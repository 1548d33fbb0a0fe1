"""Tensors whose ops run on the backend where they are, not on that of the process.

The word is JAX's, whose arrays are committed to a device where a user has put them on it. Inside a
block of `use_backend` all ops run on its backend nevertheless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.tensors.copies import restored
from wgsl_kernels.engine.tensors.tensor import Tensor, made

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.engine.drivers.driver import Driver


class CommittedTensor(Tensor):
    """A tensor that stays on its backend, as do results of it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, super().__reduce__()[1]


def committed(x: Tensor) -> Tensor:
    """Return a tensor of the values of ``x``, which it shares, that is committed to its backend."""
    return made(CommittedTensor(x.spec, x._array_on(x._driver), x._driver))


def home_of(inputs: Iterable[Any]) -> Driver | None:
    """Return the backend of the first committed tensor among inputs, or None without one."""
    for one in inputs:
        if isinstance(one, CommittedTensor):
            return one._driver
        if isinstance(one, list):
            found = home_of(one)
            if found is not None:
                return found
    return None


def commit(results: Tensor | tuple[Tensor, ...]) -> None:
    """Commit new tensors, which nobody has yet, to their backends."""
    for one in results if isinstance(results, tuple) else (results,):
        one.__class__ = CommittedTensor


def _restored(*facts: Any) -> Tensor:
    return committed(restored(*facts))
