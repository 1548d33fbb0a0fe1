"""Loops that nothing ends, or that go on for longer than software adapters let them.

Mesa's software adapters stop an invocation after 65,535 rounds, summed over its loops, and go on
with wrong values; a GPU is reset by its driver after seconds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.lint.remarks import (
    Remark,
    bare,
    constants_of,
    functions_of,
    jumps_in,
    root_of,
)
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.walk import children, descendants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.wgsl.types.constants import ConstantValues

BUDGET = 65_535
"""Rounds of one invocation."""
CHECK = "wk_check_loops"
"""The function, in texts for such adapters, whose own loop tells whether others were ended."""
Loop = (tree.Loop, tree.While, tree.For)


def loop_remarks(module: tree.Module) -> Iterator[Remark]:
    """Yield a remark for each loop that cannot end, or not within the budget."""
    constants = constants_of(module)
    for function in functions_of(module):
        yield from _inside(function.body, 1, constants)


def _inside(node: tree.Node, around: int, constants: ConstantValues) -> Iterator[Remark]:
    """Yield the remarks on the loops in a node that itself runs ``around`` times."""
    if not isinstance(node, Loop):
        for one in children(node):
            yield from _inside(one, around, constants)
        return
    head = head_of(node)
    if _is_endless(node):
        words = (
            "nothing ends this loop: a software adapter stops it and goes on with wrong values, "
            "a GPU hangs. Give it a condition or a break that its rounds come to."
        )
        yield Remark("endless-loop", words, head)
        return
    rounds = around * (rounds_of(node, constants) or 1)
    if rounds > BUDGET:
        words = (
            f"this loop runs {rounds} rounds in one invocation; software adapters stop after "
            f"{BUDGET} and go on with wrong values. Spread the work over more invocations."
        )
        yield Remark("loop-budget", words, head)
    else:
        yield from _inside(node.body, rounds, constants)


def head_of(node: tree.Node) -> Span:
    """Return the word that a loop begins with."""
    return Span(node.begin, node.begin + len(_word(node)))


def _word(node: tree.Node) -> str:
    return {tree.Loop: "loop", tree.While: "while", tree.For: "for"}[type(node)]


def _is_endless(node: tree.Loop | tree.While | tree.For) -> bool:
    if jumps_in(node.body) & {"break", "return"}:
        return False
    if isinstance(node, tree.Loop):
        return not any(isinstance(one, tree.BreakIf) for one in descendants(node.body))
    condition = node.condition
    if condition is None:
        return True
    if isinstance(bare(condition), tree.Literal):
        return bare(condition).text == "true"  # type: ignore[union-attr]  # a literal
    parts = list(descendants(condition))
    if any(isinstance(one, (tree.Call, tree.Index, tree.Unary)) for one in parts):
        return False  # what it asks may change elsewhere
    asked = {one.name for one in parts if isinstance(one, tree.Name)}
    update = (node.update,) if isinstance(node, tree.For) and node.update else ()
    return bool(asked) and not asked & changed_in(node.body, *update)


def changed_in(*parts: tree.Node) -> set[str]:
    """Return the names of what some statements may change."""
    found: set[str] = set()
    for one in (each for part in parts for each in descendants(part)):
        target: tree.Expression | None = None
        if isinstance(one, (tree.Assign, tree.IncrementStatement)):
            target = one.target
        elif isinstance(one, tree.Unary) and one.operator == "&":
            target = one
        root = None if target is None else root_of(target)
        found |= set() if root is None else {root.name}
    return found


def counted_by(node: tree.Node, constants: ConstantValues) -> tuple[tree.Binary, int] | None:
    """Return the condition and the step of ``for (var i = a; i < b; i += 1)``, None of others.

    No round ends such a loop.
    """
    if not isinstance(node, tree.For) or not isinstance(node.first, tree.Var):
        return None
    condition = None if node.condition is None else bare(node.condition)
    if not isinstance(condition, tree.Binary) or condition.operator not in ("<", "<="):
        return None
    left, name = bare(condition.left), node.first.name
    step = _step(node.update, name, constants)
    is_counted = isinstance(left, tree.Name) and left.name == name and step
    if not is_counted or jumps_in(node.body) & {"break", "return"}:
        return None
    return condition, step or 1


def rounds_of(node: tree.Node, constants: ConstantValues) -> int | None:
    """Return how often a loop of constants runs: ``for (var i = 0u; i < 9u; i++)``."""
    counted = counted_by(node, constants)
    if counted is None or not isinstance(node, tree.For) or not isinstance(node.first, tree.Var):
        return None
    condition, step = counted
    begin, end = (_number(one, constants) for one in (node.first.value, bare(condition.right)))
    if begin is None or end is None:
        return None
    return max(0, -(-(end + (condition.operator == "<=") - begin) // step))


def _step(update: tree.Statement | None, name: str, constants: ConstantValues) -> int | None:
    if isinstance(update, tree.IncrementStatement) and update.operator == "++":
        root = root_of(update.target)
        return 1 if root is not None and root.name == name else None
    if isinstance(update, tree.Assign) and update.operator == "+=" and update.target is not None:
        root = root_of(update.target)
        is_own = root is not None and root.name == name
        return _number(update.value, constants) if is_own else None
    return None


def _number(node: tree.Expression | None, constants: ConstantValues) -> int | None:
    value = None if node is None else constants.number_or_none(node)
    return None if value is None or value % 1 else int(value)


class LoopCounter:
    """How often the loops of a module turn in one call of each function.

    Only loops in loops are gone into by recursion: other nesting may be deep, and stacks small.
    """

    def __init__(self, module: tree.Module) -> None:
        self._functions = {one.ident.name: one for one in functions_of(module)}
        self._constants: ConstantValues = constants_of(module)
        self._turns: dict[str, float] = {}
        for name in self._functions:
            if name not in self._turns:
                self._count_function(name)

    def loops_above(self, most: int) -> list[tuple[bool, int]]:
        """Return the loops that turn more often; inner ones in place of those around them.

        Each is whether its rounds are counted, as those of ``for (var i = a; i < b; i++)`` are,
        and where it begins. Those that nothing counts come first, since they may not end.
        """
        if max(self._turns.values(), default=0) <= most:
            return []
        found = [
            (counted_by(one, self._constants) is not None, head_of(one).begin)
            for function in self._functions.values()
            for one in self._long(function.body, most, 1)
        ]
        return sorted(found)

    def _count_function(self, name: str) -> None:
        """Count a function after those that it calls; WGSL has no recursion."""
        open_ = [(name, self._called(name))]
        while open_:
            at, called = open_[-1]
            callee = next(called, None)
            if callee is None:
                open_.pop()
                self._turns[at] = self._count(self._functions[at].body)
            elif callee not in self._turns:
                self._turns[callee] = 0
                open_.append((callee, self._called(callee)))

    def _called(self, name: str) -> Iterator[str]:
        for one in descendants(self._functions[name].body):
            if isinstance(one, tree.Call) and one.callee.name in self._functions:
                yield one.callee.name

    def _count(self, node: tree.Node) -> float:
        """Return how many rounds what is in a node takes."""
        total = 0.0
        for one in _within(node):
            if isinstance(one, tree.Call):
                total += self._turns.get(one.callee.name, 0)
            elif isinstance(one, Loop):
                rounds = rounds_of(one, self._constants)
                total += math.inf if rounds is None else rounds * (1 + self._count(one))
        return total

    def _long(self, node: tree.Node, most: int, around: float) -> list[tree.Node]:
        """Return the loops in a node, which itself runs ``around`` times, that turn more often."""
        found: list[tree.Node] = []
        for one in _within(node):
            if not isinstance(one, Loop):
                continue
            rounds = rounds_of(one, self._constants)
            turns = math.inf if rounds is None else around * rounds
            inner = self._long(one, most, around if rounds is None else turns)
            if inner:
                found += inner
            elif max(turns, turns * self._count(one) if rounds else 0) > most:
                found.append(one)
        return found


def _within(node: tree.Node) -> Iterator[tree.Node]:
    """Yield what is in a node, but not what is in a loop in it."""
    open_ = list(children(node))
    while open_:
        one = open_.pop()
        yield one
        if not isinstance(one, Loop):
            open_ += children(one)
