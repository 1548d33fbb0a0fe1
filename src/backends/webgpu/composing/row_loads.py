"""What a stage of a reduction reads: elements of rows, or partial results.

Every load of the input goes through ``wk_load(place)`` and ``wk_load4(place)``: of a row-major
input the place is the element's flat index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.indexing import dot, unravel
from wgsl_kernels.backends.webgpu.composing.totals import (
    is_bool,
    join_lifted,
    join_text,
    lift_text,
    loaded_partial,
    total_type,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.operands import Operand

Stage = Literal["whole", "partial", "final", "apply"]
Variant = Literal["rows", "columns", "eights", "lanes", "subgroups"]
BESIDE = ("columns", "eights")
"""The variants of which an invocation takes neighbouring rows, whose elements are neighbours."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """One stage of a reduction, being composed.

    Attributes:
        composer: The kernel; its first input has ``kept`` + reduced axes.
        variant: ``rows``: an invocation per row; ``columns``: per four neighbouring rows, whose
            elements are neighbours too; ``eights``: per eight; ``lanes``: a workgroup per row;
            ``subgroups``: a few lanes of a subgroup per row.
        stage: ``whole`` does everything at once; ``partial`` reduces each part of a row,
            ``final`` the partial results, ``apply`` does too and maps one part.
        kept: How many of the input's axes remain, which are the leading ones.
        wide: The input, and a normalization's output, is bound as vec4: all four elements loaded
            together lie together, at a multiple of four.
        packed: The parts lie along x, behind the rows, and not along z: where there are few rows.
    """

    composer: Composer
    variant: Variant
    stage: Stage
    kept: int
    wide: bool
    packed: bool

    @property
    def element(self) -> str:
        """The accumulator's type as the author wrote it."""
        return total_type(self.composer)

    @property
    def is_bool(self) -> bool:
        """Whether it is bool, which buffers cannot hold."""
        return is_bool(self.composer)


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
    if reduction.wide and reduction.variant not in BESIDE:
        return first, f"{place} {{ return base + i; }}"
    lines, coordinates = unravel("i", sizes[kept:], "wk_c")
    lines.append(f"return {dot(coordinates, strides[kept:], 'base')};")
    return first, f"{place} {{\n  " + "\n  ".join(lines) + "\n}"


def quad_of(element: str, values: list[str]) -> str:
    """Return the expression of four values of one type: a vector, where there are such vectors."""
    if element in ("f32", "f16", "i32", "u32", "bool"):
        return f"vec4<{element}>({', '.join(values)})"
    return f"array<{element}, 4>({', '.join(values)})"


def add_loads(reduction: Reduction) -> None:
    """Add the functions that find, load and lift the elements of a row."""
    composer = reduction.composer
    operand = composer.inputs[0]
    helpers = composer.assembly.helpers
    helpers["wk_begin"] = lambda: places(reduction, operand, "")[0]
    helpers["wk_place"] = lambda: places(reduction, operand, "")[1]
    helpers["wk_load"] = lambda: _load(reduction, operand)
    helpers["wk_load4"] = lambda: _load4(reduction, operand)
    helpers["wk_step"] = lambda: _step(reduction, operand)
    helpers["wk_next"] = lambda: _next(reduction)
    helpers["wk_beside"] = lambda: _beside(reduction, operand.value_type)
    helpers["wk_quad"] = lambda: _quad(reduction, operand.value_type)
    helpers["wk_quads"] = lambda: _quads(reduction, operand)
    helpers["wk_Quad"] = lambda: f"alias wk_Quad = {_quad_type(operand.value_type)};"
    helpers["wk_lift"] = lambda: lift_text(composer, operand)
    helpers["wk_join"] = lambda: join_text(composer, operand)


def add_partial_loads(reduction: Reduction) -> None:
    """Add those functions for the partial results, which are lifted already."""
    helpers = reduction.composer.assembly.helpers
    helpers["wk_begin"] = lambda: "fn wk_begin(row: u32) -> u32 { return row; }"
    helpers["wk_place"] = lambda: _PARTIAL_PLACE
    helpers["wk_load"] = lambda: (
        f"fn wk_load(place: u32) -> wk_Total {{ return {partial_at(reduction, 'place')}; }}"
    )
    helpers["wk_quad"] = lambda: _quad(reduction, "wk_Total")
    helpers["wk_quads"] = lambda: _EACH_QUAD
    helpers["wk_Quad"] = lambda: f"alias wk_Quad = {_quad_type('wk_Total')};"
    helpers["wk_lift"] = lambda: "fn wk_lift(x: wk_Total, i: u32) -> wk_Total { return x; }"
    helpers["wk_join"] = lambda: join_lifted("wk_Total")


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


def _load4(reduction: Reduction, operand: Operand) -> str:
    """Return the function that loads four elements together, from a multiple of four on."""
    loaded = _four(reduction, operand, "place / 4u")
    return f"fn wk_load4(place: u32) -> vec4<{operand.value_type}> {{ return {loaded}; }}"


def _four(reduction: Reduction, operand: Operand, number: str) -> str:
    """Return the expression of the four elements from four times ``number`` on."""
    composer = reduction.composer
    if operand.name in composer.before:
        return composer.loaded(operand, number)
    loaded = f"{_wide(composer, operand)}[{number}]"
    return f"{loaded} != vec4<u32>()" if operand.dtype == "bool" else loaded


def _wide(composer: Composer, operand: Operand) -> str:
    return composer.variable(operand, f"vec4<{operand.storage_type}>")


def _quad(reduction: Reduction, element: str) -> str:
    """Return the function that loads four elements of a row."""
    value = quad_of(element, [f"wk_load(wk_place(base, i + {lane}u))" for lane in range(4)])
    if reduction.wide and reduction.stage != "final":
        value = "wk_load4(wk_place(base, i))"
    return f"fn wk_quad(base: u32, i: u32) -> wk_Quad {{ return {value}; }}"


def _quad_type(element: str) -> str:
    return quad_of(element, []).partition("(")[0]


def _quads(reduction: Reduction, operand: Operand) -> str:
    """Return the function that loads sixteen elements of a row, of one address where it can be."""
    if not reduction.wide:
        return _EACH_QUAD
    fours = ", ".join(_four(reduction, operand, f"first + {n}u") for n in range(4))
    return (
        "fn wk_quads(base: u32, i: u32) -> array<wk_Quad, 4> {\n"
        "  let first = wk_place(base, i) / 4u;\n"
        f"  return array<wk_Quad, 4>({fours});\n}}"
    )


def _beside(reduction: Reduction, element: str) -> str:
    """Return the function that loads an element of each of four neighbouring rows."""
    value = quad_of(element, [f"wk_load(place + {lane}u)" for lane in range(4)])
    value = "wk_load4(place)" if reduction.wide else value
    return f"fn wk_beside(place: u32) -> wk_Quad {{ return {value}; }}"


def _step(reduction: Reduction, operand: Operand) -> str:
    """Return the function that says how far apart the elements of a row lie, if all do so alike."""
    step = "0u"
    if _is_even(reduction):
        *_, step = _view(reduction.composer, operand)[1]
    return f"fn wk_step() -> u32 {{ return {step}; }}"


def _next(reduction: Reduction) -> str:
    """Return the function from the place of the element before ``i`` to that of ``i``.

    A CPU multiplies slowly, and reads a parameter again each time.
    """
    value = "place + step" if _is_even(reduction) else "wk_place(base, i)"
    return f"fn wk_next(place: u32, step: u32, base: u32, i: u32) -> u32 {{ return {value}; }}"


def _is_even(reduction: Reduction) -> bool:
    """Say whether the elements of a row lie along one axis of a view."""
    first = reduction.composer.inputs[0]
    return first.access == "strided" and first.rank == reduction.kept + 1


def partial_at(reduction: Reduction, place: str) -> str:
    """Return the expression of a partial result; they lie [part, row]."""
    return loaded_partial(reduction.composer, place)


_PARTIAL_PLACE = "fn wk_place(base: u32, i: u32) -> u32 { return base + i * wk_rows(); }"
_EACH_QUAD = """fn wk_quads(base: u32, i: u32) -> array<wk_Quad, 4> {
  return array<wk_Quad, 4>(
    wk_quad(base, i), wk_quad(base, i + 4u), wk_quad(base, i + 8u), wk_quad(base, i + 12u)
  );
}"""
