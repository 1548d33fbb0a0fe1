"""Which elements a window's places read again: the window moved over the elements of its places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.engine.values.windows import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator


def phase_count(axis: Axis) -> int:
    """Return after how many elements of the window it reads what a later place reads before."""
    return axis.stride // math.gcd(axis.stride, axis.dilation)


def phases_of(axis: Axis) -> Iterator[tuple[slice, slice, Axis]]:
    """Yield elements of the image, the window's elements that reach them, and how these move.

    The last is over the places, with those elements of the window from their end. Elements of the
    image that no element of the window reaches do not occur.
    """
    count = phase_count(axis)
    step = axis.dilation * count // axis.stride
    for number in range(min(count, axis.window)):
        places, phase = divmod(number * axis.dilation, axis.stride)
        skipped = -((phase - axis.before) // axis.stride)
        start = skipped * axis.stride + phase - axis.before
        elements = len(range(number, axis.window, count))
        yield (
            slice(start, None, axis.stride),
            slice(number, None, count),
            Axis(
                size=axis.out,
                out=len(range(start, axis.size, axis.stride)),
                window=elements,
                stride=1,
                dilation=step,
                before=(elements - 1) * step + places - skipped,
            ),
        )
