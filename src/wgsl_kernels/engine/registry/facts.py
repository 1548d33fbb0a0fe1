"""Facts of the library's own kernels beyond shapes and dtypes, said of their signatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from wgsl_kernels.engine.values.dtypes import DType

F = TypeVar("F", bound=Callable[..., Any])

_EXACT = "_exact"
_TAKES_BYTES = "_takes_bytes"


@dataclass(frozen=True, slots=True)
class Exact:
    """For what the kernels on ``cpu`` and ``webgpu`` give the same bits; see `exact_for`.

    Attributes:
        dtypes: What its inputs and outputs may be.
        reads: Whether the values of its inputs matter, not their shapes alone. Where they do not,
            the host makes one element at the most: several are better fused into what reads them.
    """

    dtypes: frozenset[DType]
    reads: bool = True


def exact(*dtypes: DType, reads: bool = True) -> Callable[[F], F]:
    """Say by a signature for which dtypes its kernels are `Exact`."""

    def mark(rule: F) -> F:
        setattr(rule, _EXACT, Exact(frozenset(dtypes), reads))
        return rule

    return mark


def takes_bytes(rule: F) -> F:
    """Say by a signature that its kernels take and give int8 and uint8 as they are stored."""
    setattr(rule, _TAKES_BYTES, True)
    return rule


def exact_of(rule: Callable[..., Any]) -> Exact | None:
    """Return what `exact` said of a rule, or None."""
    found: Exact | None = getattr(rule, _EXACT, None)
    return found


def is_byte_taker(rule: Callable[..., Any]) -> bool:
    """Say whether `takes_bytes` was said of a rule."""
    return getattr(rule, _TAKES_BYTES, False)
