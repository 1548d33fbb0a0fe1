"""Loops of users' kernels that an adapter may end before they are done: found, and reported.

Mesa's software adapters let the loops of an invocation turn 65,535 times in all; then each ends
after its next round, and what follows goes on with wrong values. A shader cannot see how often
they have turned, since lanes of a vector turn together, but at its end it can try: a loop of two
rounds, whose number no compiler knows, then has one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.modules.files import is_ours
from wgsl_kernels.wgsl.errors.findings import Finding
from wgsl_kernels.wgsl.lint.loops import BUDGET, CHECK, Loop, head_of, rounds_of
from wgsl_kernels.wgsl.lint.remarks import constants_of, functions_of
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.places import Span
from wgsl_kernels.wgsl.syntax.walk import children, descendants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wgsl_kernels.backends.webgpu.composing.text.assembly import Assembly
    from wgsl_kernels.backends.webgpu.composing.text.operands import Form
    from wgsl_kernels.backends.webgpu.modules.kernel_source import Source
    from wgsl_kernels.wgsl.names.resolve import Names
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Function
    from wgsl_kernels.wgsl.types.constants import ConstantValues

_ROUNDS: dict[Form, int] = {"free": BUDGET - 2, "map": BUDGET // 64 - 2}
"""Rounds below which no adapter ends the loops of a call: a map's invocation takes 64 elements."""
_UNROLLED = 8
"""The same of what is called for each element of a row: so few rounds are written out."""


@dataclass(frozen=True, slots=True)
class LongLoop:
    """A loop of which nobody knows that it is short."""

    text: Text
    begin: int


def long_loops(source: Source, form: Form) -> tuple[LongLoop, ...]:
    """Return the author's loops, of a kernel in some form, that an adapter may end."""
    most = _ROUNDS.get(form, _UNROLLED)
    found = [one for file in source.files for one in _LoopCounter(file).loops_above(most)]
    places = [(one, one.text.origin(one.begin)[1]) for one in found]
    return tuple([one for one, place in places if not is_ours(place.file)])  # ours are cut to size


class _LoopCounter:
    """How often the loops of a file turn in one call of each function.

    Only loops in loops are gone into by recursion: other nesting may be deep, and stacks small.
    """

    def __init__(self, file: Names) -> None:
        self._text = file.text
        self._functions = {one.ident.name: one for one in functions_of(file.module)}
        self._constants: ConstantValues = constants_of(file.module)
        self._turns: dict[str, float] = {}
        for name in self._functions:
            if name not in self._turns:
                self._count_function(name)

    def loops_above(self, most: int) -> Iterator[LongLoop]:
        """Yield the loops that turn more often; inner ones in place of those around them."""
        if max(self._turns.values(), default=0) > most:
            for function in self._functions.values():
                for one in self._long(function.body, most, 1):
                    yield LongLoop(self._text, head_of(one).begin)

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


def check_loops(assembly: Assembly, entry: Function, file: Names) -> None:
    """Have an entry point look, wherever it ends, whether the adapter has ended its loops."""
    ends = [one.begin for one in descendants(entry.body) if isinstance(one, tree.Return)]
    for at in sorted({*ends, entry.body.end - 1}):
        assembly.edit(file.text, Span(at, at), f"{CHECK}(); ")
    assembly.wanted.append(CHECK)


def what_ended(kernel: str, loops: tuple[LongLoop, ...]) -> Finding:
    first, *others = [one.text.origin(one.begin) for one in loops]
    text, place = first
    what, more = "this loop", ""
    if others:
        what = "one of its loops"
        more = f" Others are at {', '.join(one.label for _, one in others[:3])}."
    words = (
        f"the adapter has ended {what}, and values are wrong: the loops of an invocation turn "
        f"{BUDGET} times at most, all together. Spread the work over more invocations.{more}"
    )
    line = text.line(place.line)
    span = len(line[place.column - 1 :].partition(" ")[0])
    return Finding("runaway-loop", words, kernel, place.file, place.line, place.column, span, line)
