"""Composing what normalizations write: y[row, i] = apply(x[row, i], the row's total)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.row_loads import places
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.composing.operands import Operand
    from wgsl_kernels.backends.webgpu.composing.row_loads import Reduction

JOINED = """fn wk_total(row: u32, base: u32) -> wk_Total {
  var total = init();
  for (var part = 0u; part < wk_parts(); part++) {
    total = combine(total, wk_partial(row, part));
  }
  return total;
}"""
JOINED_BY_LANES = """fn wk_lane_total(row: u32, base: u32, lane: u32) -> wk_Total {
  var total = init();
  for (var part = lane; part < wk_parts(); part += GROUP) {
    total = combine(total, wk_partial(row, part));
  }
  return total;
}"""
_FOUR_TOTALS = "array<wk_Total, 4>"
_WRITE_FOUR = """fn wk_write4(base: u32, there: u32, i: u32, total: wk_Settled) {
  wk_put(there, i, wk_applied(wk_quad(base, i), i, total));
}"""


def add_writes(reduction: Reduction) -> None:
    """Add what the normalizing skeletons call: a row's total, and the stores."""
    composer = reduction.composer
    output = composer.outputs[0]
    _check(reduction)
    helpers = composer.assembly.helpers
    joins = reduction.stage == "apply"
    helpers["wk_total"] = lambda: JOINED if joins else _WHOLE_TOTAL
    helpers["wk_totals"] = lambda: _JOINED_TOTALS if joins else _WHOLE_TOTALS
    helpers["wk_lane_total"] = lambda: JOINED_BY_LANES if joins else _WHOLE_LANE
    helpers["wk_Settled"] = lambda: f"alias wk_Settled = {_settled_type(reduction)};"
    helpers["wk_settled"] = lambda: _settled(reduction)
    helpers["wk_y_begin"] = lambda: places(reduction, output, "y_")[0]
    helpers["wk_y_place"] = lambda: places(reduction, output, "y_")[1]
    helpers["wk_store"] = lambda: _store(reduction)
    helpers["wk_store4"] = lambda: _store4(reduction)
    helpers["wk_write"] = lambda: _write(reduction)
    helpers["wk_write4"] = lambda: _WRITE_FOUR
    helpers["wk_applied"] = lambda: _applied(reduction)
    helpers["wk_put"] = lambda: _put(reduction)
    helpers["wk_write_across"] = lambda: _write_across(reduction)
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
    place = "[i]" if reduction.variant == "columns" else "[i / 4u][i % 4u]"
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
    element = operand.storage_type if reduction.variant == "columns" else wide
    return f"{composer.variable(operand, element)}{place}"


def _write(reduction: Reduction) -> str:
    others = _others_at(reduction, "{}_at(i)")
    call = _call(reduction, "wk_load(wk_place(base, i))", "i", "total", others)
    return (
        "fn wk_write(base: u32, there: u32, i: u32, total: wk_Settled) "
        f"{{ wk_store(wk_y_place(there, i), {call}); }}"
    )


def _applied(reduction: Reduction) -> str:
    """Return the function from four elements of one row, which begin at ``i``, to their results."""
    composer = reduction.composer
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
    given, made = composer.inputs[0].value_type, f"vec4<{composer.outputs[0].value_type}>"
    signature = f"fn wk_applied(x: vec4<{given}>, i: u32, total: wk_Settled) -> {made}"
    return f"{signature} {{\n{loads}  return {made}({', '.join(calls)});\n}}"


def _put(reduction: Reduction) -> str:
    """Return the function that stores four elements of one row."""
    if reduction.wide:
        stores = "wk_store4(wk_y_place(there, i), value);"
    else:
        stores = "\n  ".join(
            f"wk_store(wk_y_place(there, i + {lane}u), value[{lane}]);" for lane in range(4)
        )
    made = f"vec4<{reduction.composer.outputs[0].value_type}>"
    return f"fn wk_put(there: u32, i: u32, value: {made}) {{\n  {stores}\n}}"


def _write_across(reduction: Reduction) -> str:
    others = _others_at(reduction, "{}")
    names = [f"wk_{one.wgsl}" for one in _others(reduction)]
    loads = "".join(f"  let {name} = {name}_at(i);\n" for name in names)
    calls = [_call(reduction, f"x[{lane}]", "i", f"totals[{lane}]", others) for lane in range(4)]
    value = f"vec4<{reduction.composer.outputs[0].value_type}>({', '.join(calls)})"
    if reduction.wide:
        stores = "wk_store4(place, value);"
    else:
        stores = "\n  ".join(
            f"if (done < {lane + 1}u) {{ wk_store(place + {lane}u, value[{lane}]); }}"
            for lane in range(4)
        )
    signature = "base: u32, there: u32, i: u32, done: u32, totals: array<wk_Settled, 4>"
    return (
        f"fn wk_write_across({signature}) {{\n"
        f"  let x = wk_beside(wk_place(base, i));\n{loads}"
        f"  let value = {value};\n  let place = wk_y_place(there, i);\n  {stores}\n}}"
    )


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


_WHOLE_TOTAL = (
    "fn wk_total(row: u32, base: u32) -> wk_Total { return wk_along(base, 0u, wk_length()); }"
)
_WHOLE_TOTALS = (
    f"fn wk_totals(row: u32, base: u32) -> {_FOUR_TOTALS} "
    "{ return wk_across(base, 0u, wk_length()); }"
)
_WHOLE_LANE = (
    "fn wk_lane_total(row: u32, base: u32, lane: u32) -> wk_Total "
    "{ return wk_strided(base, 0u, wk_length(), lane); }"
)
_JOINED_TOTALS = f"""fn wk_totals(row: u32, base: u32) -> {_FOUR_TOTALS} {{
  return {_FOUR_TOTALS}(
    wk_total(row, base), wk_total(row + 1u, base),
    wk_total(row + 2u, base), wk_total(row + 3u, base)
  );
}}"""
