"""Composing scans: y[row, k] = finish(combine of lift(x[row, i]) over i up to k).

Whatever reads the input goes through ``wk_load(i)`` and ``wk_load4(i)``, whatever writes the output
through ``wk_store`` and ``wk_store4``: ``i`` is the element's row-major index.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.elements import add_elements, load_text
from wgsl_kernels.backends.webgpu.composing.indexing import dot, unravel
from wgsl_kernels.backends.webgpu.composing.reductions import loop_text
from wgsl_kernels.backends.webgpu.composing.totals import (
    loaded_partial,
    partials_type,
    stored_partial,
    total_bytes,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.operands import Operand
    from wgsl_kernels.backends.webgpu.composing.row_loads import Stage
    from wgsl_kernels.backends.webgpu.wgsl.facts import Function

Method = Literal["one_by_one", "columns", "fours", "tiles"]
TILE_LANES = 128
TILE_BYTES = 8192
"""Workgroup memory for a tile: with the lanes' totals it stays below the least limit, 16 KiB."""
LARGEST_TOTAL = TILE_BYTES // TILE_LANES
"""Bytes of an accumulator above which tiles do not fit."""
LONGEST_RUN = 8
PLACE = "number * wk_params.wk_rows + row"
"""Where the total of a part of a row lies."""

WORDS = ("rows", "length", "inner", "parts", "part_size")
LOOPS = {"wk_part_at": "scan_part", "wk_four": "scan_four", "wk_load_tile": "scan_tile"}


@dataclass(frozen=True, slots=True)
class Scan:
    """One stage of a scan, being composed.

    Attributes:
        composer: The kernel.
        method: ``one_by_one``: an invocation takes a part of a row; ``columns``: of four
            neighbouring rows; ``fours``: four elements at a time; ``tiles``: a workgroup does.
        stage: ``whole`` does everything at once; ``partial`` writes the total of each part,
            ``final`` scans a part, beginning with the totals before it.
        wide: The input is bound as vec4, so that four elements are loaded together.
        exclusive: An element itself is left out.
        reverse: The last element is the first.
        even: The length of a row is a multiple of four.
    """

    composer: Composer
    method: Method
    stage: Stage
    wide: bool
    exclusive: bool
    reverse: bool
    even: bool


def scan_skeleton(method: str, stage: Stage) -> str:
    """Return the path of the loop around a stage."""
    return f"families/scan_{method}{'_totals' if stage == 'partial' else ''}.wgsl"


def add_scan(scan: Scan) -> Function:
    """Add what the scan skeletons call; return the author's ``combine``.

    Raises:
        ShaderError: A function of the author's has other types than the form wants.
    """
    composer, stage = scan.composer, scan.stage
    add_elements(composer, wide=scan.wide)
    helpers, operand = composer.assembly.helpers, composer.inputs[0]
    for word in WORDS:
        composer.word(f"wk_{word}", f"wk_{word}")
    for name, loop in LOOPS.items():
        helpers[name] = functools.partial(loop_text, loop)
    helpers["wk_exclusive"] = lambda: f"const wk_exclusive = {str(scan.exclusive).lower()};"
    helpers["wk_backward"] = lambda: f"const wk_backward = {str(scan.reverse).lower()};"
    helpers["wk_even"] = lambda: f"const wk_even = {str(scan.even).lower()};"
    helpers["wk_load"] = lambda: _load(scan, operand)
    helpers["wk_total_before"] = lambda: _TOTAL_BEFORE
    helpers["wk_totals_between"] = lambda: _BETWEEN if stage == "final" else _NONE_BETWEEN
    helpers["wk_partial"] = lambda: _partial(composer)
    helpers["wk_store_total"] = lambda: _store_total(composer)
    if scan.method == "tiles":
        helpers["wk_run"] = lambda: f"const wk_run = {_run(composer)}u;"
        stride = total_bytes(composer.source, composer.types)
        composer.workgroup_bytes = TILE_LANES * (_run(composer) + 1) * stride
    if stage != "whole":
        composer.partials = partials_type(composer)
        composer.writes_partials = stage == "partial"
    return composer.source.functions["combine"]


def _run(composer: Composer) -> int:
    """Return how many neighbours a lane of a tile takes: a power of two."""
    run = LONGEST_RUN
    while run > 1 and run * TILE_LANES * total_bytes(composer.source, composer.types) > TILE_BYTES:
        run //= 2
    return run


def _load(scan: Scan, operand: Operand) -> str:
    composer = scan.composer
    if operand.access != "strided":
        return load_text(composer, operand, "i")
    sizes = composer.slots("wk_shape", "wk_shape", operand.rank, pad=1)
    lines, coordinates = unravel("i", sizes, "wk_c")
    name = f"wk_{operand.wgsl}"
    strides = composer.slots(f"{name}_strides", f"wk_{operand.name}_strides", operand.rank)
    offset = composer.word(f"{name}_offset", f"wk_{operand.name}_offset")
    return load_text(composer, operand, dot(coordinates, strides, offset), lines)


def _partial(composer: Composer) -> str:
    value = loaded_partial(composer, PLACE)
    return f"fn wk_partial(row: u32, number: u32) -> wk_Total {{ return {value}; }}"


def _store_total(composer: Composer) -> str:
    signature = "fn wk_store_total(row: u32, number: u32, total: wk_Total)"
    return f"{signature} {{ {stored_partial(composer, PLACE)} }}"


_TOTAL_BEFORE = (
    "fn wk_total_before(row: u32, number: u32) -> wk_Total "
    "{ return wk_totals_between(row, 0u, number); }"
)
_BETWEEN = """fn wk_totals_between(row: u32, begin: u32, end: u32) -> wk_Total {
  var total = init();
  for (var number = begin; number < end; number++) {
    total = combine(total, wk_partial(row, number));
  }
  return total;
}"""
_NONE_BETWEEN = (
    "fn wk_totals_between(row: u32, begin: u32, end: u32) -> wk_Total { return init(); }"
)
