"""How products (``shaders/templates/product.wesl``) are tiled and split, and which tiles suit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.backends.webgpu.tuning.choice import Candidate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy

ITERATIONS = 60_000
"""Loop iterations of one invocation; some drivers stop silently after 65,535."""

LONGEST_UNBROKEN = ITERATIONS - 1
"""Terms of a sum that one invocation can add whatever its tiles are."""

SHORTEST_SUM = 256
"""Terms that a part sums at least, where it is split for that reason."""

GROUP = 32
"""Invocations of a workgroup that sums in registers."""

LANES_GROUP = 8
"""Those of one whose lanes share what they load, which is one subgroup."""

STAGED_ROWS, STAGED_ACROSS, STAGED_K = 8, 8, 16
"""Rows of an invocation, invocations along a row, and channels at a time, in workgroup memory."""

LANES_GAIN = 2.5
"""How much sooner than others a workgroup whose lanes share has summed a tile of a size."""

FEW = 8
"""Rows or columns up to which most of a staged tile would lie outside the result."""

REGISTERS = "templates/product.wesl"
STAGED = "templates/product_staged.wesl"


@dataclass(frozen=True, slots=True)
class Vec4Axes:
    """Along which axis of a product's operands four elements can be read as a vec4.

    Attributes:
        a: The axis of the left operand, empty where there is none.
        b: That of the right one.
        y: Whether the results can be written as vec4s along n, where b can be read so.
    """

    a: Literal["", "k", "m"] = ""
    b: Literal["", "k", "n"] = ""
    y: bool = True

    @property
    def name(self) -> str:
        """What it is called in the classes of shapes that choices hold for."""
        return (f"{self.a}{self.b}" or "any") + " to scalars" * (not self.y)

    def configuration(self) -> dict[str, bool]:
        """Return the templates' constants that follow from it."""
        found = {"A_ALONG_K": self.a == "k", "A_ALONG_M": self.a == "m"}
        found |= {"B_ALONG_K": self.b == "k", "B_ALONG_N": self.b == "n"}
        return {**found, "Y_ALONG_N": self.y and bool(self.b)}


STRIDED = Vec4Axes()
VEC4_KN = Vec4Axes("k", "n")
VEC4_KK = Vec4Axes("k", "k")
VEC4_MN = Vec4Axes("m", "n")
VEC4_N = Vec4Axes("", "n")
VEC4_N_TO_SCALARS = Vec4Axes("", "n", y=False)


@dataclass(frozen=True, slots=True)
class Tiling:
    """One way to sum a product: a template and the size of its tiles.

    Attributes:
        vec4s: Groups of four columns that it sums.
        down: In workgroup memory, the invocations of a workgroup from top to bottom; else 0.
        shares: Whether the lanes of a CPU share what they load.
        busy: Workgroups that keep the device busy, where the sum is split until there are so many;
            0 where it is split only because it is too long.
    """

    name: str
    layout: Vec4Axes
    rows: int
    vec4s: int = 2
    down: int = 0
    shares: bool = False
    busy: int = 0

    @property
    def depth(self) -> int:
        """Channels that an invocation sums at a time."""
        if self.down:
            return STAGED_K
        is_vec4 = self.layout.a == "k" or (self.shares and self.layout.a == "m")
        return 4 if is_vec4 else 1

    @property
    def cols(self) -> int:
        return 4 * self.vec4s

    def iterations_of(self, channels: int) -> int:
        """Return the loop iterations of one tap of ``channels``."""
        each = 9 if self.down else 1
        return math.ceil(channels / self.depth) * each + 1

    def across(self, rows: int, cols: int) -> int:
        """Return the invocations of a workgroup along a row: a power of two."""
        if self.shares:
            return LANES_GROUP
        wide, tall = (
            1 << size_class(math.ceil(size / tile))
            for size, tile in ((cols, self.cols), (rows, self.rows))
        )
        most = max(8, GROUP // tall)
        return min(wide, most, GROUP)

    def tile(self, rows: int, cols: int) -> tuple[int, int]:
        """Return the rows and columns that a workgroup sums."""
        if self.down:
            return self.down * self.rows, STAGED_ACROSS * self.cols
        across = self.across(rows, cols)
        group = LANES_GROUP if self.shares else GROUP
        return group // across * self.rows, across * self.cols

    @property
    def template(self) -> str:
        return STAGED if self.down else REGISTERS

    def tuned(self) -> dict[str, int | bool]:
        found = {"TILE_M": self.rows, "TILE_N": self.vec4s}
        if self.down:
            return {**found, "GROUP_M": self.down}
        return {**found, "SHARE": self.shares, "DOWNWARDS": self.shares}

    def configuration(self) -> dict[str, int | bool]:
        """Return all of the template's constants."""
        found = {**self.layout.configuration(), **self.tuned()}
        if self.down:
            return found
        return {**found, "TILE_K": self.depth, "GROUP": LANES_GROUP if self.shares else GROUP}


@dataclass(frozen=True, slots=True)
class Product:
    """A product's sizes, and how its sum is split.

    Attributes:
        batches: Products of the same sizes.
        taps: The sum's outer length.
        channels: Its inner length.
        tap_block: Taps that one part sums.
        channel_block: Channels that one part sums of each tap.
        unbroken: Whether one invocation must sum all, since parts cannot be added.
    """

    batches: int
    rows: int
    cols: int
    taps: int
    channels: int
    tap_block: int = 0
    channel_block: int = 0
    unbroken: bool = False

    @property
    def terms(self) -> int:
        """How many products one result sums."""
        return self.taps * self.channels

    @property
    def parts(self) -> int:
        """How many sums each result is made of."""
        return math.ceil(self.taps / self.tap_block) * math.ceil(self.channels / self.channel_block)

    @property
    def work(self) -> int:
        return self.batches * self.rows * self.cols * self.terms

    def groups(self, tiling: Tiling) -> int:
        """Return the workgroups that cover every result once."""
        rows, cols = tiling.tile(self.rows, self.cols)
        return self.batches * math.ceil(self.rows / rows) * math.ceil(self.cols / cols)

    def split(self, tiling: Tiling) -> Product:
        """Return the product with its sum split so that no invocation loops too long.

        One that is unbroken is left whole, and must not be longer than ``LONGEST_UNBROKEN``.
        """
        if self.unbroken:
            return replace(self, tap_block=self.taps, channel_block=self.channels)
        wanted = math.ceil(max(tiling.busy, 1) / self.groups(tiling))
        longest = max(math.ceil(self.terms / wanted), SHORTEST_SUM)
        times = math.ceil(min(longest, ITERATIONS // 2) / tiling.depth)
        channel_block = min(self.channels, times * tiling.depth)
        most = ITERATIONS // tiling.iterations_of(channel_block)
        tap_block = max(min(longest // channel_block, most, self.taps), 1)
        return replace(self, tap_block=tap_block, channel_block=channel_block)

    def fields(self) -> dict[str, int]:
        names = ("batches", "rows", "cols", "taps", "channels", "tap_block", "channel_block")
        return {name: getattr(self, name) for name in names}


STAGED_DOWN = {"staged_64": 8, "staged_128": 16}
"""Invocations of a workgroup from top to bottom, by name; the number is its rows."""

LANES = {
    "lanes_8": (8, 1),
    "lanes_16": (16, 1),
    "lanes_32": (32, 1),
    "lanes_64": (64, 1),
    "lanes_32x64": (32, 2),
}
"""Rows, and vec4s of columns, of lanes that share what they load; the number is a workgroup's rows,
of 32 columns unless the name has another."""

CHOSEN_LANES = ("lanes_8", "lanes_16", "lanes_32")
"""Those that are taken without measuring: the larger ones win on some drivers only."""

VARIANTS = ("rows_1", "rows_4", "rows_8", *STAGED_DOWN, *LANES, "split")


@dataclass(frozen=True, slots=True)
class ProductTiling:
    """One tiling of one product, ready to be dispatched.

    Attributes:
        candidate: The template, those of its constants that are chosen, and whether the sum is
            split until a device is busy.
        fields: What it wants to know of sizes and parts.
        iterations: How often an invocation loops.
    """

    candidate: Candidate
    configuration: Mapping[str, int | bool]
    fields: Mapping[str, int]
    groups: int
    parts: int
    iterations: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """How one product can be summed.

    Attributes:
        by_name: Each candidate, by the name that the tuner has for it.
        static: The one that is taken without measuring.
        shape_class: What a choice among them holds for, beside the dtype.
    """

    by_name: Mapping[str, ProductTiling]
    static: str
    shape_class: tuple[object, ...]


def candidates_for(product: Product, layout: Vec4Axes, policy: Policy) -> Candidates:
    """Return the tilings that suit a product's sizes, the operands' layout and the adapter."""
    heights = (1,) if product.rows == 1 else (4, 8) if product.rows > 4 else (4,)
    found = [Tiling(f"rows_{height}", layout, height) for height in heights]
    if policy.shares_lanes and product.rows > 4:
        found += _sharing(product, layout)
    if product.rows > FEW and product.cols > FEW:  # last: it compiles longest
        staged = layout if layout == VEC4_KN else STRIDED
        rows = STAGED_ROWS
        found += [Tiling(name, staged, rows, down=down) for name, down in STAGED_DOWN.items()]
    best = _largest(product, found, policy)
    blocks = _split_of(product, found, best, policy)
    if best.shares and blocks is None and policy.multiplies_in_short(product.work):
        best = next(one for one in found if one.shares)
    by_name = {one.name: _candidate(product.split(one), one) for one in found}
    if blocks is not None:
        by_name["split"] = _candidate(blocks, best, is_split=True)
    sizes = (product.batches, product.rows, product.cols, product.taps, product.channels)
    name = f"{layout.name} unbroken" if product.unbroken else layout.name
    shape_class = (name, *map(size_class, sizes))
    static = best.name if blocks is None else "split"
    return Candidates(by_name, static, shape_class)


def _split_of(
    product: Product, found: list[Tiling], best: Tiling, policy: Policy
) -> Product | None:
    """Return the product with its sum split until a device is busy; None where it is anyway.

    Where operands are read as vec4 that follows from the ``best`` tiles. Else it follows from those
    whose lanes do not share: how a sum is split decides its bits, and these were there first.
    """
    if best.shares and not (best.layout.a and best.layout.b):
        plain = [one for one in found if not one.shares]
        best = _largest(product, plain, policy)
    split = product.split(replace(best, busy=policy.busy_groups))
    return split if split.parts > product.split(best).parts else None


def _sharing(product: Product, layout: Vec4Axes) -> list[Tiling]:
    """Return the tilings of lanes that share, but for those of which half would lie outside."""
    if layout.a == "m" and product.channels % 4:
        layout = Vec4Axes("", layout.b)  # eight lanes load eight rows of four channels
    return [
        Tiling(name, layout, rows, vec4s, shares=True)
        for name, (rows, vec4s) in LANES.items()
        if rows < 2 * product.rows and (vec4s == 1 or 2 * product.cols > 64)
    ]


def _candidate(split: Product, tiling: Tiling, *, is_split: bool = False) -> ProductTiling:
    across = 0 if tiling.down else tiling.across(split.rows, split.cols)
    return ProductTiling(
        Candidate(tiling.template, (*tiling.tuned().items(), ("SPLIT", is_split))),
        tiling.configuration(),
        {**split.fields(), "across": across},
        split.groups(tiling) * split.parts,
        split.parts,
        split.tap_block * tiling.iterations_of(split.channel_block),
    )


def _largest(product: Product, found: list[Tiling], policy: Policy) -> Tiling:
    """Return the largest tiles that leave a device busy, of the kind that suits the adapter.

    On a GPU those in workgroup memory; on a CPU those whose lanes share, unless so much of their
    tiles lies outside the result that they gain nothing.
    """
    plain = [one for one in found if not one.down and not one.shares]
    sharing = [one for one in found if one.name in CHOSEN_LANES]
    fitting = [one for one in found if one.down and policy.stages_products] or plain
    if sharing and _area(product, sharing[0]) <= LANES_GAIN * _area(product, plain[0]):
        fitting = sharing
    fits = [one for one in fitting if product.groups(one) >= policy.busy_groups]
    return fits[-1] if fits else fitting[0]


def _area(product: Product, tiling: Tiling) -> int:
    """Return how many results the tiles of one product have, with those outside."""
    rows, cols = tiling.tile(product.rows, product.cols)
    return product.groups(tiling) * rows * cols
