"""Parsing expressions: precedence climbing, with the specification's demand for parentheses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from wgsl_kernels.backends.webgpu.wgsl.tokens import END, NAME, NUMBER, TEMPLATE, scan
from wgsl_kernels.backends.webgpu.wgsl.tree import (
    Access,
    Attribute,
    Binary,
    Call,
    Ident,
    Index,
    Literal,
    Name,
    Paren,
    Problem,
    Unary,
)

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.wgsl.places import Text
    from wgsl_kernels.backends.webgpu.wgsl.tree import Expression

_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_LEVEL = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_COMPARISON, _SHIFT, _SUM = 5, 6, 7
_PREFIXES = frozenset("-!~*&")
_DEEPEST = 100
"""Levels of nesting that are read; what is deeper is left to the compiler."""


class WantedError(Exception):
    """The tokens are not what the grammar wants; the message and the place are its arguments."""

    def __init__(self, message: str, begin: int) -> None:
        super().__init__(message, begin)
        self.problem = Problem(message, begin)


class Expressions:
    """A cursor over the tokens of one file, with the parts of the grammar that have a value."""

    def __init__(self, source: Text) -> None:
        self.source = source
        tokens = scan(source)
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.begins = tokens.begins
        self.ends = tokens.ends
        self.at = 0
        self.depth = 0
        self.problems: list[Problem] = []

    # The cursor.

    def fail(self, wanted: str) -> NoReturn:
        """Refuse the token at the cursor, or the end of the line before it."""
        at = self.at
        found = repr(self.texts[at]) if self.kinds[at] != END else "the end"
        begin = self.begins[at]
        if at and "\n" in self.source.text[self.ends[at - 1] : begin]:
            begin = self.ends[at - 1]
        raise WantedError(f"want {wanted}, found {found}.", begin)

    def nest(self) -> None:
        """Go one level deeper; who calls it takes the level back."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise WantedError("this is nested too deeply to read.", self.begins[self.at])

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
        self.nest()
        self.at += 1
        found: list[Expression] = []
        while self.texts[self.at] != ")":
            found.append(self.expression())
            if self.texts[self.at] != ",":
                break
            self.at += 1
        if self.texts[self.at] != ")":
            self.fail("',' or ')'")
        self.at += 1
        self.depth -= 1
        return tuple(found)

    def templates(self) -> tuple[Expression, ...]:
        """Read a template list if one is next."""
        if self.kinds[self.at] != TEMPLATE or self.texts[self.at] != "<":
            return ()
        self.nest()
        self.at += 1
        found = [self.expression()]
        while self.skip(",") and self.kinds[self.at] != TEMPLATE:
            found.append(self.expression())
        if self.kinds[self.at] != TEMPLATE or self.texts[self.at] != ">":
            self.fail("',' or '>'")
        self.at += 1
        self.depth -= 1
        return tuple(found)

    def type(self) -> Name:
        """Read a type: a name with or without a template list."""
        ident = self._name("a type")
        if self.kinds[self.at] is not TEMPLATE:
            return Name(ident.begin, ident.end, ident, ())
        templates = self.templates()
        return Name(ident.begin, self.ends[self.at - 1], ident, templates)

    def _name(self, what: str) -> Ident:
        at = self.at
        if self.kinds[at] is not NAME:
            self.fail(what)
        self.at = at + 1
        return Ident(self.begins[at], self.ends[at], self.texts[at])

    def expression(self, floor: int = 0) -> Expression:
        """Read an expression of operators that bind at least as tightly as level ``floor``."""
        left = self.unary()
        while True:
            operator = self.texts[self.at]
            level = _LEVEL.get(operator, -1)
            if level < floor or self.kinds[self.at] is TEMPLATE:
                return left
            place = self.begins[self.at]
            self.at += 1
            right = self.expression(level + 1)
            if type(left) is Binary or type(right) is Binary:
                self._check_mix(operator, level, left, right, place)
            left = Binary(left.begin, right.end, operator, left, right)

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

    def unary(self) -> Expression:
        """Read an operand with the operators before it and the accesses behind it."""
        at = self.at
        text = self.texts[at]
        if text in _PREFIXES and text:
            self.nest()
            self.at = at + 1
            operand = self.unary()
            self.depth -= 1
            return Unary(self.begins[at], operand.end, text, operand)
        value = self._primary()
        depth = self.depth
        while True:
            at = self.at
            text = self.texts[at]
            if text in (".", "["):
                self.nest()
            if text == ".":
                self.at = at + 1
                member = self.ident("a member")
                value = Access(value.begin, member.end, value, member)
            elif text == "[":
                self.at = at + 1
                index = self.expression()
                self.expect("]")
                value = Index(value.begin, self.ends[self.at - 1], value, index)
            else:
                self.depth = depth
                return value

    def _primary(self) -> Expression:
        at = self.at
        kind = self.kinds[at]
        text = self.texts[at]
        begin = self.begins[at]
        if kind is NAME:
            name = self.type()
            if self.texts[self.at] != "(":
                return name
            arguments = self.arguments()
            return Call(begin, self.ends[self.at - 1], name, arguments)
        if kind is NUMBER or text in ("true", "false"):
            self.at = at + 1
            return Literal(begin, self.ends[at], text)
        if text == "(":
            self.nest()
            self.at = at + 1
            inner = self.expression()
            self.expect(")")
            self.depth -= 1
            return Paren(begin, self.ends[self.at - 1], inner)
        return self.fail("an expression")
