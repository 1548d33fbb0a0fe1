"""Composing reductions: y[row] = finish(combine of lift(x[row, i]) over i), and the rows' maps.

Whatever reads the input goes through ``wk_load(place)`` and ``wk_load_vec4(place / 4)``, whatever
writes the output through ``wk_store_result``, ``wk_store`` and ``wk_store4``: of a row-major input
the place is the element's flat index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.forms.elements import stored_element
from wgsl_kernels.backends.webgpu.composing.forms.exchanges import exchanged
from wgsl_kernels.backends.webgpu.composing.forms.totals import (
    add_partials,
    finished,
    join_text,
    lift_text,
)
from wgsl_kernels.backends.webgpu.composing.text.indexing import dot, unravel

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.backends.webgpu.modules.source import Source
    from wgsl_kernels.wgsl.facts.facts import FunctionDeclaration

CHUNK = 16384
"""The most elements that one workgroup or one invocation reduces. Longer rows take two stages."""

Variant = Literal["rows", "columns", "eights", "lanes", "subgroups"]


@dataclass(frozen=True, slots=True)
class Reduction:
    """One stage of a reduction, being composed.

    Attributes:
        composer: The kernel; its first input has ``kept`` + reduced axes.
        stage: ``whole`` does everything at once; ``partial`` reduces each part of a row,
            ``final`` the partial results, ``apply`` does too and maps one part.
        kept: How many of the input's axes remain, which are the leading ones.
        wide: The input, and a normalization's output, is bound as vec4: all four elements loaded
            together lie together, at a multiple of four.
        beside: An invocation takes neighbouring rows, whose elements are neighbours.
    """

    composer: Composer
    stage: Stage
    kept: int
    wide: bool
    beside: bool


def is_normalization(source: Source) -> bool:
    """Say whether a reduction also maps the elements that it has reduced."""
    return "apply" in source.functions


def add_reduction(reduction: Reduction) -> FunctionDeclaration:
    """Add what the templates of reductions call; return the author's ``combine``."""
    composer = reduction.composer
    operand = composer.inputs[0]
    helpers = composer.assembly.helpers
    helpers["wk_exchanged"] = lambda: exchanged(composer)
    helpers["wk_store_result"] = lambda: _store_result(composer)
    helpers["wk_begin"] = lambda: places(reduction, operand, "")[0]
    helpers["wk_place"] = lambda: places(reduction, operand, "")[1]
    helpers["wk_load"] = lambda: _load(reduction, operand)
    helpers["wk_load_vec4"] = lambda: _load_vec4(reduction, operand)
    helpers["wk_lift"] = lambda: lift_text(composer, operand)
    helpers["wk_join"] = lambda: join_text(composer, operand)
    add_partials(composer, reduction.stage)
    return composer.source.functions["combine"]


def places(reduction: Reduction, operand: Operand, name: str) -> tuple[str, str]:
    """Return functions from a row to where it begins, and on to its element ``i``.

    They are called ``wk_<name>begin`` and ``wk_<name>place``.
    """
    composer, kept = reduction.composer, reduction.kept
    begin, place = f"fn wk_{name}begin(row: u32) -> u32", "(base: u32, i: u32) -> u32"
    place = f"fn wk_{name}place{place}"
    access = composer.inputs[0].access
    if access == "value":
        return f"{begin} {{ return 0u; }}", f"{place} {{ return 0u; }}"
    if access == "flat":
        start = f"row * {composer.word('wk_n', 'wk_n')}"
        return f"{begin} {{ return {start}; }}", f"{place} {{ return base + i; }}"
    sizes, strides, offset = _view(composer, operand)
    lines, coordinates = unravel("row", sizes[:kept], "wk_c")
    lines.append(f"return {dot(coordinates, strides[:kept], offset)};")
    first = f"{begin} {{\n  " + "\n  ".join(lines) + "\n}"
    if reduction.wide and not reduction.beside:
        return first, f"{place} {{ return base + i; }}"
    lines, coordinates = unravel("i", sizes[kept:], "wk_c")
    lines.append(f"return {dot(coordinates, strides[kept:], 'base')};")
    return first, f"{place} {{\n  " + "\n  ".join(lines) + "\n}"


def _view(composer: Composer, operand: Operand) -> tuple[list[str], list[str], str]:
    rank = composer.inputs[0].rank
    sizes = composer.slots("wk_shape", "wk_shape", rank, pad=1)
    name = f"wk_{operand.wgsl}"
    strides = composer.slots(f"{name}_strides", f"wk_{operand.name}_strides", rank)
    if operand in composer.outputs:
        return sizes, strides, ""
    return sizes, strides, composer.word(f"{name}_offset", f"wk_{operand.name}_offset")


def _load(reduction: Reduction, operand: Operand) -> str:
    """Return the function that loads one element: of a plain input the one of that flat index."""
    composer = reduction.composer
    is_computed = operand.name in composer.before
    if operand.access == "value":
        loaded = composer.value(operand)
    elif reduction.wide and is_computed:
        loaded = f"{composer.loaded(operand, 'place / 4u')}[place % 4u]"
    elif reduction.wide:
        loaded = f"{_wide(composer, operand)}[place / 4u][place % 4u]"
    else:
        loaded = composer.loaded(operand, "place")
    if operand.dtype == "bool" and operand.access != "value" and not is_computed:
        loaded = f"{loaded} != 0u"
    return f"fn wk_load(place: u32) -> {operand.value_type} {{ return {loaded}; }}"


def _load_vec4(reduction: Reduction, operand: Operand) -> str:
    """Return the function that loads the four elements from four times ``number`` on."""
    composer = reduction.composer
    if operand.name in composer.before:
        loaded = composer.loaded(operand, "number")
    else:
        loaded = f"{_wide(composer, operand)}[number]"
        loaded = f"{loaded} != vec4<u32>()" if operand.dtype == "bool" else loaded
    return f"fn wk_load_vec4(number: u32) -> vec4<{operand.value_type}> {{ return {loaded}; }}"


def _wide(composer: Composer, operand: Operand) -> str:
    return composer.variable(operand, f"vec4<{operand.storage_type}>")


def _store_result(composer: Composer) -> str:
    output = composer.outputs[0]
    value = finished(composer, "total", composer.word("wk_n", "wk_n"))
    stored = composer.stored(output, "row", stored_element(output, value))
    return f"fn wk_store_result(row: u32, total: wk_Total) {{ {stored} }}"
