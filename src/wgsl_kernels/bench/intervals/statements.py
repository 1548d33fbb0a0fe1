"""Statements of WGSL for all invocations of a dispatch at once: who goes which way, masks say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.intervals.arithmetic import binary, compare
from wgsl_kernels.bench.intervals.calls import CallEvaluator
from wgsl_kernels.bench.intervals.numbers import Array, Number, OutOfReachError, exact
from wgsl_kernels.bench.intervals.values import (
    Cell,
    Mask,
    Value,
    chosen,
    coerced,
    each,
    zero,
)
from wgsl_kernels.wgsl.syntax import tree

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_ROUNDS = 5_000
MOST_CALLS = 60


@dataclass(slots=True)
class _CallFrame:
    """A call under way: who has returned, and what."""

    mask: Mask
    done: Array | None = None
    value: Value | None = None


@dataclass(slots=True)
class _Rounds:
    """A loop under way: who has left it, and who has left this round."""

    left: Array | None = None
    skipped: Array | None = None


class Machine(CallEvaluator):
    """What statements do."""

    frames: list[_CallFrame]
    loops: list[_Rounds]
    noted: dict[int, tuple[float, float]] | None = None
    """What parameters and lets may be, by where their names begin; None where nobody asks."""

    def run(self, function: tree.Function, given: list[Value]) -> Value:
        """Call a function for the active invocations, and return what it gives."""
        if not isinstance(function.body, tree.CompoundStatement):
            raise OutOfReachError(function.ident.name)
        if len(self.frames) > MOST_CALLS:
            raise OutOfReachError("calls that are too deep")
        scope: dict[str, Cell | Value] = {}
        for parameter, value in zip(function.parameters, given, strict=True):
            given_value = coerced(value, self.types.of(parameter.type))
            scope[parameter.ident.name] = given_value
            self.note(parameter.ident, given_value)
        outer, loops, mask = self.scopes, self.loops, self.mask
        self.scopes, self.loops = [scope], []
        self.frames.append(_CallFrame(mask))
        self.block(function.body)
        frame = self.frames.pop()
        self.scopes, self.loops, self.mask = outer, loops, mask
        if frame.value is None:
            return exact("bool", False)
        returns = None if function.returns is None else self.types.of(function.returns)
        return coerced(frame.value, returns)

    # Who is active.

    def alive(self) -> bool:
        """Say whether any invocation does something."""
        return self.mask is None or bool(self.mask.any())

    def stop(self) -> None:
        """Have the active invocations do nothing any more."""
        self.mask = np.zeros(self.count, bool)

    # Statements.

    def statement(self, node: tree.Statement) -> None:
        self.steps += 1
        do = _STATEMENTS.get(type(node))
        if do is None:
            raise OutOfReachError(f"a statement of kind {type(node).__name__}")
        do(self, node)

    def block(self, node: tree.CompoundStatement) -> None:
        """Do statements in a scope of their own."""
        self.scopes.append({})
        for one in node.statements:
            if not self.alive():
                break
            self.statement(one)
        self.scopes.pop()

    def var(self, node: tree.Var) -> None:
        """Declare a variable."""
        type_ = None if node.type is None else self.type_of(node.type)
        if node.value is not None:
            value = coerced(self.value(node.value), type_)
        elif type_ is not None:
            value = zero(type_)
        else:
            raise OutOfReachError("a variable without a type")
        self.scopes[-1][node.ident.name] = Cell(value, self.mask)

    def let(self, node: tree.Value) -> None:
        assert node.value is not None
        value = self.value(node.value)
        if node.type is not None:
            value = coerced(value, self.type_of(node.type))
        elif node.keyword == "let":
            value = coerced(value, None)
        self.scopes[-1][node.ident.name] = value
        self.note(node.ident, value)

    def note(self, ident: tree.Ident, value: Value) -> None:
        """Note what a name may be for the active invocations, beside what it was before."""
        if self.noted is None or not isinstance(value, Number) or not self.alive():
            return
        low, high = self.noted.get(ident.begin, (np.inf, -np.inf))
        active = self.active()
        lows, highs = (np.broadcast_to(one, self.count) for one in (value.low, value.high))
        found = float(lows[active].min()), float(highs[active].max())
        self.noted[ident.begin] = min(low, found[0]), max(high, found[1])

    def assign(self, node: tree.Assign) -> None:
        """Write a value."""
        value = self.value(node.value)
        if node.target is None:
            return
        place = self.place(node.target)
        if node.operator != "=":
            operator = node.operator[:-1]
            value = each(lambda a, b: binary(operator, a, b), self.read(place), value)
        self.write(place, value)

    def step(self, node: tree.IncrementStatement) -> None:
        """Count up or down."""
        place = self.place(node.target)
        before = self.read(place)
        assert isinstance(before, Number)
        self.write(place, binary(node.operator[0], before, exact(before.kind, 1)))

    def call_statement(self, node: tree.CallStatement) -> None:
        self.value(node.call)

    def return_(self, node: tree.Return) -> None:
        """Leave the function."""
        frame = self.frames[-1]
        if node.value is not None:
            value = coerced(self.value(node.value), None)
            if frame.value is None or self.mask is frame.mask:
                frame.value = value
            else:
                frame.value = chosen(self.active(), value, frame.value)
        frame.done = self.active() if frame.done is None else frame.done | self.active()
        self.stop()

    def jump(self, node: tree.Jump) -> None:
        """Leave the loop, or its round."""
        if not self.loops or node.keyword == "discard":
            raise OutOfReachError(node.keyword)
        loop = self.loops[-1]
        if node.keyword == "break":
            loop.left = self.active() if loop.left is None else loop.left | self.active()
        else:
            loop.skipped = self.active() if loop.skipped is None else loop.skipped | self.active()
        self.stop()

    def condition(self, node: tree.Expression) -> Number:
        """Return a condition; where it is in doubt, so is all that follows."""
        found = self.number(node)
        self.taint(found.doubt)
        return found

    def if_(self, node: tree.If) -> None:
        self.branch(self.condition(node.condition).v, node.body, node.otherwise)

    def branch(
        self,
        yes: Array,
        body: tree.CompoundStatement,
        otherwise: tree.If | tree.CompoundStatement | None,
    ) -> None:
        """Do one block where a condition holds and another one elsewhere."""
        if yes.ndim == 0:
            chosen_block = body if yes else otherwise
            if chosen_block is not None:
                self.either(chosen_block)
            return
        before = self.mask
        ends = []
        for block, where in ((body, yes), (otherwise, ~yes)):
            part = where if before is None else before & where
            self.mask = part
            if block is not None and part.any():
                self.either(block)
            ends.append((part, self.mask))
        if all(one is other for one, other in ends):
            self.mask = before
        else:
            (_, first), (_, second) = ends
            assert first is not None
            assert second is not None
            self.mask = first | second

    def either(self, node: tree.If | tree.CompoundStatement) -> None:
        if isinstance(node, tree.If):
            self.if_(node)
        else:
            self.block(node)

    def switch(self, node: tree.Switch) -> None:
        """Do the clause that a number chooses."""
        selector = self.number(node.selector)
        self.taint(selector.doubt)
        loop = _Rounds()
        self.loops.append(loop)
        before = self.mask
        rest = self.active()
        after = np.zeros(self.count, bool)
        clauses = sorted(node.clauses, key=lambda one: None in one.selectors)
        for clause in clauses:
            here = np.zeros(self.count, bool)
            for one in clause.selectors:
                same: Any = True if one is None else compare("==", selector, self.number(one)).v
                here = here | (rest & same)
            rest = rest & ~here
            self.mask = here
            if here.any():
                self.block(clause.body)
            assert self.mask is not None
            after = after | self.mask
        self.loops.pop()
        after = after | rest
        if loop.left is not None:
            after = after | loop.left
        self.mask = before if bool((after == self.all_of(before)).all()) else after

    def all_of(self, mask: Mask) -> Array:
        return np.ones(self.count, bool) if mask is None else mask

    # Loops.

    def for_(self, node: tree.For) -> None:
        """Do a ``for``."""
        self.scopes.append({})
        if node.first is not None:
            self.statement(node.first)
        self.rounds(node.condition, node.body, node.update, None)
        self.scopes.pop()

    def while_(self, node: tree.While) -> None:
        """Do a ``while``."""
        self.rounds(node.condition, node.body, None, None)

    def loop(self, node: tree.Loop) -> None:
        """Do a ``loop``."""
        last = node.body.statements[-1] if node.body.statements else None
        continuing = last if isinstance(last, tree.Continuing) else None
        self.rounds(None, node.body, None, continuing)

    def rounds(
        self,
        condition: tree.Expression | None,
        body: tree.CompoundStatement,
        update: tree.Statement | None,
        continuing: tree.Continuing | None,
    ) -> None:
        """Do a loop until nobody is left in it."""
        before = self.mask
        frame = self.frames[-1]
        done_before = frame.done
        is_same = True
        for _ in range(MOST_ROUNDS):
            if condition is not None:
                going = self.condition(condition).v
                if going.ndim == 0:
                    if not going:
                        break
                else:
                    self.mask = going & self.active()
                    is_same = False
            if not self.alive():
                break
            is_same = self.one_round(body, update, continuing) and is_same
            if not self.alive():
                break
        else:
            raise OutOfReachError("a loop of many rounds")
        after = self.all_of(before)
        if frame.done is not done_before and frame.done is not None:
            after = after & ~frame.done
            self.mask = after
        else:
            self.mask = before

    def one_round(
        self,
        body: tree.CompoundStatement,
        update: tree.Statement | None,
        continuing: tree.Continuing | None,
    ) -> bool:
        """Do one round, and say whether all who began it are still there."""
        loop, mask = _Rounds(), self.mask
        self.loops.append(loop)
        self.scopes.append({})
        for one in body.statements:
            if not self.alive() or one is continuing:
                break
            self.statement(one)
        if loop.skipped is not None:
            self.mask = self.active() | loop.skipped
            if bool((self.mask == self.all_of(mask)).all()):
                self.mask = mask
        if self.alive() and update is not None:
            self.statement(update)
        if self.alive() and continuing is not None:
            self.end_of_round(continuing)
        self.scopes.pop()
        self.loops.pop()
        return self.mask is mask

    def end_of_round(self, node: tree.Continuing) -> None:
        self.scopes.append({})
        for one in node.body.statements:
            if isinstance(one, tree.BreakIf):
                leaves = self.condition(one.condition).v
                if leaves.ndim:
                    self.mask = self.active() & ~leaves
                elif leaves:
                    self.stop()
            else:
                self.statement(one)
        self.scopes.pop()


_STATEMENTS: dict[type[tree.Node], Callable[[Machine, Any], None]] = {
    tree.CompoundStatement: Machine.block,
    tree.Var: Machine.var,
    tree.Value: Machine.let,
    tree.ConstAssert: lambda machine, node: None,
    tree.Assign: Machine.assign,
    tree.IncrementStatement: Machine.step,
    tree.CallStatement: Machine.call_statement,
    tree.Return: Machine.return_,
    tree.Jump: Machine.jump,
    tree.If: Machine.if_,
    tree.Switch: Machine.switch,
    tree.Loop: Machine.loop,
    tree.While: Machine.while_,
    tree.For: Machine.for_,
}
