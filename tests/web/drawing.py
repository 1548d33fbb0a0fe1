"""Where the page of the digits is touched so that what is drawn has an image's counts."""

from __future__ import annotations

import numpy as np

SIDE, BLOCK = 32, 4
"""Cells along a side of the page's canvas, and of the blocks that it counts."""


def touches(counts: np.ndarray) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Return the cells to touch, and the counts that are drawn then.

    Each touch fills the four by four cells from one before it to two behind it. The next is the one
    that brings the counts nearest to ``counts``, by squares, until none does.

    Args:
        counts: [8, 8], from 0 to 16: how many cells of each block are set.

    Returns:
        Columns and rows, and [8, 8] counts.
    """
    free = np.ones((SIDE, SIDE), int)
    found: list[tuple[int, int]] = []
    drawn = np.zeros((SIDE // BLOCK, SIDE // BLOCK), int)
    while True:
        # [y, block row, x, block column]: cells of each block that a touch at x, y sets
        sets = (_FILLS @ free @ _FILLS.T).reshape(SIDE, len(drawn), SIDE, len(drawn))
        off = drawn - counts
        gains = np.einsum("yrxc,yrxc->yx", sets, sets + 2 * off[:, np.newaxis])
        y, x = map(int, np.unravel_index(np.argmin(gains), gains.shape))
        if gains[y, x] >= 0:
            return found, drawn
        found.append((x, y))
        drawn = drawn + sets[y, :, x]
        free[max(y - 1, 0) : y + 3, max(x - 1, 0) : x + 3] = 0


def _fills() -> np.ndarray:
    """Return [touched * blocks, filled]: cells along one axis that a touch fills in each block."""
    touched, block, filled = np.ogrid[:SIDE, : SIDE // BLOCK, :SIDE]
    is_filled = (filled >= touched - 1) & (filled <= touched + 2) & (filled // BLOCK == block)
    return np.asarray(is_filled, int).reshape(-1, SIDE)


_FILLS = _fills()
