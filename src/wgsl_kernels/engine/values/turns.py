"""Which elements a window's places read again: the window moved over the elements of its places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.values.windows import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator


def turns_of(axis: Axis) -> int:
    """Return after how many elements of the window it reads what a later place reads before."""
    return axis.stride // math.gcd(axis.stride, axis.dilation)


def turned(axis: Axis) -> Iterator[tuple[slice, slice, Axis]]:
    """Yield elements of the image, the window's elements that reach them, and how these move.

    The last is over the places, with those elements of the window from their end. Elements of the
    image that no element of the window reaches do not occur.
    """
    turns = turns_of(axis)
    apart = axis.dilation * turns // axis.stride
    for turn in range(min(turns, axis.window)):
        places, phase = divmod(turn * axis.dilation, axis.stride)
        skipped = -((phase - axis.before) // axis.stride)
        start = skipped * axis.stride + phase - axis.before
        elements = len(range(turn, axis.window, turns))
        yield (
            slice(start, None, axis.stride),
            slice(turn, None, turns),
            Axis(
                size=axis.out,
                out=len(range(start, axis.size, axis.stride)),
                window=elements,
                stride=1,
                dilation=apart,
                before=(elements - 1) * apart + places - skipped,
            ),
        )
