"""The slope of a function at a point, by central differences that are extrapolated.

Of steps h and h / 2 the error of h^2 is eliminated. The same values tell kinks: there the slopes to
the left and to the right differ by what does not shrink with the step.

Source: Richardson, The Approximate Arithmetical Solution by Finite Differences, 1911.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = (1e-4, 6e-6, 4e-7)
"""Steps that are tried, times max(1, |x|): smaller ones where a kink is near."""
CLOSE = 1e-5
"""What the differences of two steps may be apart, relative to the slopes on both sides."""


def slope_at(
    f: Callable[[float], float], middle: float, size: float, eps: float | None = None
) -> float | None:
    """Return the slope of ``f`` at 0, None at a kink.

    Args:
        f: A function of the step.
        middle: Its value at 0.
        size: The size of what is moved.
        eps: The first step, instead of 1e-4 times max(1, ``size``).
    """
    steps = (eps,) if eps is not None else tuple(one * max(1.0, size) for one in STEPS)
    found, is_kink = 0.0, False
    for step in steps:
        wide, narrow = _sides(f, middle, step), _sides(f, middle, step / 2)
        coarse, fine = sum(wide) / 2, sum(narrow) / 2
        found = (4 * fine - coarse) / 3
        if not np.isfinite(found):
            return float(found)
        scale = max(map(abs, (*wide, *narrow)))
        noise = 4e-16 * max(abs(middle), 1.0) / step * 8
        is_kink = _jump(narrow) > max(0.75 * _jump(wide), CLOSE * scale + noise)
        if abs(coarse - fine) <= CLOSE * scale + noise and not is_kink:
            return found
    return found if eps is not None and not is_kink else None


def _sides(f: Callable[[float], float], middle: float, step: float) -> tuple[float, float]:
    """Return the slopes to the left and to the right."""
    return (middle - f(-step)) / step, (f(step) - middle) / step


def _jump(sides: tuple[float, float]) -> float:
    return abs(sides[1] - sides[0])
