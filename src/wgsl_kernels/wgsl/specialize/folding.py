"""Expressions with what is known of them in place: integers and bools, never floats."""

from __future__ import annotations

from dataclasses import replace
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from wgsl_kernels.wgsl.errors.errors import ShaderError
from wgsl_kernels.wgsl.syntax import tree
from wgsl_kernels.wgsl.types.values import (
    FOLDED,
    Known,
    NoValueError,
    called,
    combined,
    converted,
    known_literal,
    negated,
    spelled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from wgsl_kernels.wgsl.specialize.effects import Effects
    from wgsl_kernels.wgsl.syntax.places import Text

Found: TypeAlias = "tree.Expression | Known"

_NEUTRAL_RIGHT = {"+": 0, "-": 0, "*": 1, "/": 1, "|": 0, "^": 0, "<<": 0, ">>": 0}
_NEUTRAL_LEFT = {"+": 0, "*": 1, "|": 0, "^": 0}
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_PRIMARY = (tree.Literal, tree.Name, tree.Call, tree.Index, tree.Access, tree.Paren)
_MISSING: Any = object()
_NOTHING: Mapping[int, Found] = MappingProxyType({})


class Folding:
    """What is known in the scopes that are open.

    Attributes:
        globals: The values of the module's constants, None for those that are not known.
        untyped: The module's constants whose type their value alone gives.
        effects: What the module's functions do.
        text: The file of the declaration at hand.
        locals: For each local name its value, None where it is not known.
        rounds: The loop variables that are written out, and their values.
        used: The module's constants that were used.
        needs: The other names of the module, and from outside of it, that are left.
    """

    def __init__(
        self, globals_: dict[str, Known | None], untyped: frozenset[str], effects: Effects
    ) -> None:
        """Open no scope."""
        self.globals = globals_
        self.untyped = untyped
        self.effects = effects
        self.text: Text
        self.locals: dict[str, Known | None] = {}
        self.rounds: list[tuple[str, str]] = []
        self.used: set[str] = set()
        self.needs: set[str] = set()
        self._hidden: list[tuple[str, Any]] = []
        self._local_consts: set[str] = set()

    # Scopes.

    def declare(self, name: str, value: Known | None) -> None:
        """Make a local name known, or known to be unknown."""
        self._hidden.append((name, self.locals.get(name, _MISSING)))
        self.locals[name] = value

    def note_const(self, name: str) -> None:
        """Note a local constant without a value: its type may be an abstract one."""
        self._local_consts.add(name)

    @property
    def depth(self) -> int:
        """What `close` takes to leave the scopes that are opened from now on."""
        return len(self._hidden)

    def close(self, depth: int) -> None:
        """Forget what was declared since."""
        while len(self._hidden) > depth:
            name, value = self._hidden.pop()
            if value is _MISSING:
                del self.locals[name]
            else:
                self.locals[name] = value

    def fail(self, message: str, node: tree.Node) -> NoReturn:
        """Refuse the module at a place."""
        raise ShaderError(self.text.point(f"{message}{self.context()}", node.begin))

    def context(self) -> str:
        """Return the rounds that an error is in."""
        if not self.rounds:
            return ""
        return f" In round {', '.join(f'{name} = {value}' for name, value in self.rounds)}."

    # Expressions.

    def fold(self, node: tree.Expression) -> Found:
        """Return the value of an expression, or what is left of it."""
        return _FOLDS[type(node)](self, node)

    def written(self, node: tree.Expression) -> tree.Expression:
        """Return an expression with values in their places."""
        return _written(_FOLDS[type(node)](self, node), node)

    def value(self, node: tree.Expression) -> Known | None:
        """Return the value of an expression, None where it is not known."""
        found = self.fold(node)
        return found if type(found) is Known else None

    def all_written(self, nodes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return several; the same tuple where nothing has changed."""
        found = tuple([self.written(node) for node in nodes])
        for one, node in zip(found, nodes, strict=True):
            if one is not node:
                return found
        return nodes

    def type(self, node: tree.Name) -> tree.Name:
        """Return a type with the values of its template list in place."""
        name = node.ident.name
        if name not in self.locals:
            self.needs.add(name)
        if not node.templates:
            return node
        templates = self.all_written(node.templates)
        return node if templates is node.templates else replace(node, templates=templates)

    def _literal(self, node: tree.Literal) -> Found:
        return known_literal(node.text) or node

    def _name(self, node: tree.Name) -> Found:
        name = node.ident.name
        if name in self.locals:
            known = self.locals[name]
            return node if known is None else known
        if node.templates:
            return self.type(node)
        known = self.globals[name]
        if known is None:
            self.needs.add(name)
            return node
        self.used.add(name)
        return known

    def _paren(self, node: tree.Paren) -> Found:
        inner = self.fold(node.inner)
        if type(inner) is Known or inner is node.inner:
            return inner if type(inner) is Known else node
        return tree.Paren(node.begin, node.end, inner)

    def _unary(self, node: tree.Unary) -> Found:
        operand = self.fold(node.operand)
        if type(operand) is Known:
            try:
                found = negated(node.operator, operand)
            except NoValueError as error:
                self.fail(f"{error}.", node)
            if found is not None:
                return found
            operand = node_of(operand, node.operand)
        if operand is node.operand:
            return node
        return tree.Unary(node.begin, node.end, node.operator, operand)

    def _index(self, node: tree.Index) -> Found:
        base, index = self.written(node.base), self.written(node.index)
        if base is node.base and index is node.index:
            return node
        return tree.Index(node.begin, node.end, base, index)

    def _access(self, node: tree.Access) -> Found:
        base = self.written(node.base)
        return node if base is node.base else tree.Access(node.begin, node.end, base, node.member)

    # Operators.

    def _binary(self, node: tree.Binary) -> Found:
        spine = [node]
        left = node.left
        while type(left) is tree.Binary:  # a sum may be longer than Python's stack
            spine.append(left)
            left = left.left
        found = self.fold(left)
        while spine:
            found = self._combine(spine.pop(), found)
        return found

    def _combine(self, node: tree.Binary, left: Found) -> Found:
        operator = node.operator
        if operator in ("&&", "||"):
            return self._logical(node, left)
        right = self.fold(node.right)
        if type(left) is Known:
            if type(right) is Known:
                try:
                    found = combined(operator, left, right)
                except NoValueError as error:
                    self.fail(f"{error}.", node)
                if found is not None:
                    return found
            elif (
                _NEUTRAL_LEFT.get(operator) == left.value
                and left.kind in ("u32", "i32")
                and not self.may_be_abstract(right)
            ):
                return right
        elif type(right) is Known and right.kind != "bool":
            if _NEUTRAL_RIGHT.get(operator) == right.value and (
                operator in ("<<", ">>") or (right.kind != "int" and not self.may_be_abstract(left))
            ):
                return left
            if not right.is_const:
                return self._at_run_time(node, left, right)
        return _joined(node, left, right)

    def _at_run_time(self, node: tree.Binary, left: tree.Expression, right: Known) -> Found:
        """Keep what WGSL does at run time with a value that would be an error as a constant."""
        if right.value == 0 and node.operator == "/":
            return left
        if right.value == 0 and node.operator == "%":
            inner = left if isinstance(left, _PRIMARY) else tree.Paren(left.begin, left.end, left)
            zero = tree.Binary(node.begin, node.end, "&", inner, node_of(right, node.right))
            return tree.Paren(node.begin, node.end, zero)
        if node.operator in ("<<", ">>"):
            right = Known("u32", right.value & 31, is_const=False)
        return _joined(node, left, right)

    def _logical(self, node: tree.Binary, left: Found) -> Found:
        """Fold ``&&`` and ``||``; the right side counts only where the left one lets it."""
        decides = node.operator == "||"
        if type(left) is Known and left.kind == "bool":
            return left if left.value == decides else self.fold(node.right)
        right = self.fold(node.right)
        if type(right) is Known and right.kind == "bool" and type(left) is not Known:
            if right.value != decides:
                return left
            if self.effects.only_computes(left):
                return right
        return _joined(node, left, right)

    # Calls.

    def _call(self, node: tree.Call) -> Found:
        callee = node.callee
        name = callee.ident.name
        is_own = name not in self.locals and name not in self.effects.functions
        if is_own and name == "select" and len(node.arguments) == 3:
            return self._select(node)
        if is_own and name in FOLDED and not callee.templates:
            arguments = [self.fold(one) for one in node.arguments]
            known = [one for one in arguments if type(one) is Known]
            if len(known) == len(arguments):
                try:
                    found = called(name, known)
                except NoValueError as error:
                    self.fail(f"{error}.", node)
                if found is not None:
                    return found
            return self._rebuilt(node, dict(enumerate(arguments)))
        return self._rebuilt(node)

    def _rebuilt(self, node: tree.Call, folded: Mapping[int, Found] = _NOTHING) -> tree.Call:
        """Return a call of what is left; arguments that are ``folded`` are not folded again.

        A call in a call in a call would else take a time that doubles with each.
        """
        callee = self.type(node.callee)
        arguments = [
            _written(folded[at] if at in folded else _FOLDS[type(one)](self, one), one)
            for at, one in enumerate(node.arguments)
        ]
        if callee is node.callee and all(map(is_, arguments, node.arguments)):
            return node
        return tree.Call(node.begin, node.end, callee, tuple(arguments))

    def _select(self, node: tree.Call) -> Found:
        """Choose where the condition is known, if what is chosen keeps its type alone."""
        condition = self.fold(node.arguments[2])
        if type(condition) is not Known or condition.kind != "bool":
            return self._rebuilt(node, {2: condition})
        which = 1 if condition.value else 0
        other_node = node.arguments[1 - which]
        chosen = self.fold(node.arguments[which])
        folded = {2: condition, which: chosen}
        if type(chosen) is Known:
            if chosen.kind == "int":
                other = folded[1 - which] = self.fold(other_node)
                if type(other) is not Known:
                    return self._rebuilt(node, folded)
                fitted = converted(chosen, other.kind)
                chosen = chosen if fitted is None else fitted
            return Known(chosen.kind, chosen.value, chosen.is_const and condition.is_const)
        if self.may_be_abstract(chosen) or not self.effects.only_computes(other_node):
            return self._rebuilt(node, folded)
        if isinstance(chosen, _PRIMARY):
            return chosen
        return tree.Paren(node.begin, node.end, chosen)

    def may_be_abstract(self, node: tree.Expression) -> bool:
        """Say whether the type of ``node`` may be one that its surroundings decide."""
        if isinstance(node, tree.Literal):
            known = known_literal(node.text)
            return known.kind == "int" if known is not None else node.text[-1] not in "fh"
        if isinstance(node, tree.Name):
            if node.name in self.locals:
                return node.name in self._local_consts
            return node.name in self.untyped
        if isinstance(node, tree.Call):
            is_own = node.callee.name not in self.effects.functions and not node.callee.templates
            return is_own and all(self.may_be_abstract(one) for one in node.arguments)
        if isinstance(node, tree.Binary):
            if node.operator in _COMPARISONS:
                return False
            left = self.may_be_abstract(node.left)
            return left and (node.operator in ("<<", ">>") or self.may_be_abstract(node.right))
        if isinstance(node, (tree.Index, tree.Access)):
            return self.may_be_abstract(node.base)
        if isinstance(node, tree.Unary):
            return self.may_be_abstract(node.operand)
        return self.may_be_abstract(node.inner)


def node_of(value: Known, place: tree.Expression) -> tree.Expression:
    """Return a value as WGSL writes it, in the place of what it came from."""
    if type(place) is tree.Literal:
        return place
    begin, end = place.begin, place.end
    if value.value >= 0:
        return tree.Literal(begin, end, spelled(value))
    if value.value > -(2**31) or (value.kind == "int" and value.value > -(2**63)):
        return _minus(begin, end, Known(value.kind, -value.value))
    if value.kind == "i32":  # 2147483648i is no number
        callee = tree.Name(begin, end, tree.Ident(begin, end, "i32"), ())
        return tree.Call(begin, end, callee, (_minus(begin, end, Known("int", 2**31)),))
    least = _minus(begin, end, Known("int", 2**63 - 1))
    return tree.Paren(
        begin, end, tree.Binary(begin, end, "-", least, tree.Literal(begin, end, "1"))
    )


def _minus(begin: int, end: int, value: Known) -> tree.Unary:
    return tree.Unary(begin, end, "-", tree.Literal(begin, end, spelled(value)))


def _written(found: Found, place: tree.Expression) -> tree.Expression:
    return node_of(found, place) if type(found) is Known else found


def _joined(node: tree.Binary, left: Found, right: Found) -> tree.Expression:
    one, two = _written(left, node.left), _written(right, node.right)
    if one is node.left and two is node.right:
        return node
    return tree.Binary(node.begin, node.end, node.operator, one, two)


_FOLDS: dict[type[tree.Node], Callable[[Any, Any], Found]] = {
    tree.Literal: Folding._literal,
    tree.Name: Folding._name,
    tree.Paren: Folding._paren,
    tree.Unary: Folding._unary,
    tree.Binary: Folding._binary,
    tree.Index: Folding._index,
    tree.Access: Folding._access,
    tree.Call: Folding._call,
}
