"""The floats that a type is made of, and cotangents of such types as WGSL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax.made import made_function, made_parameter, written
from wgsl_kernels.wgsl.syntax.printer import spell
from wgsl_kernels.wgsl.types.kinds import FLOATS, Array, Matrix, Scalar, StructType, Vector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.wgsl.derive.forward import Forward
    from wgsl_kernels.wgsl.syntax.tree import Name
    from wgsl_kernels.wgsl.types.kinds import Type


@dataclass(frozen=True, slots=True)
class StructLeaf:
    """A float that is part of a value.

    Attributes:
        path: What follows the value's name, empty where the value is the float.
        scalar: Its type.
    """

    path: str
    scalar: str


def leaves_of(type_: Type | None) -> list[StructLeaf]:
    """Return the floats of a value of a type."""
    return list(_leaves(type_, ""))


def _leaves(type_: Type | None, path: str) -> Iterator[StructLeaf]:
    if isinstance(type_, Scalar):
        if type_.name in FLOATS:
            yield StructLeaf(path, type_.name)
    elif isinstance(type_, Vector):
        for at in range(type_.size):
            yield from _leaves(type_.element, f"{path}[{at}]")
    elif isinstance(type_, Matrix):
        for at in range(type_.columns):
            yield from _leaves(Vector(type_.rows, type_.element), f"{path}[{at}]")
    elif isinstance(type_, Array) and isinstance(type_.count, int):
        for at in range(type_.count):
            yield from _leaves(type_.element, f"{path}[{at}]")
    elif isinstance(type_, StructType):
        for name, member in type_.members.items():
            yield from _leaves(member, f"{path}.{name}")


def pullback(forward: Forward, name: str, function: str, at: int) -> str | None:
    """Return the function from a cotangent of a function's result to that of one parameter.

    It takes the function's arguments and then the cotangent.

    Args:
        forward: What derives the function.
        name: What the new one is called.
        function: The function.
        at: The parameter.

    Returns:
        The text, None where the result does not depend on the parameter.
    """
    node = forward.functions[function]
    active = tuple([n == at for n in range(len(node.parameters))])
    if not forward.gives_tangent(function, active):
        return None
    called = forward.function(function, active)
    assert node.returns is not None
    given = node.parameters[at].type
    cotangent = made_parameter("wk_to", node.returns)
    made = made_function(name, (*node.parameters, cotangent), given)
    zero = f"{spell(given)}()"
    results = leaves_of(forward.named(node.returns))
    arguments = ", ".join([one.name for one in node.parameters])
    lines = [f"var wk_found = {zero};"]
    for leaf in leaves_of(forward.named(given)):
        lines += [
            "{",
            f"  var wk_seed = {zero};",
            f"  wk_seed{leaf.path} = {leaf.scalar}(1);",
            f"  let wk_slope = {called}({arguments}, wk_seed).tangent;",
            f"  wk_found{leaf.path} = {_product(results, leaf.scalar)};",
            "}",
        ]
    return written(made, *lines, "return wk_found;")


def _product(results: Sequence[StructLeaf], scalar: str) -> str:
    """Return the sum of what each float of the result passes on, as a number of a type."""
    types = {one.scalar for one in results}
    wide = types.pop() if len(types) == 1 else "f32"
    parts = [
        f"wk_slope{one.path} * wk_to{one.path}"
        if one.scalar == wide
        else f"{wide}(wk_slope{one.path}) * {wide}(wk_to{one.path})"
        for one in results
    ]
    total = " + ".join(parts)
    return total if wide == scalar else f"{scalar}({total})"


def addition(name: str, type_: Name, leaves: Sequence[StructLeaf]) -> str:
    """Return the function that adds the floats of two values of a type."""
    parameters = [made_parameter("a", type_), made_parameter("b", type_)]
    sums = [f"sum{one.path} = a{one.path} + b{one.path};" for one in leaves]
    return written(made_function(name, parameters, type_), "var sum = a;", *sums, "return sum;")
