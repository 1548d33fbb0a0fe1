"""Pairs of a word and an index on webgpu, in order: larger words first, equal ones by index."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from wgsl_kernels.backends.webgpu.adapter.policy import (
    DIGITS_LEAST,
    MERGED,
    PARTS,
    ROWS,
    SORTED_ALONE_LONGEST,
    STAGED,
)
from wgsl_kernels.backends.webgpu.declare.variants import size_class
from wgsl_kernels.ops.reductions import scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.backends.webgpu.arrays.array import GpuArray
    from wgsl_kernels.backends.webgpu.control.gpu import Gpu

BLOCK = 1024  # as in sort_block.wesl
_DIGITS = 256  # as in lib/radix.wesl
_PART = 4096
"""Pairs of a row that a workgroup takes, 16 to each lane."""
METHODS = (MERGED, ROWS, PARTS, STAGED)


def sorted_pairs(
    gpu: Gpu,
    shape: tuple[int, int],
    fill: Callable[[GpuArray], None],
    *,
    most: int = 0xFFFFFFFF,
) -> GpuArray:
    """Return rows of pairs in order, [rows, width, 2]; indices rise in the order of pairs before.

    The order is the same whichever way it comes about, so the tuner may choose.

    Args:
        gpu: The device.
        shape: How many rows, and of how many pairs; ``width`` may be more.
        fill: Writes the pairs into an array [rows, width, 2]; those beyond are to come last.
        most: No word is larger.
    """
    rows, length = shape

    def run(name: str) -> GpuArray:
        pairs = gpu.empty((rows, _power_of_two(length) if name == MERGED else length, 2), "int32")
        fill(pairs)
        _sort_pairs(gpu, pairs, name, 2 if most < 1 << 16 else 4)
        return pairs

    names = [MERGED]
    if length >= DIGITS_LEAST:
        names += [PARTS, STAGED]
    if DIGITS_LEAST <= length <= SORTED_ALONE_LONGEST:
        names.append(ROWS)
    static = gpu.policy.pair_sort(rows, length)
    shape_class = ("pairs", size_class(rows), size_class(length), most < 1 << 16)
    return run(gpu.choose(shape_class, tuple(names), static, run, rows * length))


def filling(
    gpu: Gpu, shader: str, arrays: dict[str, GpuArray], params: dict[str, int]
) -> Callable[[GpuArray], None]:
    """Return what fills one row of pairs by a shader, an invocation of 64 for each pair."""

    def fill(pairs: GpuArray) -> None:
        width = pairs.shape[1]
        given, sizes = {**arrays, "pairs": pairs}, {**params, "width": width}
        gpu.dispatch(shader, given, params=sizes, groups=gpu.grid(width, 64))

    return fill


def _power_of_two(length: int) -> int:
    """Return how many pairs a bitonic sort makes of a row."""
    return 1 << max(length - 1, 0).bit_length()


def _sort_pairs(gpu: Gpu, pairs: GpuArray, method: str, passes: int) -> None:
    """Sort each row of pairs in place; of a power of two where they are merged."""
    rows, width, _ = pairs.shape
    if method == MERGED:
        sort_blocks(gpu, pairs)
        _merge_blocks(gpu, pairs)
    elif method == STAGED:
        _sort_digits(
            gpu, pairs, passes, _RowPartition("_staged", math.ceil(width / _PART), _PART, 1)
        )
    elif method == ROWS:
        arrays = {
            "pairs": pairs,
            "spare": gpu.empty(pairs.shape, "int32"),
            "counts": gpu.empty((rows, 4, _DIGITS), "int32"),
        }
        params = {"rows": rows, "length": width}
        gpu.dispatch(
            "indexing/pairs/radix_rows.wgsl", arrays, params=params, groups=gpu.grid(rows, 16)
        )
    else:
        parts = min(max(_DIGITS // rows, math.ceil(width / 16384), 1), width)
        _sort_digits(gpu, pairs, passes, _RowPartition("", parts, math.ceil(width / parts), 16))


class _RowPartition(NamedTuple):
    """How rows are cut for counting digits.

    Attributes:
        suffix: Of the shaders' names.
        parts: Of a row.
        part_size: Pairs of a part.
        together: Parts that a workgroup takes.
    """

    suffix: str
    parts: int
    part_size: int
    together: int


def _sort_digits(gpu: Gpu, pairs: GpuArray, passes: int, cut: _RowPartition) -> None:
    rows, width, _ = pairs.shape
    parts = cut.parts
    params = {"rows": rows, "length": width, "parts": parts, "part_size": cut.part_size}
    groups = gpu.grid(rows * parts, cut.together)
    counts = gpu.empty((rows, _DIGITS * parts), "int32")
    here, there = pairs, gpu.empty(pairs.shape, "int32")
    for number in range(passes):
        params["shift"] = 8 * number
        gpu.dispatch(
            f"indexing/pairs/radix_count{cut.suffix}.wesl",
            {"pairs": here, "counts": counts},
            params=params,
            groups=groups,
        )
        places = scan.running_sums(gpu, counts)
        arrays = {"pairs": here, "counts": places, "moved": there}
        move = f"indexing/pairs/radix_move{cut.suffix}.wesl"
        gpu.dispatch(move, arrays, params=params, groups=groups)
        here, there = there, here


def sort_blocks(gpu: Gpu, pairs: GpuArray) -> None:
    """Sort each `BLOCK` of each row, the width being a power of two; every other one backwards.

    Source: Batcher, Sorting Networks and Their Applications, 1968.
    """
    width = pairs.shape[1]
    if width > 1:
        _merge_within(gpu, pairs, 2, min(width, BLOCK))


def _merge_within(gpu: Gpu, pairs: GpuArray, first_size: int, last_size: int) -> None:
    rows, width, _ = pairs.shape
    blocks = rows * (width // min(width, BLOCK))
    params = {
        "width": width,
        "blocks": blocks,
        "first_size": first_size,
        "last_size": last_size,
    }
    gpu.dispatch(
        "indexing/pairs/sort_block.wesl",
        {"pairs": pairs},
        params=params,
        groups=gpu.grid(blocks, 1),
    )


def _merge_blocks(gpu: Gpu, pairs: GpuArray) -> None:
    rows, width, _ = pairs.shape
    size = 2 * BLOCK
    while size <= width:
        step = size // 2
        while step >= BLOCK:
            exchanges = rows * width // 2
            gpu.dispatch(
                "indexing/pairs/sort_step.wesl",
                {"pairs": pairs},
                params={"width": width, "exchanges": exchanges, "size": size, "step": step},
                groups=gpu.grid(exchanges, 64),
            )
            step //= 2
        _merge_within(gpu, pairs, size, size)
        size *= 2
