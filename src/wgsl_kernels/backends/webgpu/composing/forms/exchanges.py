"""Composing what lanes of a subgroup tell each other: accumulators of a reduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.totals import total_type
from wgsl_kernels.wgsl.types.layouts import TypeLayouts, template_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.modules.source import Source

_NUMBERS = ("f32", "i32", "u32", "f16")


def can_exchange(source: Source, names: Sequence[str]) -> bool:
    """Say whether the accumulator is a number, a vector, or a struct of such.

    Args:
        source: A reduction's files.
        names: Its inputs, whose element types are all as good as any other.
    """
    elements = {f"T_{name}": "f32" for name in (*names, "y", "out", "wide")}
    types = TypeLayouts.of(source.structs, source.aliases, {"T": "f32", **elements}, {}, {})
    return _exchange(types, source.functions["init"].returns or "", "total") is not None


def exchanged(composer: Composer) -> str:
    """Return the function from a lane's accumulator to that of the lane ``apart`` from it."""
    value = _exchange(composer.types, total_type(composer), "total")
    return f"fn wk_exchanged(total: wk_Total, apart: u32) -> wk_Total {{ return {value}; }}"


def _exchange(types: TypeLayouts, type_: str, value: str) -> str | None:
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
