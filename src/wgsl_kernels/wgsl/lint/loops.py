"""Loops that nothing ends, or that go on for longer than software adapters let them.

Mesa's software adapters stop an invocation after 65,535 rounds, summed over its loops, and go on
with wrong values; a GPU is reset by its driver after seconds.
"""

from __future__ import annotations

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
