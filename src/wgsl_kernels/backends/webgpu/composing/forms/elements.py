"""Composing how scans and windows move elements: loads, stores, and what the author makes of them.

Whatever reads the input goes through ``wk_load(i)`` and ``wk_load4(i)``, whatever writes the output
through ``wk_store`` and ``wk_store4``. Of a row-major array ``i`` is the element's index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.totals import (
    check_totals,
    finished,
    join_text,
    lift_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand


def add_elements(composer: Composer, *, wide: bool) -> None:
    """Add all but ``wk_load``, which each form has its own of.

    Args:
        composer: The kernel being composed.
        wide: Whether the input is bound as vec4, so that four elements are loaded together.

    Raises:
        ShaderError: A function of the author's has other types than the form wants.
    """
    check_totals(composer)
    helpers, operand = composer.assembly.helpers, composer.inputs[0]
    helpers["wk_load4"] = lambda: _load4(composer, operand, wide=wide)
    helpers["wk_lift"] = lambda: lift_text(composer, operand)
    helpers["wk_join"] = lambda: join_text(composer, operand)
    helpers["wk_finished"] = lambda: _finished(composer)
    helpers["wk_store"] = lambda: _store(composer)
    helpers["wk_store4"] = lambda: _store4(composer)


def load_text(composer: Composer, operand: Operand, place: str, lines: Sequence[str] = ()) -> str:
    """Return the function that loads one element; ``lines`` come before its place is told."""
    is_computed = operand.name in composer.before
    if operand.access == "value":
        value = composer.value(operand)
    else:
        value = composer.loaded(operand, place)
    if operand.dtype == "bool" and operand.access != "value" and not is_computed:
        value = f"{value} != 0u"
    body = "\n  ".join([*lines, f"return {value};"])
    return f"fn wk_load(i: u32) -> {operand.value_type} {{\n  {body}\n}}"


def _load4(composer: Composer, operand: Operand, *, wide: bool) -> str:
    """Return the function that loads four neighbours, from a multiple of four on."""
    type_ = f"vec4<{operand.value_type}>"
    if not wide:
        value = f"{type_}({', '.join(f'wk_load(i + {lane}u)' for lane in range(4))})"
    elif operand.name in composer.before:
        value = composer.loaded(operand, "i / 4u")
    else:
        value = f"{composer.variable(operand, f'vec4<{operand.storage_type}>')}[i / 4u]"
        if operand.dtype == "bool":
            value = f"{value} != vec4<u32>()"
    return f"fn wk_load4(i: u32) -> {type_} {{ return {value}; }}"


def stored_element(output: Operand, value: str) -> str:
    """Return the expression of an element as buffers have it."""
    return f"u32({value})" if output.dtype == "bool" else value


def _finished(composer: Composer) -> str:
    value = finished(composer, "total", "n")
    return f"fn wk_finished(total: wk_Total, n: u32) -> wk_Result {{ return {value}; }}"


def _store(composer: Composer) -> str:
    output = composer.outputs[0]
    stored = composer.stored(output, "i", stored_element(output, "value"))
    return f"fn wk_store(i: u32, value: wk_Result) {{ {stored} }}"


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
    return "fn wk_store4(i: u32, values: vec4<wk_Result>) {\n  " + "\n  ".join(lines) + "\n}"
