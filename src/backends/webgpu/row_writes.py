"""Composing what normalizations write: y[row, i] = apply(x[row, i], the row's total)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.row_loads import places
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.operands import Operand
    from wgsl_kernels.backends.webgpu.row_loads import Reduction

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
    helpers["wk_y_begin"] = lambda: places(reduction, output, "y_")[0]
    helpers["wk_y_place"] = lambda: places(reduction, output, "y_")[1]
    helpers["wk_store"] = lambda: _store(reduction)
    helpers["wk_store4"] = lambda: _store4(reduction)
    helpers["wk_write"] = lambda: _write(reduction)
    helpers["wk_write4"] = lambda: _write4(reduction)
    helpers["wk_write_across"] = lambda: _write_across(reduction)
    for operand in composer.inputs[1:]:
        helpers[f"wk_{operand.wgsl}_at"] = lambda operand=operand: _other(reduction, operand)


def _check(reduction: Reduction) -> None:
    """Refuse types that vectors cannot have."""
    composer = reduction.composer
    for operand in (composer.inputs[0], composer.outputs[0]):
        if operand.dtype in ("complex64", "bool"):
            apply = composer.source.functions["apply"]
            message = f"{composer.kernel}: apply has {operand.name} of {operand.dtype}; want a real"
            raise ShaderError(composer.source.point(f"{message} number.", apply))


def _call(reduction: Reduction, x: str, i: str, total: str) -> str:
    """Return the call of apply: inputs by name, ``i`` and ``n``, and the total under any other."""
    composer = reduction.composer
    values = {"i": i}
    for operand in composer.inputs[1:]:
        for name in operand.spellings:
            values[name] = f"wk_{operand.wgsl}_at({i})"
    for name in composer.inputs[0].spellings:
        values[name] = x
    names = [parameter.name for parameter in composer.source.functions["apply"].parameters]
    if "n" in names:
        values["n"] = composer.word("wk_n", "wk_n")
    return f"apply({', '.join(values.get(name, total) for name in names)})"


def _other(reduction: Reduction, operand: Operand) -> str:
    """Return the function that loads element ``i`` of a further input, which has one per column."""
    composer = reduction.composer
    if operand.access == "absent":
        value = f"{operand.value_type}()"
    elif operand.access == "value":
        value = composer.value(operand)
    else:
        value = f"{composer.variable(operand)}[i]"
    return f"fn wk_{operand.wgsl}_at(i: u32) -> {operand.value_type} {{ return {value}; }}"


def _write(reduction: Reduction) -> str:
    call = _call(reduction, "wk_load(wk_place(base, i))", "i", "total")
    return (
        "fn wk_write(base: u32, there: u32, i: u32, total: wk_Total) "
        f"{{ wk_store(wk_y_place(there, i), {call}); }}"
    )


def _write4(reduction: Reduction) -> str:
    calls = [_call(reduction, f"x[{lane}]", f"i + {lane}u", "total") for lane in range(4)]
    value = f"vec4<{reduction.composer.outputs[0].value_type}>({', '.join(calls)})"
    return (
        "fn wk_write4(base: u32, there: u32, i: u32, total: wk_Total) {\n"
        f"  let x = wk_quad(base, i);\n  let value = {value};\n  {_stores(reduction)}\n}}"
    )


def _stores(reduction: Reduction) -> str:
    """Return the statements that store four elements of one row."""
    if reduction.wide:
        return "wk_store4(wk_y_place(there, i), value);"
    return "\n  ".join(
        f"wk_store(wk_y_place(there, i + {lane}u), value[{lane}]);" for lane in range(4)
    )


def _write_across(reduction: Reduction) -> str:
    calls = [_call(reduction, f"x[{lane}]", "i", f"totals[{lane}]") for lane in range(4)]
    value = f"vec4<{reduction.composer.outputs[0].value_type}>({', '.join(calls)})"
    if reduction.wide:
        stores = "wk_store4(place, value);"
    else:
        stores = "\n  ".join(
            f"if (done < {lane + 1}u) {{ wk_store(place + {lane}u, value[{lane}]); }}"
            for lane in range(4)
        )
    return (
        f"fn wk_write_across(base: u32, there: u32, i: u32, done: u32, totals: {_FOUR_TOTALS}) {{\n"
        "  let x = wk_quad(base, i);\n"
        f"  let value = {value};\n  let place = wk_y_place(there, i);\n  {stores}\n}}"
    )


def _store(reduction: Reduction) -> str:
    composer = reduction.composer
    output = composer.outputs[0]
    signature = f"fn wk_store(place: u32, value: {output.value_type})"
    if reduction.wide:
        array = composer.variable(output, f"vec4<{output.storage_type}>")
        return f"{signature} {{ {array}[place / 4u][place % 4u] = value; }}"
    return f"{signature} {{ {composer.variable(output)}[place] = value; }}"


def _store4(reduction: Reduction) -> str:
    composer = reduction.composer
    output = composer.outputs[0]
    array = composer.variable(output, f"vec4<{output.storage_type}>")
    signature = f"fn wk_store4(place: u32, value: vec4<{output.value_type}>)"
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
