"""Composing what normalizations write: y[row, i] = apply(x[row, i], the row's total)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.reductions import places
from wgsl_kernels.engine.environment.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.composing.forms.reductions import Reduction
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand


def add_writes(reduction: Reduction) -> None:
    """Add what the templates of normalizations call beside those of reductions."""
    composer = reduction.composer
    output = composer.outputs[0]
    _check(reduction)
    helpers = composer.assembly.helpers
    helpers["wk_Settled"] = lambda: f"alias wk_Settled = {_settled_type(reduction)};"
    helpers["wk_settled"] = lambda: _settled(reduction)
    helpers["wk_y_begin"] = lambda: places(reduction, output, "y_")[0]
    helpers["wk_y_place"] = lambda: places(reduction, output, "y_")[1]
    helpers["wk_store"] = lambda: _store(reduction)
    helpers["wk_store4"] = lambda: _store4(reduction)
    helpers["wk_applied"] = lambda: _applied(reduction)
    helpers["wk_applied4"] = lambda: _applied4(reduction)
    helpers["wk_applied_across"] = lambda: _applied_across(reduction)
    for operand in _others(reduction):
        name = f"wk_{operand.wgsl}"
        helpers[f"{name}_at"] = functools.partial(_other, reduction, operand)
        helpers[f"{name}_four"] = functools.partial(_other_four, reduction, operand)


def _check(reduction: Reduction) -> None:
    """Refuse types that vectors cannot have."""
    composer = reduction.composer
    for operand in (composer.inputs[0], *_others(reduction), composer.outputs[0]):
        if operand.dtype in ("complex64", "bool"):
            apply = composer.source.functions["apply"]
            message = f"{composer.kernel}: apply has {operand.name} of {operand.dtype}; want a real"
            raise ShaderError(composer.source.point(f"{message} number.", apply))


def _settled_type(reduction: Reduction) -> str:
    settle = reduction.composer.source.functions.get("settle")
    return "wk_Total" if settle is None else settle.returns or ""


def _settled(reduction: Reduction) -> str:
    """Return the function that makes of a row's total, once, what apply is given."""
    composer = reduction.composer
    settle = composer.source.functions.get("settle")
    value = "total"
    if settle is not None:
        count = f", {composer.word('wk_n', 'wk_n')}" if len(settle.parameters) > 1 else ""
        value = f"settle(total{count})"
    return f"fn wk_settled(total: wk_Total) -> wk_Settled {{ return {value}; }}"


def _call(reduction: Reduction, x: str, i: str, total: str, others: Mapping[str, str]) -> str:
    """Return the call of apply: inputs by name, ``i`` and ``n``, and the total under any other."""
    composer = reduction.composer
    values = {"i": i, **others}
    for name in composer.inputs[0].spellings:
        values[name] = x
    names = [parameter.name for parameter in composer.source.functions["apply"].parameters]
    if "n" in names:
        values["n"] = composer.word("wk_n", "wk_n")
    return f"apply({', '.join(values.get(name, total) for name in names)})"


def _others(reduction: Reduction) -> list[Operand]:
    """Return the further inputs that apply names; there may be others, of maps fused before it."""
    composer = reduction.composer
    named = {parameter.name for parameter in composer.source.functions["apply"].parameters}
    return [one for one in composer.inputs[1:] if named & set(one.spellings)]


def _others_at(reduction: Reduction, write: str) -> dict[str, str]:
    """Return an expression for each further input by its name, ``{}`` standing for its variable."""
    others = _others(reduction)
    return {name: write.format(f"wk_{one.wgsl}") for one in others for name in one.spellings}


def _other(reduction: Reduction, operand: Operand) -> str:
    """Return the function that loads element ``i`` of a further input, which has one per column."""
    place = "[i]" if reduction.beside else "[i / 4u][i % 4u]"
    value = _value_of(reduction, operand, place) or f"{operand.value_type}()"
    return f"fn wk_{operand.wgsl}_at(i: u32) -> {operand.value_type} {{ return {value}; }}"


def _other_four(reduction: Reduction, operand: Operand) -> str:
    """Return the function that loads the four elements from ``i`` on, a multiple of four."""
    type_ = f"vec4<{operand.value_type}>"
    value = _value_of(reduction, operand, "[i / 4u]") or ""
    return f"fn wk_{operand.wgsl}_four(i: u32) -> {type_} {{ return {type_}({value}); }}"


def _value_of(reduction: Reduction, operand: Operand, place: str) -> str | None:
    composer = reduction.composer
    if operand.access == "absent":
        return None
    if operand.access == "value":
        return composer.value(operand)
    wide = f"vec4<{operand.storage_type}>"
    element = operand.storage_type if reduction.beside else wide
    return f"{composer.variable(operand, element)}{place}"


def _applied(reduction: Reduction) -> str:
    """Return the function from one element, ``i`` of its row, to its result."""
    call = _call(reduction, "x", "i", "total", _others_at(reduction, "{}_at(i)"))
    signature = "fn wk_applied(x: wk_Input, i: u32, total: wk_Settled) -> wk_Result"
    return f"{signature} {{ return {call}; }}"


def _applied4(reduction: Reduction) -> str:
    """Return the function from four elements of one row, which begin at ``i``, to their results."""
    names = [f"wk_{one.wgsl}" for one in _others(reduction)]
    loads = "".join(f"  let {name} = {name}_four(i);\n" for name in names)
    calls = [
        _call(
            reduction,
            f"x[{lane}]",
            f"i + {lane}u",
            "total",
            _others_at(reduction, f"{{}}[{lane}]"),
        )
        for lane in range(4)
    ]
    signature = "fn wk_applied4(x: vec4<wk_Input>, i: u32, total: wk_Settled)"
    return _vec4_function(signature, loads, calls)


def _applied_across(reduction: Reduction) -> str:
    """Return the function from elements ``i`` of four rows to their results."""
    others = _others_at(reduction, "{}")
    names = [f"wk_{one.wgsl}" for one in _others(reduction)]
    loads = "".join(f"  let {name} = {name}_at(i);\n" for name in names)
    calls = [_call(reduction, f"x[{lane}]", "i", f"totals[{lane}]", others) for lane in range(4)]
    signature = "fn wk_applied_across(x: vec4<wk_Input>, i: u32, totals: array<wk_Settled, 4>)"
    return _vec4_function(signature, loads, calls)


def _vec4_function(signature: str, loads: str, calls: list[str]) -> str:
    value = f"vec4<wk_Result>({', '.join(calls)})"
    return f"{signature} -> vec4<wk_Result> {{\n{loads}  return {value};\n}}"


def _store(reduction: Reduction) -> str:
    composer = reduction.composer
    output = composer.outputs[0]
    signature = f"fn wk_store(place: u32, value: {output.value_type})"
    if reduction.wide and composer.after is None:
        array = composer.variable(output, f"vec4<{output.storage_type}>")
        return f"{signature} {{ {array}[place / 4u][place % 4u] = value; }}"
    return f"{signature} {{ {composer.stored(output, 'place', 'value')} }}"


def _store4(reduction: Reduction) -> str:
    composer = reduction.composer
    output = composer.outputs[0]
    signature = f"fn wk_store4(place: u32, value: vec4<{output.value_type}>)"
    if composer.after is not None:
        stores = [
            composer.stored(output, f"place + {lane}u", f"value[{lane}]") for lane in range(4)
        ]
        return f"{signature} {{\n  " + "\n  ".join(stores) + "\n}"
    array = composer.variable(output, f"vec4<{output.storage_type}>")
    return f"{signature} {{ {array}[place / 4u] = value; }}"
