"""Composing what an author says of accumulators: how one begins, joins others and takes elements.

Reductions, scans and windows have this in common: `init`, `combine`, `lift`, `append`, `finish`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from wgsl_kernels.backends.webgpu.composing.text.composed import PARTIALS
from wgsl_kernels.backends.webgpu.composing.text.operands import VALUE_TYPES
from wgsl_kernels.engine.environment.errors import ShaderError
from wgsl_kernels.wgsl.facts.types import TypeLayouts, UnknownTypeError, template_of

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composing.text.composer import Composer
    from wgsl_kernels.backends.webgpu.composing.text.operands import Operand
    from wgsl_kernels.backends.webgpu.modules.source import Source

Stage = Literal["whole", "partial", "final", "apply"]
"""What a dispatch does of a kernel: all, leave the totals of parts, or go on from these."""


def total_type(composer: Composer) -> str:
    """Return the accumulator's type as the author wrote it."""
    return composer.source.functions["init"].returns or ""


def is_bool(composer: Composer) -> bool:
    """Say whether the accumulator is a bool, which buffers cannot hold."""
    return composer.types.resolve(total_type(composer)) == "bool"


def partials_type(composer: Composer) -> str:
    """Return what a buffer of accumulators has for each."""
    return "u32" if is_bool(composer) else total_type(composer)


def loaded_partial(composer: Composer, place: str) -> str:
    """Return the expression of the accumulator that another dispatch left in a place."""
    loaded = f"{PARTIALS}[{place}]"
    return f"{loaded} != 0u" if is_bool(composer) else loaded


def stored_partial(composer: Composer, place: str) -> str:
    """Return the statement that leaves the accumulator ``total`` in a place."""
    return f"{PARTIALS}[{place}] = {'u32(total)' if is_bool(composer) else 'total'};"


def add_partials(composer: Composer, stage: Stage) -> None:
    """Add how accumulators are read and written that lie between two dispatches."""
    if stage == "whole":
        return
    loaded, stored = loaded_partial(composer, "i"), stored_partial(composer, "i")
    helpers = composer.assembly.helpers
    load, store = (
        "fn wk_load_total(i: u32) -> wk_Total",
        "fn wk_store_total(i: u32, total: wk_Total)",
    )
    helpers["wk_load_total"] = lambda: f"{load} {{ return {loaded}; }}"
    helpers["wk_store_total"] = lambda: f"{store} {{ {stored} }}"
    composer.partials = partials_type(composer)
    composer.writes_partials = stage == "partial"


def total_bytes(source: Source, types: TypeLayouts) -> int:
    """Return the bytes from one accumulator to the next in an array; 0 if they are not known."""
    try:
        return types.layout(source.functions["init"].returns or "").stride
    except UnknownTypeError:
        return 0


def types_before(source: Source, x: str, given: str, y: str, output: str) -> TypeLayouts:
    """Return the types of a kernel that is not yet being composed.

    Args:
        source: Its files.
        x: Its input's name.
        given: That input's dtype.
        y: Its output's name.
        output: That output's dtype.
    """
    own, wanted = VALUE_TYPES[given], VALUE_TYPES[output]
    aliases = {"T": own, f"T_{x}": own, f"T_{y}": wanted}
    aliases["T_wide"] = "f32" if wanted == "f16" else wanted
    return TypeLayouts.of(source.structs, source.aliases, aliases, source.constants, {})


def held(types: TypeLayouts, type_: str, value: str) -> str | None:
    """Return the expression of an accumulator that no optimiser sees through, None if unknown.

    Where a driver unrolls a loop it may join the multiplication of one turn with the addition of
    another, and another text of the same loop would round otherwise. Whole numbers are exact.
    """
    resolved = types.resolve(type_)
    name, (element, *_) = template_of(resolved) if "<" in resolved else (resolved, ("",))
    if resolved in _HOLDS:
        return _HOLDS[resolved].format(value)
    if name.startswith("vec") and element in _HOLDS:
        parts = [_HOLDS[element].format(f"{value}.{axis}") for axis in "xyzw"[: int(name[3])]]
        return f"{resolved}({', '.join(parts)})"
    if resolved not in types.structs or not _is_small(types, resolved):
        return None
    fields = types.structs[resolved].fields
    found = [held(types, one.type, f"{value}.{one.name}") for one in fields]
    known = [one for one in found if one is not None]
    return f"{resolved}({', '.join(known)})" if len(known) == len(found) else None


def _is_small(types: TypeLayouts, struct: str) -> bool:
    try:
        return types.layout(struct).size <= _MOST_BYTES
    except UnknownTypeError:
        return False


def lift_text(composer: Composer, operand: Operand) -> str:
    """Return the function that makes an accumulator of an element and its number."""
    lift = composer.source.functions.get("lift")
    value = "x"
    if lift is None:
        element = total_type(composer)
        require_same(composer, "init", element, operand.value_type, "fn lift(x: T, i: u32)")
    elif lift.parameters:
        composer.check_type(lift, lift.parameters[0].type, operand.value_type, operand.name)
        value = "lift(x, i)" if len(lift.parameters) > 1 else "lift(x)"
    return f"fn wk_lift(x: {operand.value_type}, i: u32) -> wk_Total {{ return {value}; }}"


def join_text(composer: Composer, operand: Operand) -> str:
    """Return the function that adds an element to the total of some that are all before it."""
    append = composer.source.functions.get("append")
    signature = f"fn wk_join(total: wk_Total, x: {operand.value_type}, i: u32) -> wk_Total"
    if append is None:
        return f"{signature} {{ return combine(total, wk_lift(x, i)); }}"
    if len(append.parameters) > 1:
        what = operand.value_type, operand.name
        composer.check_type(append, append.parameters[1].type, *what)
    i = ", i" if len(append.parameters) > 2 else ""
    return f"{signature} {{ return append(total, x{i}); }}"


def finished(composer: Composer, total: str, count: str) -> str:
    """Return the expression of the result of a total of ``count`` elements, of the output's type.

    Raises:
        ShaderError: The author's `finish`, or `combine` without one, gives another type.
    """
    output = composer.outputs[0]
    finish = composer.source.functions.get("finish")
    if finish is None:
        element = total_type(composer)
        require_same(composer, "combine", element, output.value_type, "fn finish(a, n: u32)")
        return total
    composer.check_type(finish, finish.returns or "", output.value_type, output.name)
    return f"finish({total}, {count})" if len(finish.parameters) > 1 else f"finish({total})"


def require_same(composer: Composer, function: str, element: str, wanted: str, need: str) -> None:
    """Refuse an accumulator of another type than the tensor's where nothing converts it."""
    if composer.types.resolve(element) != wanted:
        found = composer.source.functions[function]
        message = (
            f"{composer.kernel}: {function} has {composer.types.resolve(element)} where the "
            f"tensor has {wanted}; want {need}."
        )
        raise ShaderError(composer.source.point(message, found))


def check_totals(composer: Composer) -> None:
    """Refuse functions whose written types or parameters do not fit what `init` returns.

    Raises:
        ShaderError: The message shows the function, what it has and what is wanted.
    """
    element = total_type(composer)
    wanted = {
        "init": ((), element),
        "combine": ((element, element), element),
        "append": ((element,), element),
        "lift": (("",), element),
        "finish": ((element,), ""),
    }
    most = {"init": 0, "combine": 2, "append": 3, "lift": 2, "finish": 2}
    for name, (parameters, returns) in wanted.items():
        function = composer.source.functions.get(name)
        if function is None:
            continue
        given = [one.type for one in function.parameters]
        fits = len(parameters) <= len(given) <= most[name] and all(
            not want or _are_same(composer, have, want)
            for have, want in zip(given, parameters, strict=False)
        )
        fits = fits and bool(function.returns)
        if fits and (not returns or _are_same(composer, function.returns or "", returns)):
            continue
        has = f"({', '.join(given)})" + (f" -> {function.returns}" if function.returns else "")
        message = f"{composer.kernel}: {name} has {has}; want {_WANTED[name].format(element)}."
        raise ShaderError(composer.source.point(message, function))


def _are_same(composer: Composer, given: str, wanted: str) -> bool:
    return composer.types.resolve(given) == composer.types.resolve(wanted)


_MOST_BYTES = 16_384
"""The size of an accumulator above which it is not held, since every field would be named."""
_HOLDS = {
    "f32": "hold({0})",
    "f16": "wk_hold_f16({0})",
    "i32": "{0}",
    "u32": "{0}",
    "bool": "{0}",
}
_WANTED = {
    "init": "fn init() -> A, A being the accumulator's type",
    "combine": "fn combine(a: {0}, b: {0}) -> {0}, since init returns {0}",
    "append": "fn append(a: {0}, x: T, i: u32) -> {0}, since init returns {0}",
    "lift": "fn lift(x: T, i: u32) -> {0}, since init returns {0}",
    "finish": "fn finish(a: {0}, n: u32) -> T_y, since init returns {0}",
}
