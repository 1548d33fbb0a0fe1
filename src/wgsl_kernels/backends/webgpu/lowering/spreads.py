"""How a reduction is spread over invocations: the variants there are, and which one is taken.

A choice is a plain value: the tuner times those of `spreads` where the work is worth it, and the
first is the one taken without measuring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.tuning.choice import Candidate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage

CHUNK = 16384
"""The most elements that one workgroup or one invocation reduces. Longer rows take two stages."""
Variant = Literal["rows", "columns", "eights", "lanes", "subgroups"]
GROUP = 64
EIGHTS_GROUP = 16
TEAM = 8  # lanes of a row
ROWS: Mapping[Variant, int] = {"rows": 1, "columns": 4, "eights": 8, "lanes": 1, "subgroups": 1}
"""Neighbouring rows of an invocation, by variant."""
LANES: dict[Variant, int] = {"lanes": GROUP, "subgroups": TEAM}
"""Invocations that go through a row together, by variant."""
EIGHTS_PART = 2048
VEC8_LEAST = 256
EIGHTS_INVOCATIONS = 256
PAGE = 1024  # elements
ROW_PART = 2048  # elements below which another dispatch, about 50 us, costs more than it saves
WORTH_PARTS = 1 << 16  # elements, likewise

GPU_GROUPS = 2048  # workgroups of 64 that fill a large GPU
GPU_PART = 4096  # elements of a row for a workgroup
GPU_INVOCATIONS = 1 << 16
# A team waits at no barrier, but each of its lanes goes through an eighth of the row: so for rows
# that leave a workgroup's lanes a few elements each, and so many that teams fill the device. On
# lavapipe, 1024 x 1024 and 2048 x 2048, teams took 1.1 to 1.5 times as long as one lane a row.
TEAM_COUNT = 1024


@dataclass(frozen=True, slots=True)
class ReductionSizes:
    """What the choice depends on.

    Attributes:
        count: How many elements are reduced to each.
        inner: How many neighbouring results come from neighbouring elements; 1 where a row's own
            elements are neighbours, or nothing is.
        step: Elements from one element of a row to the next.
        has_subgroups: Whether lanes of a subgroup can exchange what they have combined.
    """

    rows: int
    count: int
    inner: int
    step: int
    policy: Policy
    maps: bool = False
    has_subgroups: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """A variant, and into how many parts each row goes."""

    variant: Variant
    parts: int


def spreads(layout: ReductionSizes) -> tuple[Spread, ...]:
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
    if _fits_vec8(layout) and first != "eights":
        order.append("eights")
    if layout.has_subgroups and first != "subgroups":
        order.append("subgroups")
    return tuple(Spread(one, max(parts[one], least_parts(layout.count))) for one in order)


def reduce_loop(
    variant: Variant,
    stage: Stage,
    *,
    maps: bool,
    packed: bool = False,
    vectors: bool = True,
    lines: bool = False,
    even: bool = False,
    unbroken: bool = False,
    short: bool = False,
) -> Instance:
    """Return the template of a stage with its configuration.

    Parts may lie along x, behind the rows (``packed``); there may be vectors of four elements
    (``vectors``), several lines of neighbouring rows (``lines``); the elements of a row may all be
    as far apart (``even``), or be loaded by fours, none left over (``unbroken``). For ``short`` see
    `Policy.reduces_in_short`.
    """
    writes = maps and stage in ("whole", "apply")
    is_final = stage == "final"
    chosen: dict[str, bool | int] = {"PARTS": stage in ("partial", "apply"), "PACKED": packed}
    chosen["VECTORS"] = vectors and not is_final
    chosen |= {"JOINS": stage == "apply"} if writes else {}
    chosen |= {} if writes else {"TOTALS": stage == "partial", "FINAL": is_final}
    path, constants = candidate(variant, maps=writes)
    if variant in LANES:
        chosen |= {"TEAM": TEAM} if variant == "subgroups" else {}
    else:
        chosen |= {"SHORT": short, "FOURS": unbroken and not is_final}
        chosen |= {"LINES": lines, "EVEN": even} if ROWS[variant] > 1 else {}
    return Instance(path, (*constants, *chosen.items()))


def candidate(variant: Variant, *, maps: bool) -> Candidate:
    name = "normalize" if maps else "reduce"
    if variant in LANES:
        return Candidate(f"templates/{name}_lanes.wesl", (("SUBGROUPS", variant == "subgroups"),))
    return Candidate(f"templates/{name}.wesl", (("ROWS", ROWS[variant]),))


def least_parts(count: int) -> int:
    """Return into how many parts a row of ``count`` elements must go."""
    return max(1, -(-count // CHUNK))


def _default(layout: ReductionSizes) -> Variant:
    if layout.inner >= 4:
        by_vec8 = layout.policy.reduces_columns_by_vec8 and _fits_vec8(layout)
        return "eights" if by_vec8 else "columns"
    if layout.policy.reduces_row_alone(layout.count):
        return "rows"
    are_many = layout.rows >= GPU_INVOCATIONS // TEAM
    if layout.has_subgroups and are_many and layout.count <= TEAM_COUNT:
        return "subgroups"
    return "lanes"


def _row_parts(layout: ReductionSizes) -> int:
    if layout.rows * layout.count < WORTH_PARTS:
        return 1
    wanted = layout.policy.reduce_invocations(maps=layout.maps)
    return max(1, min(layout.count // ROW_PART, wanted // layout.rows))


def _subgroup_parts(layout: ReductionSizes) -> int:
    return max(1, min(layout.count // GPU_PART, GPU_INVOCATIONS // TEAM // layout.rows))


def _lane_parts(layout: ReductionSizes) -> int:
    return max(1, min(layout.count // GPU_PART, GPU_GROUPS // layout.rows))


def _column_parts(layout: ReductionSizes) -> int:
    if layout.rows * layout.count < WORTH_PARTS:
        return 1
    wanted = layout.policy.reduce_invocations(maps=layout.maps) * 4 // layout.rows
    return max(1, min(layout.count // layout.policy.column_part, wanted))


def _eight_parts(layout: ReductionSizes) -> int:
    strip = layout.policy.column_strip(layout.rows * layout.count)
    if strip is not None:
        return layout.count // strip
    wanted = max(EIGHTS_INVOCATIONS * 8 // layout.rows, layout.count // EIGHTS_PART)
    return max(1, min(layout.count // VEC8_LEAST, wanted))


def _fits_vec8(layout: ReductionSizes) -> bool:
    """Say whether rows go in eights: their elements are far apart, and maps have no such loop."""
    return layout.inner % 8 == 0 and layout.step >= PAGE and not layout.maps
