"""Statements and functions of WGSL as Python, in which ``m`` says who is active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wgsl_kernels.simulator.calls import CallCompiler
from wgsl_kernels.simulator.places import Local, MemoryPlace, OwnPlace
from wgsl_kernels.wgsl.lint.remarks import bare, jumps_in, root_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.kinds import (
    Scalar,
    concrete,
    scalar_of,
    value_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wgsl_kernels.simulator.module import ModuleCompiler
    from wgsl_kernels.simulator.places import Place

MOST_ROUNDS = 1 << 20
"""Rounds after which a loop is taken for one that does not end."""
_MANY = 8
"""Branches, or statements that leave a block, of which more are not written in each other."""


@dataclass(frozen=True, slots=True)
class EnclosingLoop:
    """A loop or a switch around a statement.

    Attributes:
        left: The variable that holds who has left it.
        skipped: The variable that holds who has left this round; empty for a switch.
    """

    left: str
    skipped: str


class FunctionCompiler(CallCompiler):
    """Writes a function."""

    def __init__(self, module: ModuleCompiler, node: tree.Function) -> None:
        super().__init__(module)
        self.node = node
        self.loops: list[EnclosingLoop] = []
        self.returns = None if node.returns is None else module.named(node.returns)
        self.pointed_at = _pointed_at(node)

    def compile(self, name: str) -> str:
        """Return the Python function."""
        body = self.node.body
        if not isinstance(body, tree.CompoundStatement):
            self.refuse("this body is not understood.", self.node)
        given: list[str] = []
        with self.module.constants.top(), self.scope():
            for parameter in self.node.parameters:
                given.append(self.fresh(parameter.name))
                self.declare(parameter, Local(given[-1]))
                self.declared(parameter.ident, given[-1])
            self.write("found = None")
            self.body(body)
            self.write("return found")
        return "\n".join((f"def {name}({', '.join(('m', *given))}):", *self.lines, ""))

    def body(self, node: tree.CompoundStatement) -> None:
        self.statements(node.statements)

    # Statements.

    def statements(self, nodes: Sequence[tree.Statement]) -> None:
        """Write statements; those behind one that some may leave by run for the rest."""
        depth = self.depth
        leaving = {number for number, node in enumerate(nodes[:-1]) if jumps_in(node)}
        is_long = len(leaving) > _MANY
        if is_long:
            self.write("for _ in once:")
            self.depth += 1
        for number, node in enumerate(nodes):
            self.statement(node)
            if number in leaving and is_long:
                self.write("if not holds(m): break")
            elif number in leaving:
                self.write("if holds(m):")
                self.depth += 1
        self.depth = depth

    def statement(self, node: tree.Statement) -> None:
        _STATEMENTS[type(node)](self, node)

    def block(self, node: tree.CompoundStatement) -> None:
        """Write a block, whose names are its own."""
        with self.scope():
            before = len(self.lines)
            self.statements(node.statements)
            if len(self.lines) == before:
                self.write("pass")

    def inner(self, node: tree.CompoundStatement) -> None:
        self.depth += 1
        self.block(node)
        self.depth -= 1

    def var(self, node: tree.Var) -> None:
        if node.type is not None:
            type_ = self.module.named(node.type)
        else:
            assert node.value is not None
            type_ = concrete(self.type_of(node.value))
        value = self.module.zero(type_) if node.value is None else self.value(node.value, type_)
        is_cell = node.name in self.pointed_at
        name = self.kept(f"Cell({value})" if is_cell else value, node.name)
        self.declare(node, Local(name, is_cell))

    def let(self, node: tree.Value) -> None:
        assert node.value is not None
        type_ = self.type_of(node.value)
        if node.type is not None:
            type_ = self.module.named(node.type)
        elif node.keyword == "let":
            type_ = concrete(type_)
        name = self.kept(self.value(node.value, type_), node.name)
        self.declare(node, Local(name))
        self.declared(node.ident, name)

    def declared(self, ident: tree.Ident, name: str) -> None:
        """Write what follows the declaration of a parameter, a let or a const: nothing."""

    def assign(self, node: tree.Assign) -> None:
        if node.target is None:
            self.kept(self.value(node.value))
            return
        place = self.target(node.target)
        type_ = value_of(place.type)
        if node.operator == "=":
            self.put(place, self.value(node.value, type_))
            return
        if isinstance(place, MemoryPlace):
            place = self.settled(place)
        operator = node.operator[:-1]
        given = self.type_of(node.value)
        value = self.value(node.value)
        self.put(place, self.combined(operator, self.read(place), type_, value, given))

    def target(self, node: tree.Expression) -> Place:
        self.is_target = True
        found = self.place(node)
        self.is_target = False
        return found

    def settled(self, place: MemoryPlace) -> MemoryPlace:
        """Return a place whose address is computed once."""
        scalar = scalar_of(place.type)
        if scalar is None or not place.terms:
            return place
        size = self.module.size(scalar)
        at = self.kept(place.address(size), "at")
        return MemoryPlace(place.name, ((at, size),), 0, place.type, place.site)

    def put(self, place: Place, value: str) -> None:
        if isinstance(place, OwnPlace):
            path = "".join(f"{one}, " for one in place.path)
            if place.is_cell:
                holder = place.name
                self.write(f"put({holder}, ({path}), {value}, m)")
            elif path:
                self.write(f"{place.name} = with_part({place.name}, ({path}), {value}, m)")
            else:
                self.write(f"{place.name} = written(m, {value}, {place.name})")
            return
        if isinstance(place.type, Scalar):
            at = place.address(self.module.size(place.type))
            where = f"{place.name}, {at}, {place.type.name!r}"
            self.write(f"R.store({where}, {value}, m, {place.site})")
            return
        whole = self.kept(value)
        for number, part in enumerate(self.parts(place)):
            self.put(part, f"{whole}[{number}]")

    def step(self, node: tree.IncrementStatement) -> None:
        place = self.target(node.target)
        if isinstance(place, MemoryPlace):
            place = self.settled(place)
        type_ = value_of(place.type)
        assert isinstance(type_, Scalar)
        one = self.number("1", type_)
        self.put(place, self.combined(node.operator[0], self.read(place), type_, one, type_))

    def call_statement(self, node: tree.CallStatement) -> None:
        value = self.value(node.call)
        if value.startswith("R."):
            self.write(value)

    def return_(self, node: tree.Return) -> None:
        if node.value is not None:
            value = self.value(node.value, self.returns)
            self.write(f"found = written(m, {value}, found)")
        self.write("m = False")

    def jump(self, node: tree.Jump) -> None:
        if node.keyword == "break":
            left = self.loops[-1].left
            self.write(f"{left} = joined({left}, m)")
        elif node.keyword == "continue":
            skipped = next(one.skipped for one in reversed(self.loops) if one.skipped)
            self.write(f"{skipped} = joined({skipped}, m)")
        else:
            self.refuse(f"{node.keyword} is not simulated.", node)
        self.write("m = False")

    def if_(self, node: tree.If) -> None:
        self.begin_branch(node)
        if _branches(node) > _MANY:
            self.branches(node)
            return
        condition = self.kept(self.value(node.condition), "c")
        outer = self.kept("m", "m")
        self.write(f"m = narrowed({outer}, {condition})")
        self.write("if holds(m):")
        self.inner(node.body)
        jumps = jumps_in(node)
        then = self.kept("m", "m") if jumps else ""
        if node.otherwise is not None:
            self.write(f"m = excluded({outer}, {condition})")
            self.write("if holds(m):")
            self.depth += 1
            if isinstance(node.otherwise, tree.If):
                self.if_(node.otherwise)
            else:
                self.block(node.otherwise)
            self.depth -= 1
            self.write(f"m = joined({then}, m)" if jumps else f"m = {outer}")
        else:
            rest = f"joined({then}, excluded({outer}, {condition}))"
            self.write(f"m = {rest if jumps else outer}")

    def begin_branch(self, node: tree.If) -> None:
        """Write what an if begins with, be it behind an else: nothing."""

    def branches(self, node: tree.If) -> None:
        """Write many branches, which are not in each other; who is in none is in the rest."""
        outer, done = self.kept("m", "m"), self.kept("False", "done")
        jumps = jumps_in(node)
        self.write("for _ in once:")
        self.depth += 1
        branch: tree.If | tree.CompoundStatement | None = node
        while isinstance(branch, tree.If):
            if branch is not node:
                self.write("if not holds(m): break")
                self.begin_branch(branch)
            condition = self.kept(self.value(branch.condition), "c")
            rest = self.kept("m", "m")
            self.write(f"m = narrowed({rest}, {condition})")
            self.write("if holds(m):")
            self.inner(branch.body)
            if jumps:
                self.write(f"{done} = joined({done}, m)")
            self.write(f"m = excluded({rest}, {condition})")
            branch = branch.otherwise
        if branch is not None:
            self.write("if holds(m):")
            self.inner(branch)
        self.depth -= 1
        self.write(f"m = joined({done}, m)" if jumps else f"m = {outer}")

    def switch(self, node: tree.Switch) -> None:
        type_ = concrete(self.type_of(node.selector))
        selector = self.kept(self.value(node.selector, type_), "s")
        left, rest = self.kept("False", "left"), self.kept("m", "rest")
        self.loops.append(EnclosingLoop(left, ""))
        tests: list[str] = []
        for clause in node.clauses:
            wanted = [one for one in clause.selectors if one is not None]
            values = [self.value(one, type_) for one in wanted]
            each = [self.combined("==", selector, type_, one, type_) for one in values]
            tests.append(self.kept(" | ".join(each) if each else "false", "c"))
        known = " | ".join(tests)
        for clause, test in zip(node.clauses, tests, strict=True):
            here = f"narrowed({rest}, {test})"
            if None in clause.selectors:
                here = f"joined(excluded({rest}, {known}), {here})"
            self.write(f"m = {here}")
            self.write("if holds(m):")
            self.inner(clause.body)
            self.write(f"{left} = joined({left}, m)")
        self.loops.pop()
        self.write(f"m = {left}")

    # Loops.

    def for_(self, node: tree.For) -> None:
        with self.scope():
            if node.first is not None:
                self.statement(node.first)
            self.loop_of(node, node.condition, node.body, node.update)

    def while_(self, node: tree.While) -> None:
        self.loop_of(node, node.condition, node.body, None)

    def loop(self, node: tree.Loop) -> None:
        self.loop_of(node, None, node.body, None)

    def loop_of(
        self,
        node: tree.Statement,
        condition: tree.Expression | None,
        body: tree.CompoundStatement,
        update: tree.Statement | None,
    ) -> None:
        """Write a loop: rounds until nobody is in it any more."""
        outer = self.kept("m", "m")
        loop = EnclosingLoop(self.kept("False", "left"), self.fresh("skipped"))
        number = self.fresh("round")
        self.write(f"for {number} in rounds({node.begin}, most_rounds):")
        self.depth += 1
        if condition is not None:
            test = self.kept(self.condition(node, condition, number), "c")
            self.write(f"{loop.left} = joined({loop.left}, excluded(m, {test}))")
            self.write(f"m = narrowed(m, {test})")
        self.write("if not holds(m): break")
        self.begin_round(node)
        self.write(f"{loop.skipped} = False")
        self.loops.append(loop)
        statements = body.statements
        continuing = statements[-1] if statements else None
        is_continuing = isinstance(continuing, tree.Continuing)
        with self.scope():
            self.statements(statements[:-1] if is_continuing else statements)
            self.write(f"m = joined(m, {loop.skipped})")
            if is_continuing:
                assert isinstance(continuing, tree.Continuing)
                self.statements(continuing.body.statements)
        if update is not None:
            self.statement(update)
        self.loops.pop()
        self.depth -= 1
        self.write(f"m = {loop.left if 'return' in jumps_in(body) else outer}")

    def condition(self, node: tree.Statement, condition: tree.Expression, number: str) -> str:
        """Return the condition of a loop; the first round sees whether there are too many."""
        step = self.module.step_of(node)
        if not step:
            return self.value(condition)
        test = bare(condition)
        assert isinstance(test, tree.Binary)
        left, right = self.type_of(test.left), self.type_of(test.right)
        one, other = self.kept(self.value(test.left)), self.kept(self.value(test.right))
        more = int(test.operator == "<=")
        counted = f"{node.begin}, m, {one}, {other}, {more}, {step}"
        self.write(f"if not {number}: count_rounds({counted}, most_rounds)")
        return self.combined(test.operator, one, left, other, right)

    def begin_round(self, node: tree.Statement) -> None:
        """Write what a round of a loop begins with: nothing."""

    def break_if(self, node: tree.BreakIf) -> None:
        test = self.kept(self.value(node.condition), "c")
        left = self.loops[-1].left
        self.write(f"{left} = joined({left}, narrowed(m, {test}))")
        self.write(f"m = excluded(m, {test})")

    def round(self, node: tree.Round) -> None:
        self.block(node.body)

    def nothing(self, node: tree.ConstAssert) -> None:
        """Nothing runs."""


def _branches(node: tree.If) -> int:
    """Count an if and those behind its elses."""
    count = 1
    while isinstance(node.otherwise, tree.If):
        node, count = node.otherwise, count + 1
    return count


def _pointed_at(node: tree.Function) -> frozenset[str]:
    """Return the variables of a function that pointers are made to."""
    found: set[str] = set()
    for one in descendants(node):
        if isinstance(one, tree.Unary) and one.operator == "&":
            root = root_of(one.operand)
            if root is not None:
                found.add(root.name)
    return frozenset(found)


_STATEMENTS: dict[type[tree.Node], Any] = {
    tree.CompoundStatement: FunctionCompiler.block,
    tree.Var: FunctionCompiler.var,
    tree.Value: FunctionCompiler.let,
    tree.ConstAssert: FunctionCompiler.nothing,
    tree.Assign: FunctionCompiler.assign,
    tree.IncrementStatement: FunctionCompiler.step,
    tree.CallStatement: FunctionCompiler.call_statement,
    tree.Return: FunctionCompiler.return_,
    tree.Jump: FunctionCompiler.jump,
    tree.BreakIf: FunctionCompiler.break_if,
    tree.If: FunctionCompiler.if_,
    tree.Switch: FunctionCompiler.switch,
    tree.Loop: FunctionCompiler.loop,
    tree.While: FunctionCompiler.while_,
    tree.For: FunctionCompiler.for_,
    tree.Round: FunctionCompiler.round,
}
