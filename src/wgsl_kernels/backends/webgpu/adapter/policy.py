"""Every rule about adapters: what is done on one kind of adapter and not on another, and why.

A software adapter is the CPU itself. Its driver runs a workgroup in one thread and eight or so
invocations as the lanes of a vector register, to their end, before the next; so a workgroup and a
barrier cost it much, workgroup memory is no faster than any other, and an invocation should go
along memory alone. On a GPU the whole grid is under way at once, and neighbours should read
neighbours.

Unless a rule says otherwise, its figures are our own, of 2026-11-21 and 22, on lavapipe (Vulkan on
llvmpipe, Mesa 22.3, or 25.0 where it says so) with 2 cores, least of many runs. For a GPU the rules
give reasons, and the tuner measures where there are variants.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.environment.machine import HALF_OF_MEMORY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from wgsl_kernels.backends.webgpu.adapter.facts import AdapterInfo

SHARING = 8
"""Invocations of the workgroups whose lanes share what they load."""

MOST_IMMEDIATES = 256
"""Bytes of parameters that travel with a dispatch; Vulkan promises 128, many devices have 256."""

BUSY_GROUPS, BUSY_GROUPS_ON_CPU = 64, 4
"""Workgroups that keep an adapter busy: a GPU has that many units or more, a CPU a few cores."""

SHORT_TEXT = 1 << 14
"""Elements that a software adapter computes in less time than a longer text takes to compile."""

SHORT_REDUCTION = 1 << 18
"""Elements that a software adapter reduces in less time, over hundreds of runs, than that."""

SHORT_PRODUCT = 1 << 23
"""Products of two numbers that it adds in less time, over hundreds of runs, than that."""

LOOPED_MAPS = 4
"""Maps behind a product from which on copies of them take longer to compile than a loop to run."""

UNITS = {"Copy": 8, "PadV2": 16, "Concat": 16, "OneHot": 16, "GatherV2": 32}
"""Elements, or vectors of four, that an invocation of a software adapter moves, by kernel."""

ATTENDING_ROWS = 8
"""Queries that share keys up to which a tile of attention would be three quarters idle."""

SHORT_ROW = 32
"""Elements up to which a row is left to one invocation, on a GPU too."""

DIGITS_LEAST, DIGITS_LEAST_ON_GPU = 256, 1 << 14
"""Pairs of a row from which on counting digits is worth its memory; on a GPU the second, since that
many take 15 dispatches either way."""

SORTED_ALONE_ROWS, SORTED_ALONE_LONGEST = 16, 8192
"""As many rows keep a software adapter busy, an invocation each; it stops before 65,535 turns."""

MERGED, ROWS, PARTS, STAGED = "merged", "digits_rows", "digits", "digits_staged"
"""How pairs are sorted: a bitonic sort; counting digits of a row by an invocation, of parts of it,
or by workgroups."""

REGISTERS, BLOCKS = "registers", "blocks"
"""How the largest elements of a row are found, where it is not sorted."""


@dataclass(frozen=True, eq=False, slots=True)
class Policy:
    """The rules for one kind of adapter.

    `policy_of` gives equal adapters the same object, which compares by identity and so is cheap in
    a key. Whoever has a question to an adapter asks it here by the name of what is decided.

    Attributes:
        shares_lanes: Whether eight invocations are lanes of one vector register and can broadcast:
            each then loads rows of its own for a product, half a load for a sum of eight lanes
            where others take three (llvmpipe, whose name tells the size of its registers).
        ends_loops: Whether the loops of an invocation turn at most 65,535 times, all together, and
            end then without a word (Mesa's llvmpipe, with Vulkan and with OpenGL).
        has_one_context: Whether a call of the driver excludes all others on its device (OpenGL).
            wgpu waits 6 s for the others, then ends the process (wgpu-native 29.0.1).
    """

    _is_software: bool
    shares_lanes: bool = False
    _has_small_pages: bool = False
    _compiles_late: bool = False
    ends_loops: bool = False
    has_one_context: bool = False

    # Products and convolutions

    @property
    def busy_groups(self) -> int:
        """Workgroups that keep the device busy: a small product's long sum is cut to reach them."""
        return BUSY_GROUPS_ON_CPU if self._is_software else BUSY_GROUPS

    @property
    def stages_products(self) -> bool:
        """Whether a product's tiles go through workgroup memory by default.

        On a CPU that memory is no faster and each stage of a tile ends in a barrier.
        """
        return not self._is_software

    def loops_over_epilogue(self, maps: int, elements: int) -> bool:
        """Say whether four results go to so many maps in a loop, rather than each in turn.

        llvmpipe compiles every load and store to branches for each lane: a product with Adam's 14
        maps behind it took 0.9 s to compile with four copies of them and 0.6 with one (Mesa 25).
        Over 200,704 ``elements`` of a result the copies saved 0.6 ms of 4.0 a step.
        """
        return self._is_software and maps >= LOOPED_MAPS and elements <= SHORT_TEXT

    def depthwise_tile(self, lanes: int, cols: int) -> int:
        """Return how many places of a line an invocation of a depthwise convolution sums.

        A CPU takes 8 where channels are loaded in fours, so that it loads the filter half as often;
        on a GPU they would take registers from other invocations.

        Args:
            lanes: Channels loaded at once.
            cols: Places of a line of the result.
        """
        return 8 if self._is_software and lanes == 4 and cols > 4 else 4

    # Copies, joins and maps

    def units_moved(self, kernel: str) -> int:
        """Return how many units an invocation of ``kernel`` moves, one after another.

        On a GPU one, since neighbours should read neighbours. On a CPU several: slicing 1800 rows
        of 1800 took a third of the time, broadcasting a row 2048 times a seventh.
        """
        return UNITS[kernel] if self._is_software else 1

    @property
    def stages_transpositions(self) -> bool:
        """Whether a transposition's tiles go through workgroup memory, rather than registers.

        In registers a CPU took a quarter of the time of a map that divides for each element (2048
        rows of 2048), without barriers.
        """
        return not self._is_software

    @property
    def walks_across(self) -> bool:
        """Whether a map goes along the lines of an input that lies transposed.

        A CPU's invocation then meets whole lines of memory: transposing 2048 rows of 2048 took 3.6
        ms where it had taken 14.4 (Mesa 25). A GPU's invocations share lines among neighbours.
        """
        return self._is_software

    @property
    def map_loop(self) -> Mapping[str, bool | int]:
        """The constants of templates/map.wesl that are the adapter's.

        On a CPU the invocations that share a run of items are the lanes of a vector, which a thread
        runs to their end before the next ones; on a GPU the whole grid is under way at once.
        """
        return {"RUN_BITS": 3 if self._is_software else 31}

    def map_run(self, items: int, group: int) -> int:
        """Return how many items each invocation of a map takes, in workgroups of ``group``.

        On a CPU a workgroup costs as much as dozens of items, so a map has 64 of them until an
        invocation takes 64 items. On a GPU a large map gives each four.
        """
        if self._is_software:
            return min(-(-items // (group * 64)), 64)
        return 4 if items > 1 << 16 else 1

    def batch_norm_walk(self, steps: int, parts: int) -> tuple[int, int]:
        """Return how far apart invocations begin, and how far an invocation's rows are apart.

        Neighbours on a GPU load neighbouring rows; a CPU's invocation walks along its own.

        Args:
            steps: Rows of an invocation.
            parts: Invocations of a channel.
        """
        return (steps, 1) if self._is_software else (1, parts)

    # Reductions and scans

    @property
    def reduces_columns_by_vec8(self) -> bool:
        """Whether an invocation reduces eight neighbouring columns of a wide matrix, where it can.

        The elements of a column lie pages apart, so a CPU should load much of a page at a time:
        2048 rows of 2048 took 1.1 ms by eights and 1.2 by fours (Mesa 25).
        """
        return self._is_software

    def reduces_in_short(self, elements: int) -> bool:
        """Say whether so few elements are reduced by a text that writes nothing out several times.

        Of a few it takes as long either way to run. llvmpipe compiles each load and store to
        branches for each lane: a log-softmax with a gradient behind it took 0.9 s to compile and
        then 0.2, a sum with Adam's 14 maps 0.35 and then 0.1 (Mesa 25). Layer norm of 128 rows of
        384 took 1.5 s of a processor to compile and then 0.4, and 0.6 ms a run either way; softmax
        of 1536 rows of 128 took 0.28 s and then 0.11, and 0.5 ms a run and then 0.65. Of a million
        elements the longer text takes half the time a run.

        Args:
            elements: All that are reduced.
        """
        return self._is_software and elements <= SHORT_REDUCTION

    def multiplies_in_short(self, work: int) -> bool:
        """Say whether so small a product is summed by the smallest tiles whose lanes share.

        A driver on the CPU compiles their text in half the time: 12 products of 128x32 by 32x128
        took 0.2 s of a processor to compile instead of 0.4, and 1.05 ms a run instead of 0.78
        (Mesa 25).

        Args:
            work: How many products of two numbers are added, in all.
        """
        return self._is_software and work <= SHORT_PRODUCT

    def reduces_row_alone(self, count: int) -> bool:
        """Say whether an invocation reduces a row of ``count`` elements, or lanes share it.

        On a CPU a workgroup's barriers cost more than all else: 2048 rows of 2048 took 20 times as
        long by a workgroup each.
        """
        return self._is_software or count <= SHORT_ROW

    def reduce_invocations(self, *, maps: bool) -> int:
        """Return how many invocations keep the device busy in a reduction.

        On a CPU a few vectors of 8 for each of many cores; fewer where elements are mapped and
        written too, since each part joins all. On a GPU as many as a large one holds.
        """
        if self._is_software:
            return 128 if maps else 512
        return 1 << 16

    @property
    def column_part(self) -> int:
        """Elements of a column that an invocation reduces at least, where columns are cut.

        A CPU has few invocations under way, and each part's result costs another load.
        """
        return 256 if self._is_software else 32

    def column_strip(self, elements: int) -> int | None:
        """Return how many rows eights of columns are cut into strips of; None: as few as can be.

        With pages of 4 KiB no more pages should be touched in turn than the CPU keeps addresses of.
        2048 rows of 2048 with Mesa 22: in strips of 2048, 64, 32 and 16 rows 8.4, 7.9, 4.2 and 3.7
        ms; half as many elements took 0.33 ms in one and 0.42 in strips of 32.

        Args:
            elements: All that are reduced.
        """
        return 32 if self._has_small_pages and elements >= 1 << 20 else None

    def joins_parts_together(self, parts: int, rows: int, group: int) -> bool:
        """Say whether a workgroup of ``group`` joins the parts of each row, rather than a lane.

        Only where rows are so few that lanes would leave a GPU idle; never on a CPU (barriers).
        """
        return not self._is_software and parts > rows and parts >= group

    @property
    def scans_alone(self) -> bool:
        """Whether an invocation scans alone, four elements at a time, rather than in tiles.

        Barriers of tiles cost a CPU more than they save: 1 M elements took 30 ms, then 1.1 to 1.8.
        """
        return self._is_software

    @property
    def scan_invocations(self) -> int:
        """Invocations that keep the device busy in a scan, so that rows need not be cut."""
        return 64 if self._is_software else 16384

    # Attention

    def tiles_attention(self, rows: int) -> bool:
        """Say whether attention goes in tiles through workgroup memory where nothing is measured.

        On a GPU scores then need no memory at all; with few rows most of a tile would be idle. On a
        CPU each tile's stages end in barriers.

        Args:
            rows: Queries that share keys.
        """
        return not self._is_software and rows > ATTENDING_ROWS

    @property
    def attention_scores(self) -> int:
        """Scores of attention that are in memory at a time, where it is made of products.

        On a CPU as many as its second cache holds: of 8 heads of 512 queries and keys blocks of
        1 MiB took 0.88 of the time of blocks of 4 MiB.
        """
        return 1 << 18 if self._is_software else 1 << 22

    def attention_parts(self, rows: int, keys: int) -> int:
        """Return in how many parts each row's scores become weights.

        A CPU takes few parts: each costs a dispatch. An invocation's loops may turn 65,535 times.
        On a GPU parts are short, until there are as many as keep it busy.

        Args:
            rows: How many rows there are.
            keys: Scores of each.
        """
        least = -(-keys // (1 << 16))
        if self._is_software:
            return least
        return max(least, min(-(-keys // 64), -(-(1 << 14) // rows)))

    @property
    def attention_run(self) -> int:
        """Scores of a row whose gradient an invocation computes.

        Neighbours on a GPU load neighbouring vectors; a CPU's invocation goes along a row.
        """
        return 256 if self._is_software else 4

    # Sorts and transforms

    @property
    def top_k(self) -> str:
        """How the largest elements are found: in an invocation's registers, or in sorted blocks.

        In registers a CPU took a 200th of the time of sorting; blocks need barriers.
        """
        return REGISTERS if self._is_software else BLOCKS

    def pair_sort(self, rows: int, length: int) -> str:
        """Return how to sort ``rows`` rows of ``length`` pairs where nothing is measured.

        On a CPU digits are counted by an invocation alone: of 1 M pairs that took a twentieth of
        the time of a bitonic sort, whose barriers cost too much there. On a GPU they are counted by
        workgroups: of 1 M pairs in 4 passes over memory where a bitonic sort takes 65.
        """
        if length < (DIGITS_LEAST if self._is_software else DIGITS_LEAST_ON_GPU):
            return MERGED
        if not self._is_software:
            return STAGED
        is_alone = rows >= SORTED_ALONE_ROWS and length <= SORTED_ALONE_LONGEST
        return ROWS if is_alone else PARTS

    def transforms_in_pairs(self, length: int) -> bool:
        """Say whether an invocation of a Fourier pass moves two neighbours.

        A CPU moves two numbers as soon as one: by pairs 64 rows of 1024 took half as long.
        """
        return self._is_software and length % 8 == 0

    def largest_radix(self, length: int) -> int:
        """Return by what radix a pass goes at most: 16, or 4.

        By 16 elements move once instead of twice, but a CPU, which has few registers and near
        memory, took twice as long by it where it moves no pairs.
        """
        return 16 if not self._is_software or length % 32 == 0 else 4

    # The device as a whole

    @property
    def is_preferred_to_cpu(self) -> bool:
        """Whether the webgpu backend comes before the cpu backend where none is asked for."""
        return not self._is_software

    @property
    def maps_memory(self) -> bool:
        """Whether the host reads and writes shaders' buffers in place (decision 162)."""
        return self._is_software and not self.has_one_context

    @property
    def moves_pairs(self) -> bool:
        """Whether shaders move pairs of numbers, as integers of 64 bits (decision 163)."""
        return self._is_software

    @property
    def memory_limit(self) -> int | None:
        """Bytes that all buffers may take together by default; None where the driver says.

        A software adapter has the machine's, of which we take half. WebGPU has no query for more.
        """
        return HALF_OF_MEMORY if self._is_software else None

    @property
    def measures_while_working(self) -> bool:
        """Whether choices among variants are measured along the way; else on request alone.

        The static choices are made for software adapters (decision 37).
        """
        return not self._is_software

    @property
    def largest_tuned(self) -> int:
        """Rows and columns of the largest matrices that ``wgsl-kernels tune`` measures."""
        return 1024 if self._is_software else 4096

    def replayed_batch(self, full: int) -> int:
        """Return how many dispatches of a replay are submitted at once, where else it is ``full``.

        Where the device is the host's own cores, encoding first, in one go, takes two thirds of the
        time that it takes beside the first batch's work.
        """
        return 512 if self._is_software else full

    def compiling_threads(self, processors: int) -> int:
        """Return how many threads have the driver compile what will run soon; below 2: none.

        Mesa's llvmpipe compiles at the first dispatch, in one thread for each device. More than 4
        would seldom have something to do, and each takes 10 MiB (Mesa 25.0, 2026-11-22).
        """
        return min(processors, 4) if self._compiles_late else 0

    @property
    def compiles_when_run(self) -> bool:
        """Whether the driver compiles a shader when it first runs, not when its pipeline is made.

        Mesa's software adapters do (Mesa 22.3 and 25.0, 2026-11-22).
        """
        return self._is_software

    @property
    def runs_in_submit(self) -> bool:
        """Whether a submit returns when all of it has run: llvmpipe's OpenGL (Mesa 22.3)."""
        return self._is_software and self.has_one_context

    @property
    def dispatch_timeout(self) -> float | None:
        """Seconds after which a device is given up where the user says nothing; None: never.

        A software adapter may need minutes for what a GPU does in a second, and never hangs.
        """
        return None if self._is_software else 60.0

    @property
    def finishes_before_exit(self) -> bool:
        """Whether the process waits for the device before it ends.

        A software adapter's driver compiles and runs shaders in threads of this process, and if one
        still does while the library is taken down, that ends in a segmentation fault (Mesa 22.3,
        LLVM 15, 2026-11-22).
        """
        return self._is_software


def policy_of(info: AdapterInfo) -> Policy:
    shares = info.lanes >= SHARING and "subgroup" in info.features
    # Mesa's software adapters before 25 take the host's memory in pages of 4 KiB.
    mesa = info.mesa_version
    has_small_pages = info.is_software and mesa is not None and mesa < 25
    compiles_late = info.is_software and mesa is not None and info.backend == "Vulkan"
    ends_loops = info.is_software and mesa is not None
    has_one_context = info.backend.startswith("OpenGL")
    facts = shares, has_small_pages, compiles_late, ends_loops, has_one_context
    return _policy(info.is_software, *facts)


@functools.cache  # one object for each kind
def _policy(*facts: bool) -> Policy:
    return Policy(*facts)


SOFTWARE, GPU = _policy(True, *[False] * 5), _policy(False, *[False] * 5)
"""The rules for a software adapter and for a GPU of which nothing else is known."""


def immediate_bytes(info: AdapterInfo, limits: Mapping[str, int], features: Collection[str]) -> int:
    """Return how many bytes of parameters a dispatch can bring along to a device.

    None on OpenGL, which has no such thing: what wgpu does there instead gave kernels wrong values
    and ended processes (wgpu-native 29.0.1 on Mesa's llvmpipe, 2026-11-22).
    """
    if "immediates" not in features or info.backend.startswith("OpenGL"):
        return 0
    return min(limits.get("max-immediate-size", 0), MOST_IMMEDIATES)
