"""How a scan is spread over invocations: by which method, and into how large parts a row goes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.tuning.choice import Candidate

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage

Method = Literal["one_by_one", "columns", "fours", "tiles"]
"""``one_by_one``: an invocation takes a part of a row; ``columns``: of four neighbouring rows;
``fours``: four elements at a time; ``tiles``: a workgroup does."""
TILE_LANES = 128
TILE_BYTES = 8192
"""Workgroup memory for a tile: with the lanes' totals it stays below the least limit, 16 KiB."""
LARGEST_TOTAL = TILE_BYTES // TILE_LANES
"""Bytes of an accumulator above which tiles do not fit."""
LONGEST_RUN = 8
ALONE = 256
"""Elements of a row that an invocation takes at least, where there are as many."""
WHOLE = 1024
"""Elements of a row that an invocation takes where there are rows enough to keep a device busy."""
MOST_INNER = 64
"""Rows side by side from which on neighbours read whole lines of memory, a row each."""
TILE = 1024
"""Elements that a tile may have; parts are a multiple of it."""
MOST_PARTS = 1024
"""Parts of a row that go through tiles."""

GROUPS = {"one_by_one": 64, "columns": 64, "fours": 16, "tiles": 128}
"""Invocations of a workgroup, by method."""


@dataclass(frozen=True, slots=True)
class ScanLayout:
    """What the choice depends on.

    Attributes:
        inner: The distance between two of them.
        can_vec4: Whether vectors of four input and output elements exist.
    """

    rows: int
    length: int
    inner: int
    policy: Policy
    can_vec4: bool = True
    total_bytes: int = 4


@dataclass(frozen=True, slots=True)
class ScanSpread:
    """A method, the elements of a row that make a part (a multiple of 4), and the invocations."""

    variant: Method
    part_size: int
    parts: int
    invocations: int


def scan_spread(layout: ScanLayout) -> ScanSpread:
    """Return how to scan, from what was measured."""
    return _spread_by(_method(layout), layout)


def other_spreads(layout: ScanLayout, first: ScanSpread) -> tuple[ScanSpread, ...]:
    can_be_columns = layout.inner % 4 == 0 and layout.can_vec4
    methods: list[Method] = ["one_by_one"]
    methods += ["columns"] if can_be_columns else []
    methods += ["fours"] if _fits_vec4(layout) else []
    methods += ["tiles"] if _fits_tiles(layout) else []
    return tuple(_spread_by(one, layout) for one in methods if one != first.variant)


def scan_loop(
    method: Method, stage: Stage, layout: ScanLayout, *, exclusive: bool, backward: bool
) -> Instance:
    chosen: dict[str, bool | int] = {
        "TOTALS": stage == "partial",
        "JOINS": stage == "final",
        "EXCLUSIVE": exclusive and stage != "partial",
        "BACKWARD": backward,
    }
    if method == "tiles":
        run = LONGEST_RUN
        while run > 1 and run * TILE_LANES * layout.total_bytes > TILE_BYTES:
            run //= 2
        chosen["RUN"] = run
    else:
        chosen["GROUP"] = GROUPS[method]
        chosen["EVEN"] = method == "fours" and layout.length % 4 == 0
    path, constants = candidate(method)
    return Instance(path, (*constants, *chosen.items()))


def candidate(method: Method) -> Candidate:
    if method == "tiles":
        return Candidate("templates/scan_tiles.wesl")
    constants = ("COLUMNS", method == "columns"), ("VEC4", method == "fours")
    return Candidate("templates/scan.wesl", constants)


def _spread_by(method: Method, layout: ScanLayout) -> ScanSpread:
    size = _part_size(layout, method)
    parts = math.ceil(layout.length / size)
    lanes = TILE_LANES if method == "tiles" else 1
    return ScanSpread(method, size, parts, layout.rows // _together(method) * parts * lanes)


def _method(layout: ScanLayout) -> Method:
    inner, alone = layout.inner, layout.policy.scans_alone
    if alone and _fits_vec4(layout):
        return "fours"
    if not alone and inner < MOST_INNER and _fits_tiles(layout):
        return "tiles"
    return "columns" if inner % 4 == 0 and layout.can_vec4 else "one_by_one"


def _fits_vec4(layout: ScanLayout) -> bool:
    even = layout.rows == 1 or layout.length % 4 == 0
    return layout.inner == 1 and even and layout.can_vec4


def _fits_tiles(layout: ScanLayout) -> bool:
    return layout.length > 64 and 0 < layout.total_bytes <= LARGEST_TOTAL


def _part_size(layout: ScanLayout, method: Method) -> int:
    length = layout.length
    if method == "tiles":
        return TILE * math.ceil(length / (TILE * MOST_PARTS))
    invocations = layout.rows // _together(method)
    if length <= WHOLE and invocations >= layout.policy.scan_invocations:
        return -(-length // 4) * 4
    if method == "fours":
        return max(ALONE, _power_of_two(min(length // 256, 4 * math.isqrt(length))))
    return max(ALONE, _power_of_two(math.isqrt(length)))


def _together(method: Method) -> int:
    """Return how many rows an invocation takes."""
    return 4 if method == "columns" else 1


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
