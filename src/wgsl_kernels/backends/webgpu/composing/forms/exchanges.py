"""Composing what lanes of a subgroup tell each other: accumulators of a reduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.composing.forms.totals import total_type
from wgsl_kernels.backends.webgpu.composing.text.instances import fill_slot
from wgsl_kernels.wgsl.types.kinds import (
    BOOL,
    F16,
    F32,
    Scalar,
    StructType,
    Type,
    Vector,
    scalar_of,
    with_scalar,
)
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.modules.source import Source

REDUCE_SLOTS = "templates/reduce_slots.wesl"
_NUMBERS = ("f32", "i32", "u32", "f16")


def can_exchange(source: Source, names: Sequence[str]) -> bool:
    """Say whether the accumulator is a number, a vector, or a struct of such.

    All element types of the inputs are as good as any other.
    """
    elements = {f"T_{name}": "f32" for name in (*names, "y", "out", "wide")}
    types = NamedTypes(source.declarations, {"T": "f32", **elements})
    return _exchange(types, types.of(source.functions["init"].returns), "total") is not None


def exchanged(composer: Composer) -> str:
    """Return the function from a lane's accumulator to that of the lane ``apart`` from it."""
    value = _exchange(composer.types, composer.types.of(total_type(composer)), "total")
    return fill_slot(REDUCE_SLOTS, "wk_exchanged", [f"return {value};"])


def _exchange(types: NamedTypes, type_: Type | None, value: str) -> str | None:
    if type_ == BOOL:
        return f"(subgroupShuffleXor(u32({value}), apart) != 0u)"
    if isinstance(type_, (Scalar, Vector)):
        scalar = scalar_of(type_)
        if scalar is None or scalar.name not in _NUMBERS:
            return None
        wide = with_scalar(type_, F32) if scalar == F16 else type_  # few devices exchange f16
        found = f"subgroupShuffleXor({wide}({value}), apart)"
        return found if wide == type_ else f"{type_}({found})"
    fields = types.fields(type_) if isinstance(type_, StructType) else ()
    parts = [_exchange(types, types.of(one.type), f"{value}.{one.name}") for one in fields]
    known = [one for one in parts if one is not None]
    if not parts or len(known) < len(parts):
        return None
    return f"{type_}({', '.join(known)})"
