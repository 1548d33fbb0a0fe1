"""Parsing expressions by operator precedence, with the specification's demand for parentheses.

Nothing here recurses: what is nested is kept on a stack of frames, so that the depth of a text is
bounded by ``limits`` and not by Python's stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.wgsl.errors.errors import REFUSED
from wgsl_kernels.wgsl.syntax.problem import Problem
from wgsl_kernels.wgsl.syntax.tokens import END, NAME, NUMBER, TEMPLATE, scan
from wgsl_kernels.wgsl.syntax.tree import (
    Access,
    Attribute,
    Binary,
    Call,
    Ident,
    Index,
    Literal,
    Name,
    Paren,
    Unary,
)

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tree import Expression

_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_LEVEL = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_COMPARISON, _SHIFT, _SUM = 5, 6, 7
_PREFIXES = frozenset("-!~*&")


@dataclass(slots=True)
class _ExpressionFrame:
    """An expression that is being read, and what is around it.

    Attributes:
        around: What it is in: ``(`` of a parenthesis, ``[`` of an index, ``call`` or ``list``;
            ``operand`` for an operand alone, empty for an expression.
        base: The callee, the indexed value or the name before a template list.
        begin: Where that begins.
        items: The finished expressions of a list.
        operands: The left operands that wait for their right ones.
        operators: The operators behind those, each with its level and its place.
        prefixes: The operators before the operand that is being read, with their places.
    """

    around: str
    begin: int
    base: Expression | Ident | None = None
    items: list[Expression] = field(default_factory=list["Expression"])
    operands: list[Expression] = field(default_factory=list["Expression"])
    operators: list[tuple[str, int, int]] = field(default_factory=list["tuple[str, int, int]"])
    prefixes: list[tuple[str, int]] = field(default_factory=list["tuple[str, int]"])


_MEANT = {
    "and": " Write &&.",
    "or": " Write ||.",
    "not": " Write !.",
    '"': " WGSL has no strings.",
    "'": " WGSL has no strings.",
    "++": " Write it behind the variable, as a statement.",
    "--": " Write it behind the variable, as a statement.",
}
"""What to write in place of other languages' tokens."""


_BEGINNINGS = {
    "elif": " Write else if.",
    "do": " Write loop { …; continuing { break if !(condition); } }.",
    "static": " Leave static out.",
}
"""What to write in place of the words with which other languages' statements begin."""
_SCALARS = ("f32", "f16", "i32", "u32", "bool", "int", "float", "uint", "T")


class WantedError(Exception):
    """The tokens are not what the grammar wants; the arguments are those of its problem."""

    def __init__(self, message: str, begin: int, code: str = REFUSED) -> None:
        super().__init__(message, begin, code)
        self.problem = Problem(message, begin, code)


class ExpressionParser:
    """A cursor over the tokens of one file, with the parts of the grammar that have a value."""

    def __init__(self, source: Text, *, is_balanced: bool = True) -> None:
        self.source = source
        tokens = scan(source, is_balanced=is_balanced)
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.begins = tokens.begins
        self.ends = tokens.ends
        self.at = 0
        self.problems: list[Problem] = []

    # The cursor.

    def fail(self, wanted: str) -> NoReturn:
        """Refuse the token at the cursor; at the end of the text, what is behind the last one."""
        at = self.at
        if self.kinds[at] != END:
            found = self.texts[at]
            hint = _MEANT.get(found, "") or self._meant_before(at)
            if found == "let" and wanted == "a declaration":
                hint = " Outside of functions write const."
            elif found == "fn" and self.texts[at - 1] in (";", "{", "}"):
                hint = " A function stands outside of all others."
            if wanted == "an assignment" and found.isidentifier() and not hint:
                hint = " A declaration begins with var, let or const."
            raise WantedError(f"want {wanted}, found {found!r}.{hint}", self.begins[at], "syntax")
        end = self.ends[at - 1] if at else 0
        raise WantedError(f"want {wanted}, found the end.", end, "syntax")

    def _meant_before(self, at: int) -> str:
        """Return what to write in place of what comes before a token; "" if nothing is known."""
        before = self.texts[max(0, at - 3) : at]
        first = at
        while first > 0 and self.texts[first - 1] not in (";", "{", "}"):
            first -= 1
        if self.texts[first] in _BEGINNINGS:
            return _BEGINNINGS[self.texts[first]]
        if len(before) == 3 and before[0] == "(" and before[2] == ")" and before[1] in _SCALARS:
            return f" Write {before[1]}(value)."
        if before[-1:] == ["not"]:
            return _MEANT["not"]
        is_suffix = self.texts[at] in "FHLU" and self.ends[at - 1] == self.begins[at]
        return f" Write {self.texts[at].lower()!r}, or none." if is_suffix else ""

    def skip(self, text: str) -> bool:
        """Pass the token ``text`` if it is next."""
        if self.texts[self.at] != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> None:
        """Pass the token ``text``, which must be next."""
        if self.texts[self.at] != text:
            self.fail(f"{text!r}")
        self.at += 1

    def ident(self, what: str) -> Ident:
        """Pass a name, which must be next; ``what`` says whose name it is."""
        at = self.at
        if self.kinds[at] != NAME:
            self.fail(f"the name of {what}")
        self.at = at + 1
        return Ident(self.begins[at], self.ends[at], self.texts[at])

    # The grammar.

    def attributes(self) -> tuple[Attribute, ...]:
        """Read any attributes."""
        if self.texts[self.at] != "@":
            return ()
        found: list[Attribute] = []
        while self.texts[self.at] == "@":
            found.append(self.attribute())
        return tuple(found)

    def attribute(self) -> Attribute:
        """Read one attribute, whose ``@`` is next."""
        begin = self.begins[self.at]
        self.at += 1
        name = self.texts[self.at]
        if not name.isidentifier():
            self.fail("the name of an attribute")
        self.at += 1
        arguments = self.arguments() if self.texts[self.at] == "(" else None
        return Attribute(begin, self.ends[self.at - 1], name, arguments)

    def leading(self) -> tuple[int, tuple[Attribute, ...]]:
        """Read the attributes before an element of a list, and say where the element begins."""
        begin = self.begins[self.at]
        return begin, self.attributes()

    def arguments(self) -> tuple[Expression, ...]:
        """Read ``(expressions)``, a comma behind the last allowed."""
        self.at += 1
        if self.skip(")"):
            return ()
        frame = _ExpressionFrame("call", self.begins[self.at])
        self._read(frame)
        return tuple(frame.items)

    def templates(self) -> tuple[Expression, ...]:
        """Read a template list if one is next."""
        if self.kinds[self.at] is not TEMPLATE or self.texts[self.at] != "<":
            return ()
        self.at += 1
        frame = _ExpressionFrame("list", self.begins[self.at])
        self._read(frame)
        return tuple(frame.items)

    def type(self) -> Name:
        """Read a type: a name with or without a template list."""
        ident = self._name("a type")
        if self.kinds[self.at] is not TEMPLATE:
            return Name(ident.begin, ident.end, ident, ())
        templates = self.templates()
        return Name(ident.begin, self.ends[self.at - 1], ident, templates)

    def expression(self) -> Expression:
        return self._read(_ExpressionFrame("", self.begins[self.at]))

    def unary(self) -> Expression:
        """Read an operand with the operators before it and the accesses behind it."""
        return self._read(_ExpressionFrame("operand", self.begins[self.at]))

    def _read(self, frame: _ExpressionFrame) -> Expression:
        """Read the expression, or the list, that ``frame`` begins."""
        open_ = [frame]
        while True:
            value = self._operand(open_)
            while value is not None:
                value = self._accesses(open_, value)
                if value is None:
                    break
                frame = open_[-1]
                if frame.prefixes:
                    value = self._prefixed(frame, value)
                if frame.around != "operand" and self._operator(frame, value):
                    break
                while frame.operators:
                    value = self._joined(frame, value)
                if not self._closes(frame, value):
                    break
                open_.pop()
                if not open_:
                    return value
                value = self._closed(frame, value, open_)

    def _operand(self, open_: list[_ExpressionFrame]) -> Expression | None:
        """Read what an operand begins with: a value, or None where another frame is now open."""
        at = self.at
        kind, text, begin = self.kinds[at], self.texts[at], self.begins[at]
        if kind is NAME:
            return self._named(open_, self._name("a type"))
        if text in _PREFIXES and text:
            open_[-1].prefixes.append((text, begin))
        elif kind is NUMBER or text in ("true", "false"):
            self.at = at + 1
            return Literal(begin, self.ends[at], text)
        elif text == "(":
            open_.append(_ExpressionFrame("(", begin))
        else:
            self.fail("an expression")
        self.at = at + 1
        return None

    def _name(self, what: str) -> Ident:
        at = self.at
        if self.kinds[at] is not NAME:
            self.fail(what)
        self.at = at + 1
        return Ident(self.begins[at], self.ends[at], self.texts[at])

    def _named(self, open_: list[_ExpressionFrame], ident: Ident) -> Expression | None:
        """Go on behind a name: with its template list, its arguments, or it alone."""
        if self.kinds[self.at] is TEMPLATE and self.texts[self.at] == "<":
            self.at += 1
            open_.append(_ExpressionFrame("list", ident.begin, ident))
            return None
        return self._callee(open_, Name(ident.begin, ident.end, ident, ()))

    def _callee(self, open_: list[_ExpressionFrame], name: Name) -> Expression | None:
        if self.texts[self.at] != "(":
            return name
        self.at += 1
        if self.skip(")"):
            return Call(name.begin, self.ends[self.at - 1], name, ())
        open_.append(_ExpressionFrame("call", name.begin, name))
        return None

    def _accesses(self, open_: list[_ExpressionFrame], value: Expression) -> Expression | None:
        """Read members behind a value; None where an index has opened a frame."""
        while True:
            text = self.texts[self.at]
            if text == ".":
                self.at += 1
                member = self.ident("a member")
                value = Access(value.begin, member.end, value, member)
            elif text == "[":
                self.at += 1
                open_.append(_ExpressionFrame("[", value.begin, value))
                return None
            else:
                return value

    def _prefixed(self, frame: _ExpressionFrame, value: Expression) -> Expression:
        while frame.prefixes:
            operator, begin = frame.prefixes.pop()
            value = Unary(begin, value.end, operator, value)
        return value

    def _operator(self, frame: _ExpressionFrame, value: Expression) -> bool:
        """Take an operator if one is next; the operands that it ends are joined."""
        operator = self.texts[self.at]
        level = _LEVEL.get(operator, -1)
        if level < 0 or self.kinds[self.at] is TEMPLATE:
            return False
        while frame.operators and frame.operators[-1][1] >= level:
            value = self._joined(frame, value)
        frame.operands.append(value)
        frame.operators.append((operator, level, self.begins[self.at]))
        self.at += 1
        return True

    def _joined(self, frame: _ExpressionFrame, right: Expression) -> Expression:
        operator, level, place = frame.operators.pop()
        left = frame.operands.pop()
        if type(left) is Binary or type(right) is Binary:
            self._check_mix(operator, level, left, right, place)
        return Binary(left.begin, right.end, operator, left, right)

    def _closes(self, frame: _ExpressionFrame, value: Expression) -> bool:
        """Say whether the frame ends here; a list may go on."""
        around, text = frame.around, self.texts[self.at]
        if around == "(":
            self.expect(")")
        elif around == "[":
            self.expect("]")
        elif around in ("call", "list"):
            closer = ")" if around == "call" else ">"
            frame.items.append(value)
            is_next = text == "," and (self.texts[self.at + 1] != closer or not self._ends(around))
            if is_next:
                self.at += 1
                return False
            self.at += text == ","
            if self.texts[self.at] != closer or not self._ends(around, 0):
                self.fail(f"',' or {closer!r}")
            self.at += 1
        return True

    def _ends(self, around: str, ahead: int = 1) -> bool:
        """Say whether the bracket at the cursor, or so far ahead, can end such a list."""
        return around == "call" or self.kinds[self.at + ahead] is TEMPLATE

    def _closed(
        self, frame: _ExpressionFrame, value: Expression, open_: list[_ExpressionFrame]
    ) -> Expression | None:
        """Return what a frame has made for the one around it."""
        end, base = self.ends[self.at - 1], frame.base
        if frame.around == "(":
            return Paren(frame.begin, end, value)
        if isinstance(base, Ident):
            return self._callee(open_, Name(frame.begin, end, base, tuple(frame.items)))
        if frame.around == "[" and base is not None:
            return Index(frame.begin, end, base, value)
        assert isinstance(base, Name)
        return Call(frame.begin, end, base, tuple(frame.items))

    def _check_mix(
        self, operator: str, level: int, left: Expression, right: Expression, place: int
    ) -> None:
        """Note operators that WGSL wants parentheses between, though their order is known."""
        for side, is_left in ((left, True), (right, False)):
            if type(side) is not Binary:
                continue
            inner = _LEVEL[side.operator]
            same = is_left and side.operator == operator and level < _COMPARISON
            if same or (level < 2 and inner >= _COMPARISON) or level >= _SUM:
                continue
            if level == _COMPARISON and inner >= _SHIFT:
                continue
            message = f"{side.operator!r} beside {operator!r} wants parentheses."
            self.problems.append(Problem(message, place))
