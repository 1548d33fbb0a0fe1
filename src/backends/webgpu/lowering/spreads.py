"""How a reduction is spread over invocations: the variants there are, and which one is taken.

A choice is a plain value: the tuner times those of `spreads` where the work is worth it, and the
first is the one taken without measuring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.reductions import CHUNK

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.row_loads import Variant

GROUP = 64
EIGHTS_GROUP = 16
TEAM = 8  # lanes of a row, as in families/by_team.wgsl
SHORT = 32
"""Elements up to which a row is left to one invocation, on a GPU too."""

# The elements of a column of a wide matrix lie pages apart, so that much should be loaded of a page
# at a time, and no more pages touched in turn than a CPU keeps the addresses of, where these are
# small. Measured on lavapipe with 2 cores, 2048 x 2048 in float32, least of 40 runs: with Mesa 25 a
# column sum by eights in 1 part takes 1.1 ms, in 64 parts 1.4, by fours 1.2; with Mesa 22, by
# eights in parts of 2048, 64, 32 and 16 rows 8.4, 7.9, 4.2 and 3.7 ms, by fours the same.
SOFTWARE_EIGHTS_PART = 2048
SMALL_PAGES_PART = 32
MANY_PAGES = 1 << 20  # elements: of half as many one part took 0.33 ms, parts of 32 rows 0.42
SOFTWARE_EIGHTS = 256
PAGE = 1024  # elements
SOFTWARE_COLUMN_PART = 256
SOFTWARE_INVOCATIONS = 512  # a few vectors of 8 for each of many cores
SOFTWARE_MAPPED = 128  # of rows that are written too
SOFTWARE_PART = 2048  # elements below which another dispatch, about 50 us, costs more than it saves
WORTH_PARTS = 1 << 16  # elements, likewise

GPU_GROUPS = 2048  # workgroups of 64 that fill a large GPU
GPU_PART = 4096  # elements of a row for a workgroup
GPU_INVOCATIONS = 1 << 16
GPU_COLUMN_PART = 32
# A team waits at no barrier, but each of its lanes goes through an eighth of the row: so for rows
# that leave a workgroup's lanes a few elements each, and so many that teams fill the device. On
# lavapipe, 1024 x 1024 and 2048 x 2048, teams took 1.1 to 1.5 times as long as one lane a row.
TEAM_COUNT = 1024


@dataclass(frozen=True, slots=True)
class Layout:
    """What the choice depends on.

    Attributes:
        rows: How many results there are.
        count: How many elements are reduced to each.
        inner: How many neighbouring results come from neighbouring elements; 1 where a row's own
            elements are neighbours, or nothing is.
        step: Elements from one element of a row to the next.
        is_software: Whether the adapter is the CPU, where a workgroup's barriers cost more than
            all else: 2048 rows of 2048 by a workgroup each take 20 times as long as by an
            invocation each.
        maps: Whether the elements are mapped and written, too.
        has_subgroups: Whether lanes of a subgroup can exchange what they have combined.
        has_small_pages: Whether memory lies in pages of 4 KiB.
    """

    rows: int
    count: int
    inner: int
    step: int
    is_software: bool
    maps: bool = False
    has_subgroups: bool = False
    has_small_pages: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """A variant, and into how many parts each row goes."""

    variant: Variant
    parts: int


def spreads(layout: Layout) -> tuple[Spread, ...]:
    """Return the variants that can serve ``layout``; the first is taken where none is measured."""
    parts = {
        "rows": _row_parts(layout),
        "lanes": _lane_parts(layout),
        "columns": _column_parts(layout),
        "eights": _eight_parts(layout),
        "subgroups": _subgroup_parts(layout),
    }
    first = _default(layout)
    order: list[Variant] = [first, *(one for one in ("rows", "lanes") if one != first)]
    if layout.inner >= 4 and first != "columns":
        order.append("columns")
    if _fits_eights(layout) and first != "eights":
        order.append("eights")
    if layout.has_subgroups and first != "subgroups":
        order.append("subgroups")
    return tuple(Spread(one, max(parts[one], least_parts(layout.count))) for one in order)


def least_parts(count: int) -> int:
    """Return into how many parts a row of ``count`` elements must go."""
    return max(1, -(-count // CHUNK))


def _default(layout: Layout) -> Variant:
    if layout.inner >= 4:
        return "eights" if layout.is_software and _fits_eights(layout) else "columns"
    if layout.is_software or layout.count <= SHORT:
        return "rows"
    are_many = layout.rows >= GPU_INVOCATIONS // TEAM
    if layout.has_subgroups and are_many and layout.count <= TEAM_COUNT:
        return "subgroups"
    return "lanes"


def _row_parts(layout: Layout) -> int:
    if layout.rows * layout.count < WORTH_PARTS:
        return 1
    wanted = GPU_INVOCATIONS
    if layout.is_software:
        wanted = SOFTWARE_MAPPED if layout.maps else SOFTWARE_INVOCATIONS  # each part joins all
    return max(1, min(layout.count // SOFTWARE_PART, wanted // layout.rows))


def _subgroup_parts(layout: Layout) -> int:
    return max(1, min(layout.count // GPU_PART, GPU_INVOCATIONS // TEAM // layout.rows))


def _lane_parts(layout: Layout) -> int:
    return max(1, min(layout.count // GPU_PART, GPU_GROUPS // layout.rows))


def _column_parts(layout: Layout) -> int:
    if layout.rows * layout.count < WORTH_PARTS:
        return 1
    if not layout.is_software:
        wanted = GPU_INVOCATIONS * 4 // layout.rows
        return max(1, min(layout.count // GPU_COLUMN_PART, wanted))
    wanted = (SOFTWARE_MAPPED if layout.maps else SOFTWARE_INVOCATIONS) * 4 // layout.rows
    return max(1, min(layout.count // SOFTWARE_COLUMN_PART, wanted))


def _eight_parts(layout: Layout) -> int:
    if layout.has_small_pages and layout.rows * layout.count >= MANY_PAGES:
        return layout.count // SMALL_PAGES_PART
    wanted = max(SOFTWARE_EIGHTS * 8 // layout.rows, layout.count // SOFTWARE_EIGHTS_PART)
    return max(1, min(layout.count // SOFTWARE_COLUMN_PART, wanted))


def _fits_eights(layout: Layout) -> bool:
    """Say whether rows go in eights: their elements are far apart, and maps have no such loop."""
    return layout.inner % 8 == 0 and layout.step >= PAGE and not layout.maps
