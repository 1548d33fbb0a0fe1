"""How a WGSL product (``shaders/include/product.wgsl``) is cut: tiles, parts, and what suits it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.variants import size_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.adapter.policy import Policy

ITERATIONS = 60_000
"""Loop iterations of one invocation; some drivers stop silently after 65,535."""

SHORTEST_SUM = 256
"""Terms that a part sums at least, where it is split for that reason."""

GROUP = 32
"""Invocations of a workgroup that sums in registers."""

TILE_COLS = 8
"""Columns that an invocation sums."""

LANES_COLS = 32
"""Columns that a workgroup sums whose lanes share what they load."""

LANES_GAIN = 2.5
"""How much sooner than others such a workgroup has summed a tile of a size."""

FEW = 8
"""Rows or columns up to which most of a staged tile would lie outside the result."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """One way to sum a product: a shader and the size of its tiles.

    Attributes:
        name: What the tuner calls it.
        suffix: What the shader's name ends with.
        height: Rows that an invocation sums.
        down: Of a staged one, the invocations of a workgroup from top to bottom; else 0.
        shares: Whether the lanes of a CPU share what they load.
        busy: Workgroups that keep the device busy, where the sum is cut until there are so many; 0
            where it is cut only because it is too long.
    """

    name: str
    suffix: str
    height: int
    down: int = 0
    shares: bool = False
    busy: int = 0

    @property
    def depth(self) -> int:
        """Channels that an invocation sums at a time."""
        if self.down:
            return 16
        return 4 if self.shares or self.suffix in ("_vec4", "_vec4_terms") else 1

    def iterations_of(self, channels: int) -> int:
        """Return the loop iterations of one tap of ``channels``."""
        each = 9 if self.down else 1
        return math.ceil(channels / self.depth) * each + 1

    def across(self, rows: int, cols: int) -> int:
        """Return the invocations of a workgroup along a row: a power of two."""
        wide, tall = (
            1 << size_class(math.ceil(size / tile))
            for size, tile in ((cols, TILE_COLS), (rows, self.height))
        )
        most = max(8, GROUP // tall)
        return min(wide, most, GROUP)

    def tile(self, rows: int, cols: int) -> tuple[int, int]:
        """Return the rows and columns that a workgroup sums."""
        if self.down:
            return self.down * self.height, 64
        if self.shares:
            return self.height, LANES_COLS
        across = self.across(rows, cols)
        return GROUP // across * self.height, across * TILE_COLS

    def constants(self) -> dict[str, float]:
        """Return the shader's overrides."""
        if not self.down:
            return {"HEIGHT": self.height}
        return {"HEIGHT": self.height, "DOWN": self.down, "STAGED_SIZE": 40 * self.down}


@dataclass(frozen=True, slots=True)
class Product:
    """A product's sizes, and how its sum is cut.

    Attributes:
        batches: Products of the same sizes.
        rows: Rows of the result.
        cols: Columns of the result.
        taps: The sum's outer length.
        channels: Its inner length.
        tap_block: Taps that one part sums.
        channel_block: Channels that one part sums of each tap.
    """

    batches: int
    rows: int
    cols: int
    taps: int
    channels: int
    tap_block: int = 0
    channel_block: int = 0

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
        """How many products there are in all."""
        return self.batches * self.rows * self.cols * self.terms

    def groups(self, tiling: Tiling) -> int:
        """Return the workgroups that cover every result once."""
        rows, cols = tiling.tile(self.rows, self.cols)
        return self.batches * math.ceil(self.rows / rows) * math.ceil(self.cols / cols)

    def cut(self, tiling: Tiling) -> Product:
        """Return the product with its sum cut so that no invocation loops too long."""
        wanted = math.ceil(max(tiling.busy, 1) / self.groups(tiling))
        longest = max(math.ceil(self.terms / wanted), SHORTEST_SUM)
        times = math.ceil(min(longest, ITERATIONS // 2) / tiling.depth)
        channel_block = min(self.channels, times * tiling.depth)
        most = ITERATIONS // tiling.iterations_of(channel_block)
        tap_block = max(min(longest // channel_block, most, self.taps), 1)
        return replace(self, tap_block=tap_block, channel_block=channel_block)

    def fields(self) -> dict[str, int]:
        """Return the fields that shaders name."""
        names = ("batches", "rows", "cols", "taps", "channels", "tap_block", "channel_block")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Layout:
    """What the layout of a product's operands allows.

    Attributes:
        suffix: What the name of the shader that sums in registers ends with.
        staged: The ending of the one that goes through workgroup memory; empty where none does.
        lanes: The ending of the one whose lanes share what they load; empty likewise.
    """

    suffix: str = ""
    staged: str = "_staged"
    lanes: str = ""


ANYHOW = Layout()
INTEGERS = Layout(staged="")
FOURS = Layout("_vec4", "_staged_vec4", "_vec4_lanes")
TERMS = Layout("_vec4_terms", lanes="_vec4_terms_lanes")
ROWS = Layout("_vec4_rows", lanes="_vec4_rows_lanes")
COLUMNS = Layout("_vec4_columns")

STAGED_DOWN = {"staged_64": 8, "staged_128": 16}
"""Invocations of a workgroup from top to bottom, by name; the number is its rows."""

LANES = ("lanes_8", "lanes_16", "lanes_32")
"""Those of adapters whose lanes share what they load; the number is a workgroup's rows."""

VARIANTS = ("rows_1", "rows_4", "rows_8", *STAGED_DOWN, *LANES, "split")


@dataclass(frozen=True, slots=True)
class Way:
    """How one tiling of one product is launched.

    Attributes:
        suffix: What the shader's name ends with.
        constants: The shader's overrides.
        fields: What it wants to know of sizes and parts.
        groups: Its workgroups.
        parts: How many sums each result is made of.
        iterations: How often an invocation loops.
    """

    suffix: str
    constants: Mapping[str, float]
    fields: Mapping[str, int]
    groups: int
    parts: int
    iterations: int


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways to sum one product.

    Attributes:
        launches: How each is launched, by name.
        names: Their names.
        static: The one that is taken without measuring.
        shape_class: What a choice among them holds for, beside the dtype.
    """

    launches: Mapping[str, Way]
    names: tuple[str, ...]
    static: str
    shape_class: tuple[object, ...]


@functools.lru_cache(maxsize=512)
def ways_of(product: Product, layout: Layout, policy: Policy) -> Ways:
    """Return the ways that suit a product's sizes, the operands' layout and the adapter."""
    heights = (1,) if product.rows == 1 else (4, 8) if product.rows > 4 else (4,)
    found = [Tiling(f"rows_{height}", layout.suffix, height) for height in heights]
    if policy.shares_lanes and layout.lanes and product.rows > 4 and product.channels % 4 == 0:
        rows = [height for height in (8, 16, 32) if height < 2 * product.rows]
        found += [Tiling(f"lanes_{height}", layout.lanes, height, shares=True) for height in rows]
    if layout.staged and product.rows > FEW and product.cols > FEW:  # last: it compiles longest
        found += [Tiling(name, layout.staged, 8, down) for name, down in STAGED_DOWN.items()]
    best = _largest(product, found, policy)
    split = replace(best, name="split", busy=policy.busy_groups)
    is_split = product.cut(split).parts > product.cut(best).parts
    every = [*found, split] if is_split else found
    static = split if is_split else best
    launches = {one.name: _way(product, one) for one in every}
    sizes = (product.batches, product.rows, product.cols, product.taps, product.channels)
    shape_class = (layout.suffix or "any", *map(size_class, sizes))
    return Ways(launches, tuple(launches), static.name, shape_class)


def _way(product: Product, tiling: Tiling) -> Way:
    cut = product.cut(tiling)
    across = 0 if tiling.down or tiling.shares else tiling.across(product.rows, product.cols)
    groups = cut.groups(tiling) * cut.parts
    fields = {**cut.fields(), "across": across}
    loops = cut.tap_block * tiling.iterations_of(cut.channel_block)
    return Way(tiling.suffix, tiling.constants(), fields, groups, cut.parts, loops)


def _largest(product: Product, found: list[Tiling], policy: Policy) -> Tiling:
    """Return the largest tiles that leave a device busy, of the kind that suits the adapter.

    On a GPU those in workgroup memory; on a CPU those whose lanes share, unless so much of their
    tiles lies outside the result that they gain nothing.
    """
    plain = [one for one in found if not one.down and not one.shares]
    sharing = [one for one in found if one.shares]
    fitting = [one for one in found if one.down and policy.stages_products] or plain
    if sharing and _area(product, sharing[0]) <= LANES_GAIN * _area(product, plain[0]):
        fitting = sharing
    fits = [one for one in fitting if product.groups(one) >= policy.busy_groups]
    return fits[-1] if fits else fitting[0]


def _area(product: Product, tiling: Tiling) -> int:
    """Return how many results the tiles of one product have, with those outside."""
    rows, cols = tiling.tile(product.rows, product.cols)
    return product.groups(tiling) * rows * cols
