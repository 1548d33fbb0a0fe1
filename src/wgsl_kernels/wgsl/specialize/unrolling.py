"""Loops written out, each round a block of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.specialize.effects import root_name
from wgsl_kernels.wgsl.specialize.folding import Folding
from wgsl_kernels.wgsl.specialize.jumps import own_jump
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.limits import STATEMENTS
from wgsl_kernels.wgsl.syntax.walk import descendants
from wgsl_kernels.wgsl.types.values import (
    Known,
    NoValueError,
    combined,
    converted,
    spelled,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wgsl_kernels.wgsl.specialize.effects import Effects
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.types.values import Kind

MOST_ROUNDS = 256
"""Rounds of one loop that is written out."""

_KINDS: dict[str, Kind] = {"bool": "bool", "i32": "i32", "u32": "u32"}


class Unrolling(Folding):
    """What is known of declared names, and loops whose rounds are all known.

    Attributes:
        aliases: The module's names for types.
        in_loop: Whether a loop is open that stays one.
        count: The statements of the function at hand so far.
    """

    def __init__(
        self,
        globals_: dict[str, Known | None],
        untyped: frozenset[str],
        effects: Effects,
        aliases: Mapping[str, tree.Name],
    ) -> None:
        """Begin outside of any function."""
        super().__init__(globals_, untyped, effects)
        self.aliases = aliases
        self.in_loop = False
        self.count = 0
        self._loops: dict[int, tuple[tree.Node | None, bool]] = {}  # by the author's nodes

    def block(self, node: tree.CompoundStatement) -> tree.CompoundStatement:
        """Return what is left of a block; see `StatementSpecializer`."""
        raise NotImplementedError

    def is_marked(self, node: tree.Node) -> bool:
        """Say whether a loop is to be written out."""
        return self.text.place(node.begin).line in unrolled_lines(self.text)

    def declared(self, node: tree.Value | tree.Var, value: Known) -> Known | None:
        """Return the value of a name behind its declaration, None where its type is no integer."""
        is_const = node.keyword == "const" if isinstance(node, tree.Value) else False
        if node.type is None:
            kind: Kind | None = value.kind
            if kind == "int" and not is_const:
                kind = "i32"
        else:
            kind = self.kind(node.type)
        found = None if kind is None else converted(value, kind)
        return None if found is None else Known(found.kind, found.value, is_const)

    def kind(self, type_: tree.Name) -> Kind | None:
        """Return which kind of known values a type has, None where it has none."""
        for _ in range(len(self.aliases) + 1):
            if type_.templates or type_.name in self.locals:
                return None
            if type_.name not in self.aliases:
                return _KINDS.get(type_.name)
            type_ = self.aliases[type_.name]
        return None

    def unroll(self, node: tree.For, out: list[tree.Statement]) -> None:
        """Write a loop out: each round is a block of its own, so no name changes."""
        first = node.first
        if not isinstance(first, tree.Var) or node.condition is None or node.update is None:
            self.fail("a loop that is unrolled wants 'for (var i = ...; ...; ...)'.", node)
        name = first.ident.name
        written, jumps = self._looked_at(node, name)
        if written is not None:
            self.fail(f"the body of a loop that is unrolled writes {name!r}.", written)
        depth = self.depth
        given = None if first.value is None else self.value(first.value)
        value = None if given is None else self.declared(first, given)
        if value is None:
            self.fail(f"to unroll this loop, the first {name!r} must be known.", first)
        rounds = 0
        self.declare(name, value)
        while self._goes_on(node.condition):
            rounds += 1
            if rounds > MOST_ROUNDS:
                self.fail(
                    f"this loop has more than {MOST_ROUNDS} rounds; it is not unrolled.", node
                )
            self._round(node, name, value, out, jumps=jumps)
            value = self._updated(node.update, name, value)
            self.locals[name] = value
        self.close(depth)

    def _looked_at(self, node: tree.For, name: str) -> tuple[tree.Node | None, bool]:
        """Return what writes a loop's variable, and whether its body jumps; looked up once."""
        found = self._loops.get(id(node))
        if found is None:
            jumps = own_jump(node.body, ("break", "continue")) is not None
            found = self._loops[id(node)] = (writes_to(node.body, name), jumps)
        return found

    def _goes_on(self, condition: tree.Expression) -> bool:
        found = self.value(condition)
        if found is None or found.kind != "bool":
            self.fail("to unroll this loop, its condition must be known.", condition)
        return bool(found.value)

    def _round(
        self,
        node: tree.For,
        name: str,
        value: Known,
        out: list[tree.Statement],
        *,
        jumps: bool,
    ) -> None:
        shown = (
            f"-{spelled(Known(value.kind, -value.value))}" if value.value < 0 else spelled(value)
        )
        self.rounds.append((name, shown))
        body = self.block(node.body)
        self.count += not body.statements  # else its statements count
        jump = own_jump(body, ("break", "continue")) if jumps else None
        if jump is not None:
            self.fail(f"a loop with {jump.keyword!r} cannot be unrolled.", node)
        self.rounds.pop()
        if self.count > STATEMENTS:
            self.fail(
                f"the function has more than {STATEMENTS} statements once this is unrolled.",
                node,
            )
        if body.statements:
            out.append(tree.Round(node.body.begin, node.body.end, name, shown, body))

    def _updated(self, update: tree.Statement, name: str, value: Known) -> Known:
        """Return the loop variable's value in the next round."""
        found: Known | None = None
        try:
            if isinstance(update, tree.IncrementStatement):
                one = Known(value.kind, 1, is_const=False)
                found = combined("+" if update.operator == "++" else "-", value, one)
            elif isinstance(update, tree.Assign):
                by = self.value(update.value)
                if by is not None and update.operator == "=":
                    found = converted(by, value.kind)
                elif by is not None:
                    found = combined(update.operator[:-1], value, by)
        except NoValueError as error:
            self.fail(f"{error}.", update)
        target = (
            update.target if isinstance(update, (tree.IncrementStatement, tree.Assign)) else None
        )
        if found is None or not isinstance(target, tree.Name) or target.name != name:
            self.fail(f"to unroll this loop, the next {name!r} must be known.", update)
        return Known(found.kind, found.value, is_const=False)


def writes_to(body: tree.CompoundStatement, name: str) -> tree.Node | None:
    """Return what in ``body`` writes ``name`` or takes its address, None where nothing does.

    A name that ``body`` declares again counts, too: loops that are written out have no need of it.
    """
    for node in descendants(body):
        if isinstance(node, (tree.Assign, tree.IncrementStatement)):
            if node.target is not None and root_name(node.target) == name:
                return node
        elif (
            isinstance(node, tree.Unary)
            and node.operator == "&"
            and (root_name(node.operand) == name)
        ):
            return node
    return None


_MARK = re.compile(r"//[^\n]*?@unroll\b")


@once_per_text
def unrolled_lines(text: Text) -> frozenset[int]:
    """Return the lines that end in a comment ``// @unroll``, counted from 1."""
    return frozenset(text.place(found.start()).line for found in _MARK.finditer(text.text))
