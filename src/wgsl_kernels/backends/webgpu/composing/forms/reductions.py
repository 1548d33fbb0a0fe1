"""Composing what combines elements: reductions, scans and windows.

- Reductions: y[row] = finish(combine of lift(x[row, i]) over i), and the maps of rows.
- Scans: y[row, k] = finish(combine of lift(x[row, i]) over i up to k).
- Windows: y[place, channel] = finish(combine of lift(x) over the window there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.elements import (
    add_elements,
    add_places,
    arrays_of,
)
from wgsl_kernels.backends.webgpu.composing.forms.totals import (
    REDUCE_SLOTS,
    exchanged,
    held,
    total_type,
)
from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.instances import InstanceNames, fill_slot
from wgsl_kernels.backends.webgpu.modules.kernel_source import is_normalization
from wgsl_kernels.wgsl.syntax.printer import spell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.backends.webgpu.composing.forms.totals import Stage
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.wgsl.syntax.tree import Function


def add_reduction(
    composer: Composer, stage: Stage, kept: int, *, wide: bool, beside: bool
) -> Function:
    """Add what the templates of reductions call; return the author's ``combine``.

    The first ``kept`` axes of the input remain. Stage ``partial`` reduces each part of a row,
    ``final`` the partial results, ``apply`` does too and maps one part. With ``wide`` the input,
    and a normalization's output, is bound as vec4: all four elements loaded together lie together,
    at a multiple of four. With ``beside`` an invocation takes neighbouring rows, whose elements are
    neighbours.
    """
    has_writes = is_normalization(composer.source) and stage in ("whole", "apply")
    add_elements(composer, stage, wide=wide, wide_result=has_writes and wide, may_pass_end=False)
    together = wide and not beside
    add_places(composer, composer.inputs[0], "x", kept=kept, neighbours=together)
    composer.assembly.helpers["wk_exchanged"] = lambda: exchanged(composer)
    if has_writes:
        add_writes(composer, beside=beside)
        add_places(composer, composer.outputs[0], "y", kept=kept, neighbours=together)
    return composer.source.functions["combine"]


def add_scan(composer: Composer, stage: Stage, *, wide: bool) -> Function:
    """Add what the templates of scans call; return the author's ``combine``.

    Stage ``partial`` writes the total of each part, ``final`` scans a part, beginning with the
    totals before it.
    """
    operand = composer.inputs[0]
    is_strided = operand.access == "strided"
    add_elements(composer, stage, wide=wide, strided=is_strided)
    if is_strided:
        add_places(composer, operand, "x", kept=operand.rank, begin="wk_at")
    return composer.source.functions["combine"]


def add_window(composer: Composer, stage: Stage, *, wide: bool) -> Function:
    """Add what the templates of windows call; return the author's ``combine``.

    Stage ``partial`` leaves the total of each band of a window, ``final`` joins them.
    """
    add_elements(composer, stage, wide=wide)
    composer.assembly.helpers["wk_held"] = lambda: _held(composer)
    return composer.source.functions["combine"]


def _held(composer: Composer) -> str:
    value = held(composer.layouts, composer.types.of(total_type(composer)), "total")
    return fill_slot("templates/window_slots.wesl", "wk_held", [f"return {value};"])


# What normalizations write: y[row, i] = apply(x[row, i], the row's total).

COLUMNS = Instance("tensors/columns.wesl")


def add_writes(composer: Composer, *, beside: bool) -> None:
    """Add what the templates of normalizations call beside those of reductions.

    With ``beside`` an invocation takes neighbouring rows, and one column at a time.
    """
    _check_real(composer)
    helpers = composer.assembly.helpers
    helpers["wk_Settled"] = lambda: f"alias wk_Settled = {_settled_type(composer)};"
    helpers["wk_settled"] = lambda: _settled(composer)
    helpers["wk_applied"] = lambda: _applied(composer)
    helpers["wk_applied4"] = lambda: _applied4(composer)
    helpers["wk_applied_across"] = lambda: _applied_across(composer)
    for operand in _others(composer):
        is_value = operand.access == "value"
        if is_value:
            composer.value(operand)
        instance = COLUMNS.given(ABSENT=operand.access == "absent", VALUE=is_value, COLUMN=beside)
        naming = InstanceNames({"X": operand.wgsl}, arrays_of(composer, operand, "X"))
        composer.assembly.take(instance, naming)


def _check_real(composer: Composer) -> None:
    """Refuse types that vectors cannot have."""
    for operand in (composer.inputs[0], *_others(composer), composer.outputs[0]):
        if operand.dtype in ("complex64", "bool"):
            apply = composer.source.functions["apply"]
            message = f"apply has {operand.name} of {operand.dtype}; want a real number."
            raise composer.wrong(message, apply)


def _settled_type(composer: Composer) -> str:
    settle = composer.source.functions.get("settle")
    return "wk_Total" if settle is None else spell(settle.returns)


def _settled(composer: Composer) -> str:
    """Return the function that makes of a row's total, once, what apply is given."""
    settle = composer.source.functions.get("settle")
    value = "total"
    if settle is not None:
        count = f", {composer.word('wk_n', 'wk_n')}" if len(settle.parameters) > 1 else ""
        value = f"settle(total{count})"
    return fill_slot(REDUCE_SLOTS, "wk_settled", [f"return {value};"])


def _call(composer: Composer, x: str, i: str, total: str, others: Mapping[str, str]) -> str:
    """Return the call of apply: inputs by name, ``i`` and ``n``, and the total under any other."""
    values = {"i": i, **others}
    for name in composer.inputs[0].spellings:
        values[name] = x
    names = [parameter.name for parameter in composer.source.functions["apply"].parameters]
    if "n" in names:
        values["n"] = composer.word("wk_n", "wk_n")
    return f"apply({', '.join(values.get(name, total) for name in names)})"


def _others(composer: Composer) -> list[Operand]:
    """Return the further inputs that apply names; there may be others, of maps fused before it."""
    named = {parameter.name for parameter in composer.source.functions["apply"].parameters}
    return [one for one in composer.inputs[1:] if named & set(one.spellings)]


def _others_at(composer: Composer, write: str) -> dict[str, str]:
    """Return an expression for each further input by its name, ``{}`` standing for its variable."""
    others = _others(composer)
    return {name: write.format(f"wk_{one.wgsl}") for one in others for name in one.spellings}


def _applied(composer: Composer) -> str:
    """Return the function from one element, ``i`` of its row, to its result."""
    call = _call(composer, "x", "i", "total", _others_at(composer, "{}_at(i)"))
    return fill_slot(REDUCE_SLOTS, "wk_applied", [f"return {call};"])


def _applied4(composer: Composer) -> str:
    """Return the function from four elements of one row, which begin at ``i``, to their results."""
    calls = [
        _call(
            composer,
            f"x[{lane}]",
            f"i + {lane}u",
            "total",
            _others_at(composer, f"{{}}[{lane}]"),
        )
        for lane in range(4)
    ]
    return _vec4_function(composer, "wk_applied4", "four", calls)


def _applied_across(composer: Composer) -> str:
    """Return the function from elements ``i`` of four rows to their results."""
    others = _others_at(composer, "{}")
    calls = [_call(composer, f"x[{lane}]", "i", f"totals[{lane}]", others) for lane in range(4)]
    return _vec4_function(composer, "wk_applied_across", "at", calls)


def _vec4_function(composer: Composer, slot: str, load: str, calls: list[str]) -> str:
    names = [f"wk_{one.wgsl}" for one in _others(composer)]
    loads = [f"let {name} = {name}_{load}(i);" for name in names]
    value = f"vec4<wk_Result>({', '.join(calls)})"
    return fill_slot(REDUCE_SLOTS, slot, [*loads, f"return {value};"])
