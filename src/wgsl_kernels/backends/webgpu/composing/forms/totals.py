"""Composing what an author says of accumulators: how one begins, joins others and takes elements.

Reductions, scans and windows have this in common: `init`, `combine`, `lift`, `append`, `finish`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.text.composed import PARTIALS
from wgsl_kernels.backends.webgpu.composing.text.instance import Instance
from wgsl_kernels.backends.webgpu.composing.text.instances import (
    InstanceNames,
    fill_slot,
    wanted_function,
)
from wgsl_kernels.backends.webgpu.composing.text.operands import VALUE_TYPES
from wgsl_kernels.wgsl.syntax.printer import spell
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
from wgsl_kernels.wgsl.types.layouts import TypeLayouts, UnknownTypeError
from wgsl_kernels.wgsl.types.named import NamedTypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.syntax.tree import Name

REDUCE_SLOTS = "templates/reduce_slots.wesl"
_NUMBERS = ("f32", "i32", "u32", "f16")
TOTALS = Instance("tensors/totals.wesl")
Stage = Literal["whole", "partial", "final", "apply"]
"""What a dispatch does of a kernel: all, leave the totals of parts, or go on from these."""


def total_type(composer: Composer) -> Name | None:
    return composer.source.functions["init"].returns


def is_bool(composer: Composer) -> bool:
    """Say whether the accumulator is a bool, which buffers cannot hold."""
    return composer.types.of(total_type(composer)) == BOOL


def partials_type(composer: Composer) -> str:
    return "u32" if is_bool(composer) else spell(total_type(composer))


def add_totals(composer: Composer, stage: Stage) -> None:
    """Add what the author's functions say of accumulators, and how parts' totals are kept.

    Raises:
        ShaderError: One of them has other types than the form wants.
    """
    check_totals(composer)
    given: dict[str, bool] = {}
    for name, most in (("lift", 2), ("append", 3), ("finish", 2)):
        function = composer.source.functions.get(name)
        given[name.upper()] = function is not None
        takes_all = function is not None and len(function.parameters) == most
        given[f"{name.upper()}_{'COUNT' if name == 'finish' else 'NUMBER'}"] = takes_all
    instance = TOTALS.given(**given, BOOLS=is_bool(composer))
    checks = {
        "wk_lift": lambda: _check_lift(composer),
        "wk_join": lambda: _check_append(composer),
        "wk_finished": lambda: _check_finish(composer),
    }
    array = partial(str, PARTIALS)
    naming = InstanceNames({}, {"wk_partials": array, "wk_bools": array})
    composer.assembly.take(instance, naming, checks)
    if stage != "whole":
        composer.partials = partials_type(composer)
        composer.writes_partials = stage == "partial"


def total_bytes(source: Source, x: str, given: str, y: str, output: str) -> int:
    """Return the bytes from one accumulator to the next in an array; 0 if they are not known."""
    types = _types_before(source, x, given, y, output)
    try:
        return types.written(source.functions["init"].returns or "").stride
    except UnknownTypeError:
        return 0


def _types_before(source: Source, x: str, given: str, y: str, output: str) -> TypeLayouts:
    """Return the types of a kernel that is not yet being composed, given names and dtypes."""
    own, wanted = VALUE_TYPES[given], VALUE_TYPES[output]
    aliases = {"T": own, f"T_{x}": own, f"T_{y}": wanted}
    aliases["T_wide"] = "f32" if wanted == "f16" else wanted
    return TypeLayouts(NamedTypes(source.declarations, aliases, {}))


def can_hold(source: Source, x: str, given: str, y: str, output: str) -> bool:
    """Say whether the accumulator can be held between two turns of an unrolled loop."""
    layouts = _types_before(source, x, given, y, output)
    total = layouts.types.of(source.functions["init"].returns)
    return held(layouts, total, "total") is not None


def held(layouts: TypeLayouts, type_: Type | None, value: str) -> str | None:
    """Return the expression of an accumulator that no optimiser sees through, None if unknown.

    Where a driver unrolls a loop it may join the multiplication of one turn with the addition of
    another, and another text of the same loop would round otherwise. Whole numbers are exact.
    """
    if isinstance(type_, Scalar):
        return _HOLDS[type_.name].format(value) if type_.name in _HOLDS else None
    if isinstance(type_, Vector):
        if type_.element.name not in _HOLDS:
            return None
        hold = _HOLDS[type_.element.name]
        parts = [hold.format(f"{value}.{axis}") for axis in "xyzw"[: type_.size]]
        return f"{type_}({', '.join(parts)})"
    if not isinstance(type_, StructType) or not _is_small(layouts, type_):
        return None
    types = layouts.types
    fields = types.fields(type_)
    found = [held(layouts, types.of(one.type), f"{value}.{one.name}") for one in fields]
    known = [one for one in found if one is not None]
    return f"{type_}({', '.join(known)})" if len(known) == len(found) else None


def _is_small(layouts: TypeLayouts, struct: StructType) -> bool:
    try:
        return layouts.of(struct).size <= _MOST_BYTES
    except UnknownTypeError:
        return False


def _check_lift(composer: Composer) -> None:
    operand, lift = composer.inputs[0], composer.source.functions.get("lift")
    if lift is None:
        _require_same(composer, "init", operand.value_type, "lift")
    else:
        composer.check_type(lift, lift.parameters[0].type, operand.value_type, operand.name)


def _check_append(composer: Composer) -> None:
    operand, append = composer.inputs[0], composer.source.functions.get("append")
    if append is not None and len(append.parameters) > 1:
        what = operand.value_type, operand.name
        composer.check_type(append, append.parameters[1].type, *what)


def _check_finish(composer: Composer) -> None:
    output, finish = composer.outputs[0], composer.source.functions.get("finish")
    if finish is None:
        _require_same(composer, "combine", output.value_type, "finish")
    else:
        composer.check_type(finish, finish.returns, output.value_type, output.name)


def _require_same(composer: Composer, function: str, wanted: str, missing: str) -> None:
    """Refuse an accumulator of another type than the tensor's where nothing converts it."""
    has = _meant(composer, total_type(composer))
    if has != wanted:
        found, need = composer.source.functions[function], wanted_function(missing, has)
        message = f"{function} has {has} where the tensor has {wanted}; want {need}."
        raise composer.wrong(message, found)


def check_totals(composer: Composer) -> None:
    """Refuse functions whose written types or parameters do not fit what `init` returns."""
    element = total_type(composer)
    wanted: dict[str, tuple[tuple[Name | None, ...], Name | None]] = {
        "init": ((), element),
        "combine": ((element, element), element),
        "append": ((element,), element),
        "lift": ((None,), element),
        "finish": ((element,), None),
    }
    most = {"init": 0, "combine": 2, "append": 3, "lift": 2, "finish": 2}
    for name, (parameters, returns) in wanted.items():
        function = composer.source.functions.get(name)
        if function is None:
            continue
        given = [one.type for one in function.parameters]
        fits = len(parameters) <= len(given) <= most[name] and all(
            want is None or _meant(composer, have) == _meant(composer, want)
            for have, want in zip(given, parameters, strict=False)
        )
        returned = _meant(composer, function.returns)
        fits = fits and function.returns is not None
        if fits and (returns is None or returned == _meant(composer, returns)):
            continue
        has = f"({', '.join(map(spell, given))})"
        has += "" if function.returns is None else f" -> {spell(function.returns)}"
        want, why = wanted_function(name, spell(element)), f"since init returns {spell(element)}"
        if name == "init":
            want, why = wanted_function(name, "A"), "A being the accumulator's type"
        raise composer.wrong(f"{name} has {has}; want {want}, {why}.", function)


def _meant(composer: Composer, written: Name | None) -> str:
    """Return the type that is meant, as it is written where nothing says what that is."""
    found = composer.types.of(written)
    return spell(written) if found is None else str(found)


_MOST_BYTES = 16_384
"""The size of an accumulator above which it is not held, since every field would be named."""
_HOLDS = {
    "f32": "hold({0})",
    "f16": "wk_hold_f16({0})",
    "i32": "{0}",
    "u32": "{0}",
    "bool": "{0}",
}


# What lanes of a subgroup tell each other: accumulators of a reduction.


def can_exchange(source: Source, names: Sequence[str]) -> bool:
    """Say whether the accumulator is a number, a vector, or a struct of such."""
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
