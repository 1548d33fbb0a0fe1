"""Which kernels can do their work in several ways: names declared beside the kernels."""

from __future__ import annotations

SPREADS = ("rows", "lanes", "columns")
"""How every reduction can be spread over invocations; some can in more ways on some adapters."""

_declared: dict[str, tuple[str, ...]] = {}


def declare(kernel: str, names: tuple[str, ...]) -> None:
    """Say that ``kernel`` has variants of these names.

    Each must give results within the same bound: tests run the kernel's samples under every one.
    """
    _declared[kernel] = names


def declared() -> dict[str, tuple[str, ...]]:
    return dict(_declared)


def size_class(size: int) -> int:
    """Return the power of two that a size reaches: 0 for 1, 10 for 513 to 1024."""
    return (size - 1).bit_length() if size > 0 else 0
