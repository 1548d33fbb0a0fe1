"""Generated text: indices into coordinates, and coordinates into places in an array."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


FEW = 1 << 20
"""Up to so many indices ``wk_quotient`` divides them."""


def unravel(
    index: str, sizes: Sequence[str], prefix: str, quotient: str = "{} / {}"
) -> tuple[list[str], list[str]]:
    """Return statements that split ``index`` row-major, and the names of the coordinates.

    Args:
        index: The flat index, an expression without side effects.
        sizes: The axes' sizes, outermost first.
        prefix: What the coordinates' names begin with.
        quotient: How one index is divided by another.
    """
    names = [f"{prefix}{axis}" for axis in range(len(sizes))]
    lines: list[str] = []
    rest = index
    for axis in range(len(sizes) - 1, 0, -1):
        above = f"{prefix}q{axis}"
        lines.append(f"let {above} = {quotient.format(rest, sizes[axis])};")
        lines.append(f"let {names[axis]} = {rest} - {above} * {sizes[axis]};")
        rest = above
    if names:
        lines.append(f"let {names[0]} = {rest};")
    return lines, names


def dot(coordinates: Sequence[str], strides: Sequence[str], offset: str = "") -> str:
    """Return the expression of an offset plus coordinates times strides."""
    terms = [offset] if offset else []
    terms += [f"{c} * {s}" for c, s in zip(coordinates, strides, strict=True)]
    return " + ".join(terms) or "0u"
