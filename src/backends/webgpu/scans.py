"""Composing scans: y[row, k] = finish(combine of lift(x[row, i]) over i up to k).

Whatever reads the input goes through ``wk_load(i)`` and ``wk_load4(i)``, whatever writes the output
through ``wk_store`` and ``wk_store4``: ``i`` is the element's row-major index.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composed import PARTIALS
from wgsl_kernels.backends.webgpu.indexing import dot, unravel
from wgsl_kernels.backends.webgpu.reductions import loop_text
from wgsl_kernels.backends.webgpu.totals import (
    check_totals,
    finished,
    is_bool,
    join_text,
    lift_text,
    total_type,
)
from wgsl_kernels.backends.webgpu.wgsl.types import Types, UnknownTypeError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composer import Composer
    from wgsl_kernels.backends.webgpu.operands import Operand
    from wgsl_kernels.backends.webgpu.row_loads import Stage
    from wgsl_kernels.backends.webgpu.source import Source
    from wgsl_kernels.backends.webgpu.wgsl.facts import Function

Method = Literal["one_by_one", "columns", "fours", "tiles"]
TILE_LANES = 128
TILE_BYTES = 8192
"""Workgroup memory for a tile: with the lanes' totals it stays below the least limit, 16 KiB."""
LARGEST_TOTAL = TILE_BYTES // TILE_LANES
"""Bytes of an accumulator above which tiles do not fit."""
LONGEST_RUN = 8

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
    """

    composer: Composer
    method: Method
    stage: Stage
    wide: bool
    exclusive: bool
    reverse: bool


def scan_skeleton(method: str, stage: Stage) -> str:
    """Return the path of the loop around a stage."""
    return f"families/scan_{method}{'_totals' if stage == 'partial' else ''}.wgsl"


def add_scan(scan: Scan) -> Function:
    """Add what the scan skeletons call; return the author's ``combine``.

    Raises:
        ShaderError: A function of the author's has other types than the form wants.
    """
    composer, stage = scan.composer, scan.stage
    check_totals(composer)
    helpers, operand = composer.assembly.helpers, composer.inputs[0]
    for word in WORDS:
        composer.word(f"wk_{word}", f"wk_{word}")
    for name, loop in LOOPS.items():
        helpers[name] = functools.partial(loop_text, loop)
    helpers["wk_exclusive"] = lambda: f"const wk_exclusive = {str(scan.exclusive).lower()};"
    helpers["wk_backward"] = lambda: f"const wk_backward = {str(scan.reverse).lower()};"
    helpers["wk_Total"] = lambda: f"alias wk_Total = {total_type(composer)};"
    helpers["wk_load"] = lambda: _load(scan, operand)
    helpers["wk_load4"] = lambda: _load4(scan, operand)
    helpers["wk_lift"] = lambda: lift_text(composer, operand)
    helpers["wk_join"] = lambda: join_text(composer, operand)
    helpers["wk_finished"] = lambda: _finished(composer)
    helpers["wk_store"] = lambda: _store(composer)
    helpers["wk_store4"] = lambda: _store4(composer)
    helpers["wk_total_before"] = lambda: _TOTAL_BEFORE
    helpers["wk_totals_between"] = lambda: _BETWEEN if stage == "final" else _NONE_BETWEEN
    helpers["wk_partial"] = lambda: _partial(composer)
    helpers["wk_store_total"] = lambda: _store_total(composer)
    if scan.method == "tiles":
        helpers["wk_run"] = lambda: f"const wk_run = {_run(composer)}u;"
        stride = total_bytes(composer.source, composer.types)
        composer.workgroup_bytes = TILE_LANES * (_run(composer) + 1) * stride
    if stage != "whole":
        composer.partials = "u32" if is_bool(composer) else total_type(composer)
        composer.writes_partials = stage == "partial"
    return composer.source.functions["combine"]


def total_bytes(source: Source, types: Types) -> int:
    """Return the bytes from one accumulator to the next in an array; 0 if they are not known."""
    try:
        return types.layout(source.functions["init"].returns or "").stride
    except UnknownTypeError:
        return 0


def _run(composer: Composer) -> int:
    """Return how many neighbours a lane of a tile takes: a power of two."""
    run = LONGEST_RUN
    while run > 1 and run * TILE_LANES * total_bytes(composer.source, composer.types) > TILE_BYTES:
        run //= 2
    return run


def _load(scan: Scan, operand: Operand) -> str:
    composer = scan.composer
    lines: list[str] = []
    is_computed = operand.name in composer.before
    if operand.access == "value":
        value = composer.value(operand)
    elif operand.access == "strided":
        sizes = composer.slots("wk_shape", "wk_shape", operand.rank, pad=1)
        lines, coordinates = unravel("i", sizes, "wk_c")
        name = f"wk_{operand.wgsl}"
        strides = composer.slots(f"{name}_strides", f"wk_{operand.name}_strides", operand.rank)
        offset = composer.word(f"{name}_offset", f"wk_{operand.name}_offset")
        value = f"{composer.variable(operand)}[{dot(coordinates, strides, offset)}]"
    else:
        value = composer.loaded(operand, "i")
    if operand.dtype == "bool" and operand.access != "value" and not is_computed:
        value = f"{value} != 0u"
    lines.append(f"return {value};")
    return f"fn wk_load(i: u32) -> {operand.value_type} {{\n  " + "\n  ".join(lines) + "\n}"


def _load4(scan: Scan, operand: Operand) -> str:
    """Return the function that loads four neighbours, from a multiple of four on."""
    composer = scan.composer
    type_ = f"vec4<{operand.value_type}>"
    if not scan.wide:
        value = f"{type_}({', '.join(f'wk_load(i + {lane}u)' for lane in range(4))})"
    elif operand.name in composer.before:
        value = composer.loaded(operand, "i / 4u")
    else:
        value = f"{composer.variable(operand, f'vec4<{operand.storage_type}>')}[i / 4u]"
        if operand.dtype == "bool":
            value = f"{value} != vec4<u32>()"
    return f"fn wk_load4(i: u32) -> {type_} {{ return {value}; }}"


def _finished(composer: Composer) -> str:
    value = finished(composer, "total", "n")
    return f"fn wk_finished(total: wk_Total, n: u32) -> T_y {{ return {value}; }}"


def _store(composer: Composer) -> str:
    output = composer.outputs[0]
    value = "u32(value)" if output.dtype == "bool" else "value"
    return f"fn wk_store(i: u32, value: T_y) {{ {composer.stored(output, 'i', value)} }}"


def _store4(composer: Composer) -> str:
    """Return the function that stores four neighbours, from a multiple of four on."""
    output = composer.outputs[0]
    type_ = f"vec4<{output.storage_type}>"
    values = f"{type_}(values)" if output.dtype == "bool" else "values"
    if composer.after is not None and composer.after.structure.vec4:
        lines = [f"wk_hand_on(i / 4u, {values});"]
    elif composer.after is not None:
        size = composer.word("wk_y_size", f"{output.name}_size")
        lines = [f"let stored = {values};"]
        for lane in range(4):
            store = composer.stored(output, f"i + {lane}u", f"stored[{lane}]")
            lines.append(f"if (i + {lane}u < {size}) {{ {store} }}")
    else:
        lines = [f"{composer.variable(output, type_)}[i / 4u] = {values};"]
    return "fn wk_store4(i: u32, values: vec4<T_y>) {\n  " + "\n  ".join(lines) + "\n}"


def _partial(composer: Composer) -> str:
    value = f"{PARTIALS}[number * wk_params.wk_rows + row]"
    value = f"{value} != 0u" if is_bool(composer) else value
    return f"fn wk_partial(row: u32, number: u32) -> wk_Total {{ return {value}; }}"


def _store_total(composer: Composer) -> str:
    value = "u32(total)" if is_bool(composer) else "total"
    return (
        "fn wk_store_total(row: u32, number: u32, total: wk_Total) "
        f"{{ {PARTIALS}[number * wk_params.wk_rows + row] = {value}; }}"
    )


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
