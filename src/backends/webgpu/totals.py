"""Composing what an author says of accumulators: how one begins, joins others and takes elements.

Reductions, scans and windows have this in common: `init`, `combine`, `lift`, `append`, `finish`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.composer import Composer
    from wgsl_kernels.backends.webgpu.operands import Operand


def total_type(composer: Composer) -> str:
    """Return the accumulator's type as the author wrote it."""
    return composer.source.functions["init"].returns or ""


def is_bool(composer: Composer) -> bool:
    """Say whether the accumulator is a bool, which buffers cannot hold."""
    return composer.types.resolve(total_type(composer)) == "bool"


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
    if append is None:
        return join_lifted(operand.value_type)
    if len(append.parameters) > 1:
        what = operand.value_type, operand.name
        composer.check_type(append, append.parameters[1].type, *what)
    i = ", i" if len(append.parameters) > 2 else ""
    signature = f"fn wk_join(total: wk_Total, x: {operand.value_type}, i: u32) -> wk_Total"
    return f"{signature} {{ return append(total, x{i}); }}"


def join_lifted(element: str) -> str:
    """Return that function where the author gives no other way than `combine`."""
    signature = f"fn wk_join(total: wk_Total, x: {element}, i: u32) -> wk_Total"
    return f"{signature} {{ return combine(total, wk_lift(x, i)); }}"


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


_WANTED = {
    "init": "fn init() -> A, A being the accumulator's type",
    "combine": "fn combine(a: {0}, b: {0}) -> {0}, since init returns {0}",
    "append": "fn append(a: {0}, x: T, i: u32) -> {0}, since init returns {0}",
    "lift": "fn lift(x: T, i: u32) -> {0}, since init returns {0}",
    "finish": "fn finish(a: {0}, n: u32) -> T_y, since init returns {0}",
}
