"""Tensors that stay on the backend where a user has put them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wgsl_kernels.engine.tensors.tensor import Tensor, made, restored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wgsl_kernels.engine.drivers.driver import Driver


class CommittedTensor(Tensor):
    """A tensor whose ops run on the backend where it is, not on that of the process.

    So do those of their results. The word is JAX's, whose arrays are committed to a device where a
    user has put them on it. Inside a block of `use_backend` ops run on its backend nevertheless.
    """

    __slots__ = ()

    def __copy__(self) -> Tensor:
        return committed(super().__copy__())

    def __reduce__(self) -> tuple[Any, ...]:
        return _committed_again, super().__reduce__()[1]


def committed(x: Tensor) -> Tensor:
    """Return a tensor that is committed to the backend of ``x``, whose values it shares."""
    return made(CommittedTensor(x.spec, *x._array_and_driver()))


def committed_driver(inputs: Iterable[Any]) -> Driver | None:
    """Return the backend of the first committed tensor among inputs, or None without one."""
    for one in inputs:
        if isinstance(one, CommittedTensor):
            return one._driver
        if isinstance(one, list):
            found = committed_driver(one)
            if found is not None:
                return found
    return None


def commit(results: Tensor | tuple[Tensor, ...]) -> None:
    """Commit new tensors, which nobody has yet, to their backends."""
    for one in results if isinstance(results, tuple) else (results,):
        one.__class__ = CommittedTensor


def _committed_again(*facts: Any) -> Tensor:
    return committed(restored(*facts))
