"""Functions that also note what one invocation does: each statement, each value, each round.

Written by the same compiler as those that only run, with calls of a ``RecordedRun`` between: all
invocations run, since barriers need all, and one of them is noted.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.simulator.domains import FLOAT32, Domain
from wgsl_kernels.simulator.expressions import ABSTRACT
from wgsl_kernels.simulator.module import ModuleCompiler
from wgsl_kernels.simulator.statements import FunctionCompiler
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.kinds import (
    Array,
    Matrix,
    Scalar,
    StructType,
    Type,
    Vector,
    scalar_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from wgsl_kernels.simulator.places import Place
    from wgsl_kernels.wgsl.syntax.places import Span

_WITHOUT_STEP = (tree.CompoundStatement, tree.Round, tree.Continuing, tree.ConstAssert)
"""Statements that only hold others, or do nothing."""


@dataclass(frozen=True, slots=True)
class TracedNode:
    """A part of the text that events name by number.

    Attributes:
        node: The function, statement or expression.
        component: Of what component of a vector it is, None where it is none.
    """

    node: tree.Node
    component: int | None = None

    @property
    def span(self) -> Span:
        """The characters that it covers."""
        return self.node.span


class TracedFunction(FunctionCompiler):
    """Writes a function that notes what it does."""

    module: TracedModule

    def __init__(self, module: ModuleCompiler, node: tree.Function) -> None:
        super().__init__(module, node)
        assert isinstance(module, TracedModule)
        self.results: dict[int, int] = {}
        self.assigned: int | None = None
        self.components_of: dict[int, int] = {}
        self.component: int | None = None
        self.is_traced = node.name not in module.untraced

    def note(self, node: tree.Node) -> int:
        """Return the number by which events name a part of the text."""
        self.module.traced.append(TracedNode(node, self.component))
        return len(self.module.traced) - 1

    def body(self, node: tree.CompoundStatement) -> None:
        given = [
            f"[{one.name!r}, {self.scopes[0][one.name].name}]"
            for one in self.node.parameters
            if _has_value(self.module.named(one.type))
        ]
        if not self.is_traced:
            super().body(node)
            return
        entered = self.kept("m", "m")
        self.write(f"R.note('enter', {self.note(self.node)}, m, [{', '.join(given)}])")
        super().body(node)
        self.write(f"R.note('leave', -1, {entered})")

    def statement(self, node: tree.Statement) -> None:
        if not isinstance(node, _WITHOUT_STEP) and self.is_traced:
            self.begin(node)
        super().statement(node)
        self.assigned = None

    def begin(self, node: tree.Statement) -> None:
        """Note that a statement begins, and which value is what it gives."""
        number = self.note(node)
        self.write(f"R.note('begin', {number}, m)")
        result = result_of(node)
        if result is not None:
            self.results[id(result)] = number
        elif isinstance(node, (tree.Assign, tree.IncrementStatement)):
            self.assigned = number

    def begin_branch(self, node: tree.If) -> None:
        if self.is_traced:
            self.begin(node)  # an ``else if``, which is no statement of a block

    def begin_round(self, node: tree.Statement) -> None:
        if self.is_traced:
            self.write(f"R.note('round', {self.note(node)}, m)")

    def value(self, node: tree.Expression, wanted: Type | None = None) -> str:
        found = super().value(node, wanted)
        if not self.is_traced:
            return found
        number = self.results.pop(id(node), None)
        if number is not None:
            return f"R.note('result', {number}, m, {found})"
        if isinstance(node, tree.Literal) or not _has_value(self.type_of(node)):
            return found
        if isinstance(node, tree.Name) and not self.is_variable(node.name):
            return found
        return f"R.note('value', {self.note(node)}, m, {found})"

    def is_variable(self, name: str) -> bool:
        """Say whether a name is none of a constant."""
        return self.found(name) is not None or name in self.module.variables

    def put(self, place: Place, value: str) -> None:
        number, self.assigned = self.assigned, None
        super().put(place, value if number is None else f"R.note('result', {number}, m, {value})")

    def constructed(self, node: tree.Call) -> str:
        type_ = self.type_of(node)
        if isinstance(type_, Vector) and len(node.arguments) == type_.size:
            self.components_of |= {id(one): at for at, one in enumerate(node.arguments)}
        return super().constructed(node)

    def components(self, node: tree.Expression, element: Scalar) -> list[str]:
        before, self.component = self.component, self.components_of.get(id(node), self.component)
        found = super().components(node, element)
        self.component = before
        return found


class TracedModule(ModuleCompiler):
    """A module whose functions note what one invocation does.

    Attributes:
        traced: The parts of the text that events name, by number.
        untraced: Functions in which nothing is noted.
    """

    compiles_functions = TracedFunction

    def __init__(
        self,
        module: tree.Module,
        constants: Mapping[str, float],
        domain: Domain = FLOAT32,
        untraced: Collection[str] = (),
    ) -> None:
        self.traced: list[TracedNode] = []
        self.untraced = untraced
        super().__init__(module, constants, domain)

    def path(self, variable: str, byte: int) -> str:
        """Return how WGSL writes the number at a byte of a variable."""
        node = self.variables[variable]
        assert node.type is not None
        type_, written = self.named(node.type), variable
        while isinstance(type_, (Array, Vector, Matrix, StructType)):
            if isinstance(type_, StructType):
                members = list(type_.members.items())
                begins = [self.offset(type_, number) for number in range(len(members))]
                at = bisect.bisect_right(begins, byte) - 1
                byte -= begins[at]
                name, type_ = members[at]
                written += f".{name}"
                continue
            at, byte = divmod(byte, self.stride(type_))
            written += f".{'xyzw'[at]}" if isinstance(type_, Vector) else f"[{at}]"
            type_ = self.element(type_)
        return written


def result_of(node: tree.Node) -> tree.Expression | None:
    """Return the expression whose value tells what a statement did."""
    if isinstance(node, (tree.Var, tree.Value, tree.Return)):
        return node.value
    if isinstance(node, tree.Assign) and node.operator == "=":
        return node.value
    if isinstance(node, (tree.If, tree.While, tree.For, tree.BreakIf)):
        return node.condition
    return node.selector if isinstance(node, tree.Switch) else None


def _has_value(type_: Type) -> bool:
    """Say whether a value of a type is shown: numbers, and what is made of few of them."""
    if isinstance(type_, StructType):
        return all(map(_has_value, type_.members.values()))
    return isinstance(type_, (Scalar, Vector, Matrix)) and scalar_of(type_) not in ABSTRACT
