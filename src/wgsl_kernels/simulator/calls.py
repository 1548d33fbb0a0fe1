"""Calls of WGSL as Python: of functions, constructors, and WGSL's own functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.simulator.builtins import COMPONENTWISE, WHOLE
from wgsl_kernels.simulator.expressions import ABSTRACT, ExpressionCompiler
from wgsl_kernels.simulator.places import MemoryPlace
from wgsl_kernels.wgsl.types.kinds import (
    ABSTRACT_FLOAT,
    INTEGERS,
    U32,
    Array,
    Matrix,
    Scalar,
    StructType,
    Type,
    Vector,
    concrete,
    scalar_of,
    with_scalar,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.wgsl.syntax import tree


class CallCompiler(ExpressionCompiler):
    """Writes expressions with the calls in them.

    Attributes:
        of_subgroup: What computes functions of subgroups.
    """

    of_subgroup = "R.subgroups.call"

    def call(self, node: tree.Call) -> str:
        name = node.callee.name
        if name in self.module.functions:
            return self.own_call(node, self.module.functions[name])
        if name == "bitcast":
            return self.bitcast(node)
        if self.module.is_type(node.callee):
            return self.constructed(node)
        if name == "arrayLength":
            return self.array_length(node)
        if name.startswith("atomic"):
            return self.atomic(node)
        if name.startswith(("subgroup", "quad")):
            return self.subgroup(node)
        if name in ("workgroupBarrier", "storageBarrier", "textureBarrier"):
            return f"R.barrier({name == 'workgroupBarrier'})"
        if name == "workgroupUniformLoad":
            self.write("R.barrier(True)")
            found = self.kept(self.read(self.pointed(node.arguments[0])))
            self.write("R.barrier(True)")
            return found
        return self.builtin(node)

    def own_call(self, node: tree.Call, function: tree.Function) -> str:
        given: list[str] = []
        for argument, parameter in zip(node.arguments, function.parameters, strict=True):
            wanted = self.module.named(parameter.type)
            value = self.value(argument, wanted)
            given.append(self.kept(value) if self.module.has_effects(argument) else value)
        callee = self.module.function(function.name)
        return self.kept(f"{callee}({', '.join(('m', *given))})", "r")

    def bitcast(self, node: tree.Call) -> str:
        (argument,) = node.arguments
        given, wanted = concrete(self.type_of(argument)), self.type_of(node)
        value, scalar = self.value(argument, given), scalar_of(wanted)
        assert scalar is not None
        if "f16" in (scalar.name, str(scalar_of(given))) and scalar_of(given) != scalar:
            self.refuse("bitcast of halves is not simulated.", node)
        self.module.takes_bits(node, given, wanted)
        return f"each(partial(bits, {scalar.name!r}), {value})"

    def array_length(self, node: tree.Call) -> str:
        place = self.pointed(node.arguments[0])
        assert isinstance(place, MemoryPlace)
        return f"{place.name}.length({self.module.stride(place.type)}, {place.offset})"

    def atomic(self, node: tree.Call) -> str:
        self.is_target = node.callee.name != "atomicLoad"
        place = self.pointed(node.arguments[0])
        self.is_target = False
        assert isinstance(place, MemoryPlace)
        scalar = scalar_of(place.type)
        assert scalar is not None
        given = "".join(f", {self.value(one, scalar)}" for one in node.arguments[1:])
        name, at = node.callee.name, place.address(4)
        where = f"{place.name}, {at}, {scalar.name!r}, m, {place.site}"
        return self.kept(f"R.atomic({name!r}, {where}{given})")

    def subgroup(self, node: tree.Call) -> str:
        name = node.callee.name
        if name == "subgroupBarrier":
            return "R.barrier()"
        given = "".join(
            f", {self.value(one, concrete(self.type_of(one)))}" for one in node.arguments
        )
        return self.kept(f"{self.of_subgroup}({name!r}, m{given})")

    def builtin(self, node: tree.Call) -> str:
        name, type_ = node.callee.name, self.type_of(node)
        if name not in COMPONENTWISE and name not in WHOLE:
            self.refuse(f"{name} is not simulated.", node)
        types = [self.type_of(one) for one in node.arguments]
        if name.startswith(("pack", "unpack")):
            self.module.takes_bits(node, concrete(types[0]), type_)
        whole = [scalar_of(one) for one in types]
        wanted = [self._wanted(name, at, one, whole, type_) for at, one in enumerate(types)]
        given = [self.value(one, want) for one, want in zip(node.arguments, wanted, strict=True)]
        if name in WHOLE or all(isinstance(one, Scalar) for one in types):
            return f"b_{name}({', '.join(given)})"
        return f"each(b_{name}, {', '.join(given)})"

    def _wanted(
        self, name: str, at: int, given: Type, scalars: Sequence[Scalar | None], result: Type
    ) -> Type:
        """Return the type that an argument of a function has."""
        if scalars[at] not in ABSTRACT:
            return given
        others = [one for one in scalars if one is not None and one not in ABSTRACT]
        if name in ("extractBits", "insertBits") and at >= len(scalars) - 2:
            return with_scalar(given, U32)
        if name == "ldexp":
            return concrete(given)
        if name == "select":
            scalar = scalar_of(result)
            return given if scalar is None else with_scalar(given, scalar)
        scalar = scalar_of(result)
        if scalar is not None and scalar not in ABSTRACT and scalar.name != "bool" and not others:
            return with_scalar(given, scalar)
        return with_scalar(given, others[0]) if others else concrete(given)

    def constructed(self, node: tree.Call) -> str:
        """Return a value made of others: a number, a vector, a matrix, an array or a struct."""
        type_ = self.type_of(node)
        if not node.arguments:
            return self.module.zero(type_)
        if isinstance(type_, (StructType, Array)):
            wanted = [type_.element] * len(node.arguments) if isinstance(type_, Array) else []
            if isinstance(type_, StructType):
                wanted = list(type_.members.values())
            parts = zip(node.arguments, wanted, strict=True)
            return _listed([self.value(one, want) for one, want in parts])
        numbers: list[str] = []
        element = scalar_of(type_)
        assert element is not None
        for one in node.arguments:
            numbers += self.components(one, element)
        if isinstance(type_, Scalar):
            return numbers[0]
        if isinstance(type_, Vector):
            return _listed(numbers * type_.size if len(numbers) == 1 else numbers)
        assert isinstance(type_, Matrix)
        rows = [numbers[at : at + type_.rows] for at in range(0, len(numbers), type_.rows)]
        return f"[{', '.join(map(_listed, rows))}]"

    def components(self, node: tree.Expression, element: Scalar) -> list[str]:
        """Return the numbers that a value is made of, each as the wanted type."""
        given = self.type_of(node)
        value, scalar = self.value(node), scalar_of(given)
        assert scalar is not None
        self.check_range(node, element)

        def made(one: str) -> str:
            if scalar == element:
                return one
            if scalar == ABSTRACT_FLOAT and element.name in INTEGERS:
                return f"saturated({element.name!r}, {one})"
            if scalar in ABSTRACT and element.name != "bool":
                return self.number(one, element)
            return f"converted({element.name!r}, {one})"

        if isinstance(given, Scalar):
            return [made(value)]
        whole = self.kept(value)
        if isinstance(given, Matrix):
            numbers = [(c, r) for c in range(given.columns) for r in range(given.rows)]
            return [made(f"{whole}[{c}][{r}]") for c, r in numbers]
        assert isinstance(given, Vector)
        return [made(f"{whole}[{number}]") for number in range(given.size)]


def _listed(parts: Sequence[str]) -> str:
    return f"[{', '.join(parts)}]"
