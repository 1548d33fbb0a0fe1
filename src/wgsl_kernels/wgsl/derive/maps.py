"""A map's derivative as another map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax.made import made_function, made_parameter, written
from wgsl_kernels.wgsl.syntax.printer import spell

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.derive.forward import Forward
    from wgsl_kernels.wgsl.syntax.tree import Function


@dataclass(frozen=True)
class Derived:
    """A derivative.

    Attributes:
        text: The functions that were made, the map among them.
        imports: What they name that must be imported.
        is_zero: Whether it is zero throughout.
    """

    text: str
    imports: tuple[str, ...]
    is_zero: bool


def derived_map(forward: Forward, function: Function, wanted: str, upstream: str) -> Derived:
    """Return the map that gives the derivative of another by one parameter, times ``dy``.

    Args:
        forward: What derives the functions of its file.
        function: The map.
        wanted: The parameter.
        upstream: What the derivative by the map's result is called; it comes first.
    """
    name = function.name
    active = tuple([one.name == wanted for one in function.parameters])
    assert function.returns is not None
    given = made_parameter(upstream, function.returns)
    made = made_function("op", (given, *function.parameters), function.returns)
    if not forward.gives_tangent(name, active):
        zero = written(made, f"return {spell(function.returns)}();")
        return Derived(zero, (), True)
    called = forward.function(name, active)
    values = [one.name for one in function.parameters]
    seed = f"{spell(function.parameters[active.index(True)].type)}(1)"
    value = f"return {upstream} * {called}({', '.join((*values, seed))}).tangent;"
    return Derived(f"{forward.written}\n{written(made, value)}", forward.imports, False)
