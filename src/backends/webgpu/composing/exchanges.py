"""Composing what lanes of a subgroup tell each other: accumulators of a reduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.wgsl.types import Types, template_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.row_loads import Reduction
    from wgsl_kernels.backends.webgpu.composing.source import Source

_NUMBERS = ("f32", "i32", "u32", "f16")


def add_exchanges(reduction: Reduction) -> None:
    """Add what the skeletons of variant ``subgroups`` call beside the loops."""
    helpers = reduction.composer.assembly.helpers
    helpers["wk_exchanged"] = lambda: _exchanged(reduction)
    helpers["wk_team_total"] = lambda: _JOINED if reduction.stage == "apply" else _WHOLE


def can_exchange(source: Source, names: Sequence[str]) -> bool:
    """Say whether the accumulator is a number, a vector, or a struct of such.

    Args:
        source: A reduction's files.
        names: Its inputs, whose element types are all as good as any other.
    """
    elements = {f"T_{name}": "f32" for name in (*names, "y", "out", "wide")}
    types = Types.of(source.structs, source.aliases, {"T": "f32", **elements}, {}, {})
    return _exchange(types, source.functions["init"].returns or "", "total") is not None


def _exchanged(reduction: Reduction) -> str:
    """Return the function from a lane's accumulator to that of the lane ``apart`` from it."""
    value = _exchange(reduction.composer.types, reduction.element, "total")
    return f"fn wk_exchanged(total: wk_Total, apart: u32) -> wk_Total {{ return {value}; }}"


def _exchange(types: Types, type_: str, value: str) -> str | None:
    resolved = types.resolve(type_)
    name, (element, *_) = template_of(resolved) if "<" in resolved else (resolved, ("",))
    if resolved in _NUMBERS or (name.startswith("vec") and element in _NUMBERS):
        wide = resolved.replace("f16", "f32")  # few devices exchange f16
        found = f"subgroupShuffleXor({wide}({value}), apart)"
        return found if wide == resolved else f"{resolved}({found})"
    if resolved == "bool":
        return f"(subgroupShuffleXor(u32({value}), apart) != 0u)"
    fields: Mapping[str, str] = {}
    if resolved in types.structs:
        fields = {one.name: one.type for one in types.structs[resolved].fields}
    parts = [_exchange(types, of, f"{value}.{field}") for field, of in fields.items()]
    known = [one for one in parts if one is not None]
    if not parts or len(known) < len(parts):
        return None
    return f"{resolved}({', '.join(known)})"


_WHOLE = (
    "fn wk_team_total(team: wk_Team, row: u32, base: u32) -> wk_Total "
    "{ return wk_by_team(team, base, 0u, wk_length()); }"
)
_JOINED = (
    "fn wk_team_total(team: wk_Team, row: u32, base: u32) -> wk_Total "
    "{ return wk_total(row, base); }"
)
