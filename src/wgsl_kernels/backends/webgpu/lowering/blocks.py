"""Copies of blocks into rows, so that nothing is bound that is above the binding limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.programs.arguments import ALIGNMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVEN = 256
"""Rows or elements that a part has a multiple of, where there are so many."""


@dataclass(frozen=True, slots=True)
class BlockCopy:
    """What one dispatch copies of x, [rows, block], into y, [rows, row].

    Attributes:
        rows: How many rows.
        length: How many elements of each.
        x_first: The first element of x.
        y_first_byte: Where the binding of y begins.
        y_bytes: How many bytes it has.
        start: The first element of y, counted from there.
    """

    rows: int
    length: int
    x_first: int
    y_first_byte: int
    y_bytes: int
    start: int


def blocks_of(
    rows: int, block: int, row: int, start: int, *, itemsize: int, largest: int
) -> Iterator[BlockCopy]:
    """Yield what to copy one after the other.

    Args:
        rows: How many rows there are.
        block: The elements of x in each.
        row: Those of y.
        start: Where in a row of y they begin.
        itemsize: Bytes of an element.
        largest: The bytes that one binding may have.
    """
    yield from _halves((rows, block, 0, start), (block, row), itemsize, largest)


def _halves(
    part: tuple[int, int, int, int], steps: tuple[int, int], itemsize: int, largest: int
) -> Iterator[BlockCopy]:
    rows, count, x_first, y_first = part
    first_byte = y_first * itemsize // ALIGNMENT * ALIGNMENT
    end = (y_first + (rows - 1) * steps[1] + count) * itemsize
    y_bytes = end - first_byte
    x_bytes = ((rows - 1) * steps[0] + count) * itemsize + ALIGNMENT
    if max(x_bytes, y_bytes + 16) <= largest or rows == count == 1:
        yield BlockCopy(rows, count, x_first, first_byte, y_bytes, y_first - first_byte // itemsize)
        return
    half = _half(rows if rows > 1 else count)
    if rows > 1:
        one = half, count, x_first, y_first
        two = rows - half, count, x_first + half * steps[0], y_first + half * steps[1]
    else:
        one = 1, half, x_first, y_first
        two = 1, count - half, x_first + half, y_first + half
    for each in (one, two):
        yield from _halves(each, steps, itemsize, largest)


def _half(length: int) -> int:
    half = length // 2
    return half // _EVEN * _EVEN or half
