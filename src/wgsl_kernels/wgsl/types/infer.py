"""The type of every expression of a module, and what does not fit together."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.expressions import ExpressionTypes, Misfit
from wgsl_kernels.wgsl.types.kinds import (
    BOOL,
    VOID,
    Reference,
    Type,
    Vector,
    value_of,
)
from wgsl_kernels.wgsl.types.order import in_order_of_need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


@dataclass(frozen=True)
class Types:
    """The types of a module's expressions.

    Attributes:
        problems: What does not fit together.
        unknown: The expressions whose types are not known, which are no types or functions.
    """

    problems: tuple[Misfit, ...]
    unknown: tuple[tree.Expression, ...]
    _found: Mapping[int, tuple[tree.Expression, Type]]

    def of(self, node: tree.Expression) -> Type | None:
        """Return the type of an expression of the module, a Reference where it is a variable."""
        found = self._found.get(id(node))
        return None if found is None else found[1]

    def value_of(self, node: tree.Expression) -> Type | None:
        found = self.of(node)
        return None if found is None else value_of(found)


def infer(declarations: Iterable[tree.Declaration]) -> Types:
    """Return the types of all expressions in ``declarations``, which share one set of names."""
    walk = _StatementTypes(tuple(declarations))
    for needed in in_order_of_need(walk.declarations):  # so that none waits for a long chain
        if isinstance(needed, (tree.Alias, tree.Struct)):
            walk.types.declared(needed.ident.name)
        else:
            walk.value_named(needed.ident.name)
    for node in walk.declarations:
        walk.top(node)
    return Types(tuple(walk.problems), tuple(walk.unknown), walk.found)


class _StatementTypes(ExpressionTypes):
    """A walk over declarations and statements, with the scopes that are open."""

    def top(self, node: tree.Declaration) -> None:
        self.current = node
        if isinstance(node, tree.Function):
            self.function(node)
        elif isinstance(node, (tree.Value, tree.Var)):
            self.value_named(node.ident.name)
            self.attributes(node.attributes)
        elif isinstance(node, tree.ConstAssert):
            self.condition(node.condition)
        elif isinstance(node, tree.Struct):
            for field in node.fields:
                self.attributes(field.attributes)

    def function(self, node: tree.Function) -> None:
        """Type a function's attributes and its body."""
        self.attributes(node.attributes)
        scope: dict[str, Type | None] = {}
        for parameter in node.parameters:
            self.attributes(parameter.attributes)
            scope[parameter.ident.name] = self.named_type(parameter.type)
        self.returns = VOID if node.returns is None else self.named_type(node.returns)
        if isinstance(node.body, tree.CompoundStatement):
            with self.scope():
                for name, type_ in scope.items():
                    self.declare(name, type_)
                for statement in node.body.statements:
                    self.statement(statement)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Enter a scope, whose names hide those outside of it."""
        self.scopes.append({})
        with self.types.constants.scope():
            yield
        self.scopes.pop()

    def declare(self, name: str, type_: Type | None, node: tree.Node | None = None) -> None:
        """Declare a name of the innermost scope, by its declaration if that may give a value."""
        self.scopes[-1][name] = type_
        self.types.constants.declare(name, node)

    def attributes(self, nodes: tuple[tree.Attribute, ...]) -> None:
        """Type the numbers that attributes take."""
        for node in nodes:
            if node.name in _NUMBERED:
                for argument in node.arguments or ():
                    self.expression(argument)

    # Statements.

    def statement(self, node: tree.Node) -> None:
        """Type what a statement holds, and declare what it declares."""
        _STATEMENTS[type(node)](self, node)

    def local(self, node: tree.Var | tree.Value) -> None:
        """Declare a local name behind its value."""
        self.declare(node.ident.name, self.declared_type(node), node)

    def block(self, node: tree.CompoundStatement) -> None:
        """Type a block in a scope of its own."""
        with self.scope():
            for statement in node.statements:
                self.statement(statement)

    def round(self, node: tree.Round) -> None:
        """Type one round of a loop that is written out."""
        self.block(node.body)

    def assign(self, node: tree.Assign) -> None:
        """Hold a value against what it is written to."""
        value = self.value(node.value)
        if node.target is None:
            return
        target = self.expression(node.target)
        if target is None or value is None:
            return
        if not isinstance(target, Reference):
            self.problem(_unwritable(node.target, target), node.begin)
        elif node.operator == "=":
            self.want(value, target.store, node.value.begin)
        else:
            operator = node.operator[:-1]
            self.combine(operator, target.store, value, node.value.begin)

    def step(self, node: tree.IncrementStatement) -> None:
        """Type what is counted up or down."""
        self.expression(node.target)

    def call_statement(self, node: tree.CallStatement) -> None:
        """Type a call whose value is not used."""
        self.expression(node.call)

    def return_(self, node: tree.Return) -> None:
        """Hold a returned value against what the function returns."""
        if node.value is None:
            return
        value = self.value(node.value)
        if value is not None and self.returns is not None:
            self.want(value, self.returns, node.value.begin)

    def condition_of(self, node: tree.ConstAssert | tree.BreakIf) -> None:
        self.condition(node.condition)

    def condition(self, node: tree.Expression) -> None:
        """Type an expression that must be a bool."""
        found = self.value(node)
        if found is not None:
            self.want(found, BOOL, node.begin)

    def if_(self, node: tree.If) -> None:
        """Type ``if`` with all its branches."""
        branch: tree.If | tree.CompoundStatement | None = node
        while isinstance(branch, tree.If):
            self.condition(branch.condition)
            self.block(branch.body)
            branch = branch.otherwise
        if branch is not None:
            self.block(branch)

    def switch(self, node: tree.Switch) -> None:
        """Type ``switch``."""
        self.value(node.selector)
        for clause in node.clauses:
            for selector in clause.selectors:
                if selector is not None:
                    self.value(selector)
            self.block(clause.body)

    def body(self, node: tree.Loop | tree.Continuing) -> None:
        """Type ``loop`` or ``continuing``."""
        self.block(node.body)

    def while_(self, node: tree.While) -> None:
        """Type ``while``."""
        self.condition(node.condition)
        self.block(node.body)

    def for_(self, node: tree.For) -> None:
        """Type ``for``, whose first part declares for the others."""
        with self.scope():
            if node.first is not None:
                self.statement(node.first)
            if node.condition is not None:
                self.condition(node.condition)
            if node.update is not None:
                self.statement(node.update)
            self.block(node.body)

    def jump(self, node: tree.Jump) -> None:
        """Nothing has a type here."""


def _unwritable(node: tree.Expression, type_: Type) -> str:
    """Return why nothing can be written there."""
    if isinstance(node, tree.Access) and isinstance(type_, Vector):
        several = " and ".join(f".{one}" for one in node.member.name)
        return f"several components cannot be written to at once. Write {several} by themselves."
    return f"{type_} cannot be written to."


_NUMBERED = frozenset({"workgroup_size", "location", "align", "size", "group", "binding", "id"})
_STATEMENTS: dict[type[tree.Node], Callable[[_StatementTypes, Any], None]] = {
    tree.CompoundStatement: _StatementTypes.block,
    tree.Round: _StatementTypes.round,
    tree.Var: _StatementTypes.local,
    tree.Value: _StatementTypes.local,
    tree.ConstAssert: _StatementTypes.condition_of,
    tree.BreakIf: _StatementTypes.condition_of,
    tree.Assign: _StatementTypes.assign,
    tree.IncrementStatement: _StatementTypes.step,
    tree.CallStatement: _StatementTypes.call_statement,
    tree.Return: _StatementTypes.return_,
    tree.Jump: _StatementTypes.jump,
    tree.If: _StatementTypes.if_,
    tree.Switch: _StatementTypes.switch,
    tree.Loop: _StatementTypes.body,
    tree.Continuing: _StatementTypes.body,
    tree.While: _StatementTypes.while_,
    tree.For: _StatementTypes.for_,
}
