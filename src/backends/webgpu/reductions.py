"""Composing reductions: y[row] = finish(combine of lift(x[row, i]) over i)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composed import PARTIALS
from wgsl_kernels.backends.webgpu.indexing import dot, unravel
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composer import Composer
    from wgsl_kernels.backends.webgpu.wgsl.facts import Function

Stage = Literal["whole", "partial", "final"]

CHUNK = 16384
"""The most elements that one workgroup or one invocation reduces. Larger ones take two stages."""


def add_reduction(composer: Composer, stage: Stage, kept: int) -> Function:
    """Add to ``composer`` what the reduction skeletons call; return the author's ``combine``.

    Args:
        composer: The kernel being composed; its one input has ``kept`` + reduced axes.
        stage: ``whole`` reduces all at once, ``partial`` one chunk to a partial result each,
            ``final`` the partial results.
        kept: How many of the input's axes remain, which are the leading ones.
    """
    functions = composer.source.functions
    element = functions["init"].returns or ""
    parts = _partials(composer, element)
    helpers = composer.assembly.helpers
    helpers["wk_Total"] = lambda: f"alias wk_Total = {element};"
    helpers["wk_rows"] = lambda: _word(composer, "wk_rows", f"{composer.outputs[0].name}_size")
    if stage == "partial":
        helpers["wk_parts"] = lambda: _word(composer, "wk_parts", "wk_parts")
        helpers["wk_first_part"] = lambda: _word(composer, "wk_first_part", "wk_first_part")
        helpers["wk_last_part"] = lambda: _word(composer, "wk_last_part", "wk_last_part")
        helpers["wk_part_size"] = lambda: _word(composer, "wk_part_size", "wk_part_size")
        helpers["wk_finish"] = lambda: parts.store
    else:
        helpers["wk_first_part"] = lambda: "fn wk_first_part() -> u32 { return 0u; }"
        helpers["wk_last_part"] = lambda: "fn wk_last_part() -> u32 { return 1u; }"
        helpers["wk_part_size"] = lambda: "fn wk_part_size() -> u32 { return wk_length(); }"
        helpers["wk_finish"] = lambda: _finish(composer, element)
    if stage == "final":
        helpers["wk_length"] = lambda: _word(composer, "wk_length", "wk_parts")
        helpers["wk_base"] = lambda: "fn wk_base(row: u32) -> u32 { return row * wk_length(); }"
        helpers["wk_lift"] = lambda: parts.load
    else:
        helpers["wk_length"] = lambda: _word(composer, "wk_length", "wk_n")
        helpers["wk_base"] = lambda: _base(composer, kept)
        helpers["wk_lift"] = lambda: _lift(composer, element, kept)
    if stage != "whole":
        composer.partials = parts.storage
        composer.writes_partials = stage == "partial"
    return functions["combine"]


@dataclass(frozen=True, slots=True)
class _Partials:
    """How partial results lie in a buffer, and the functions that move them."""

    storage: str
    load: str
    store: str


def _partials(composer: Composer, element: str) -> _Partials:
    is_bool = composer.types.resolve(element) == "bool"
    loaded = f"{PARTIALS}[base + i]" + (" != 0u" if is_bool else "")
    value = "u32(total)" if is_bool else "total"
    return _Partials(
        "u32" if is_bool else element,
        f"fn wk_lift(base: u32, i: u32) -> {element} {{ return {loaded}; }}",
        f"fn wk_finish(row: u32, part: u32, total: {element}) "
        f"{{ {PARTIALS}[row * wk_parts() + part] = {value}; }}",
    )


def _word(composer: Composer, function: str, fact: str) -> str:
    return f"fn {function}() -> u32 {{ return {composer.word(f'wk_{fact}', fact)}; }}"


def _base(composer: Composer, kept: int) -> str:
    """Return the function from a row to where its elements begin."""
    operand = composer.inputs[0]
    if operand.access == "value":
        return "fn wk_base(row: u32) -> u32 { return 0u; }"
    if operand.access == "flat":
        return f"fn wk_base(row: u32) -> u32 {{ return row * {composer.word('wk_n', 'wk_n')}; }}"
    sizes, strides, offset = _view(composer)
    lines, coordinates = unravel("row", sizes[:kept], "wk_c")
    lines.append(f"return {dot(coordinates, strides[:kept], offset)};")
    return "fn wk_base(row: u32) -> u32 {\n  " + "\n  ".join(lines) + "\n}"


def _lift(composer: Composer, element: str, kept: int) -> str:
    """Return the function from a row's beginning and an element's number to what is combined."""
    operand = composer.inputs[0]
    lines: list[str] = []
    if operand.access == "value":
        loaded = composer.value(operand)
    else:
        place = "base + i"
        if operand.access == "strided":
            sizes, strides, _ = _view(composer)
            lines, coordinates = unravel("i", sizes[kept:], "wk_c")
            place = dot(coordinates, strides[kept:], "base")
        loaded = f"{composer.variable(operand)}[{place}]"
        loaded = f"({loaded} != 0u)" if operand.dtype == "bool" else loaded
    lift = composer.source.functions.get("lift")
    if lift is None:
        _require_same(composer, "init", element, operand.value_type, "fn lift(x: T, i: u32)")
    elif lift.parameters:
        composer.check_type(lift, lift.parameters[0].type, operand.value_type, operand.name)
        loaded = f"lift({loaded}, i)" if len(lift.parameters) > 1 else f"lift({loaded})"
    lines.append(f"return {loaded};")
    signature = f"fn wk_lift(base: u32, i: u32) -> {element}"
    return f"{signature} {{\n  " + "\n  ".join(lines) + "\n}"


def _finish(composer: Composer, element: str) -> str:
    output = composer.outputs[0]
    finish = composer.source.functions.get("finish")
    value = "total"
    if finish is None:
        _require_same(composer, "combine", element, output.value_type, "fn finish(a, n: u32)")
    else:
        composer.check_type(finish, finish.returns or "", output.value_type, output.name)
        count = f", {composer.word('wk_n', 'wk_n')}" if len(finish.parameters) > 1 else ""
        value = f"finish(total{count})"
    value = f"u32({value})" if output.dtype == "bool" else value
    return (
        f"fn wk_finish(row: u32, part: u32, total: {element}) "
        f"{{ {composer.variable(output)}[row] = {value}; }}"
    )


def _view(composer: Composer) -> tuple[list[str], list[str], str]:
    operand = composer.inputs[0]
    sizes = composer.slots("wk_shape", "wk_shape", operand.rank, pad=1)
    name = f"wk_{operand.wgsl}"
    strides = composer.slots(f"{name}_strides", f"wk_{operand.name}_strides", operand.rank)
    return sizes, strides, composer.word(f"{name}_offset", f"wk_{operand.name}_offset")


def _require_same(composer: Composer, function: str, element: str, wanted: str, need: str) -> None:
    if composer.types.resolve(element) != wanted:
        found = composer.source.functions[function]
        message = (
            f"{composer.kernel}: {function} has {composer.types.resolve(element)} where the "
            f"tensor has {wanted}; want {need}."
        )
        raise ShaderError(composer.source.point(message, found))
