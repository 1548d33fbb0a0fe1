"""Composing reductions: y[row] = finish(combine of lift(x[row, i]) over i), and the rows' maps.

Whatever reads the input goes through ``wk_load(place)`` and ``wk_load4(place)``, whatever writes
the output through ``wk_finish`` or ``wk_store``.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.exchanges import add_exchanges
from wgsl_kernels.backends.webgpu.composing.row_loads import (
    Reduction,
    Stage,
    Variant,
    add_loads,
    add_partial_loads,
    partial_at,
)
from wgsl_kernels.backends.webgpu.composing.row_writes import add_writes
from wgsl_kernels.backends.webgpu.composing.source import load_skeleton
from wgsl_kernels.backends.webgpu.composing.totals import finished, partials_type, stored_partial

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.source import Source
    from wgsl_kernels.backends.webgpu.wgsl.facts import Function

CHUNK = 16384
"""The most elements that one workgroup or one invocation reduces. Longer rows take two stages."""

LOOPS = ("along", "across", "across_eight", "strided")
TEAM = "by_team"


def is_normalization(source: Source) -> bool:
    """Say whether a reduction also maps the elements that it has reduced."""
    return "apply" in source.functions


def skeleton_of(source: Source, variant: Variant, stage: Stage) -> str:
    """Return the path of the loop around a stage."""
    maps = is_normalization(source) and stage in ("whole", "apply")
    return f"families/{'normalize' if maps else 'reduce'}_{variant}.wgsl"


def add_reduction(reduction: Reduction) -> Function:
    """Add what the reduction skeletons call; return the author's ``combine``."""
    composer, stage = reduction.composer, reduction.stage
    helpers = composer.assembly.helpers
    helpers["wk_Total"] = lambda: f"alias wk_Total = {reduction.element};"
    for loop in LOOPS:
        helpers[f"wk_{loop}"] = functools.partial(loop_text, loop)
    if reduction.variant == "subgroups":
        add_exchanges(reduction)
        helpers["wk_team"] = functools.partial(loop_text, TEAM)
    helpers["wk_rows"] = lambda: _word(composer, "wk_rows")
    helpers["wk_inner"] = lambda: _word(composer, "wk_inner")
    helpers["wk_fours"] = lambda: "fn wk_fours() -> u32 { return (wk_inner() + 3u) / 4u; }"
    helpers["wk_all_fours"] = lambda: _ALL_FOURS
    helpers["wk_line"] = lambda: _line(reduction)
    helpers["wk_run"] = lambda: _PACKED_RUN if reduction.packed else _RUN
    helpers["wk_part"] = lambda: _PACKED_PART if reduction.packed else _PART
    helpers["wk_parts"] = lambda: _word(composer, "wk_parts")
    helpers["wk_part_size"] = lambda: _word(composer, "wk_part_size")
    length = "wk_parts" if stage == "final" else "wk_n"
    helpers["wk_length"] = lambda: _word(composer, "wk_length", length)
    if stage == "partial" or stage == "apply":
        helpers["wk_first_part"] = lambda: _word(composer, "wk_first_part")
        helpers["wk_last_part"] = lambda: _word(composer, "wk_last_part")
        helpers["wk_part_begin"] = lambda: _PART_BEGIN
        helpers["wk_part_end"] = lambda: _PART_END
    else:
        helpers["wk_first_part"] = lambda: "fn wk_first_part() -> u32 { return 0u; }"
        helpers["wk_last_part"] = lambda: "fn wk_last_part() -> u32 { return 1u; }"
        helpers["wk_part_begin"] = lambda: "fn wk_part_begin(part: u32) -> u32 { return 0u; }"
        helpers["wk_part_end"] = lambda: _WHOLE_END
    helpers["wk_finish_fours"] = lambda: _finish_fours(reduction)
    helpers["wk_finish_eight"] = lambda: _finish_eight()
    helpers["wk_finish"] = lambda: _finish(reduction)
    if stage == "final":
        add_partial_loads(reduction)
    else:
        add_loads(reduction)
    helpers["wk_partial"] = lambda: _partial(reduction)
    if stage != "whole":
        composer.partials = partials_type(composer)
        composer.writes_partials = stage == "partial"
    if is_normalization(composer.source) and stage in ("whole", "apply"):
        add_writes(reduction)
    return composer.source.functions["combine"]


def loop_text(name: str) -> str:
    """Return the text of a loop that skeletons share."""
    return load_skeleton(f"families/{name}.wgsl").facts.text.text


def _word(composer: Composer, name: str, fact: str = "") -> str:
    word = fact or name
    return f"fn {name}() -> u32 {{ return {composer.word(word, word)}; }}"


def _line(reduction: Reduction) -> str:
    """Return the function from four columns to their line, without a division where it can be.

    A CPU divides slowly. Past the last line it gives the number of lines or more.
    """
    signature = "fn wk_line(four: u32) -> u32"
    if reduction.kept > 1:
        return f"{signature} {{ return four / wk_fours(); }}"
    return f"{signature} {{ return select(0u, 1u, four >= wk_fours()); }}"


def _partial(reduction: Reduction) -> str:
    loaded = partial_at(reduction, "part * wk_rows() + row")
    return f"fn wk_partial(row: u32, part: u32) -> wk_Total {{ return {loaded}; }}"


def _finish(reduction: Reduction) -> str:
    composer = reduction.composer
    signature = "fn wk_finish(row: u32, part: u32, total: wk_Total)"
    if reduction.stage == "partial":
        return f"{signature} {{ {stored_partial(composer, 'part * wk_rows() + row')} }}"
    output = composer.outputs[0]
    value = finished(composer, "total", composer.word("wk_n", "wk_n"))
    value = f"u32({value})" if output.dtype == "bool" else value
    return f"{signature} {{ {composer.stored(output, 'row', value)} }}"


def _finish_fours(reduction: Reduction) -> str:
    """Return the function that finishes four neighbouring rows but those already done."""
    calls = [f"wk_finish(row + {lane}u, part, totals[{lane}]);" for lane in range(4)]
    if not reduction.wide:  # else all fours are whole
        calls = [f"if (done < {lane + 1}u) {{ {call} }}" for lane, call in enumerate(calls)]
    body = "\n  ".join(calls)
    signature = "fn wk_finish_fours(row: u32, part: u32, done: u32, totals: array<wk_Total, 4>)"
    return f"{signature} {{\n  {body}\n}}"


def _finish_eight() -> str:
    calls = [f"wk_finish(row + {lane}u, part, totals[{lane}]);" for lane in range(8)]
    body = "\n  ".join(calls)
    signature = "fn wk_finish_eight(row: u32, part: u32, totals: array<wk_Total, 8>)"
    return f"{signature} {{\n  {body}\n}}"


_ALL_FOURS = "fn wk_all_fours() -> u32 { return wk_rows() / wk_inner() * wk_fours(); }"
_RUN = "fn wk_run(number: u32, runs: u32) -> u32 { return number; }"
_PART = "fn wk_part(number: u32, runs: u32, z: u32) -> u32 { return wk_first_part() + z; }"
_PACKED_RUN = "fn wk_run(number: u32, runs: u32) -> u32 { return number % runs; }"
_PACKED_PART = (
    "fn wk_part(number: u32, runs: u32, z: u32) -> u32 { return wk_first_part() + number / runs; }"
)
_PART_BEGIN = "fn wk_part_begin(part: u32) -> u32 { return part * wk_part_size(); }"
_PART_END = "fn wk_part_end(begin: u32) -> u32 { return min(begin + wk_part_size(), wk_length()); }"
_WHOLE_END = "fn wk_part_end(begin: u32) -> u32 { return wk_length(); }"
