"""Parsing statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.syntax.expressions import ExpressionParser
from wgsl_kernels.wgsl.syntax.tree import (
    Assign,
    BreakIf,
    Call,
    CallStatement,
    Clause,
    CompoundStatement,
    ConstAssert,
    Continuing,
    For,
    If,
    IncrementStatement,
    Jump,
    Loop,
    Return,
    Switch,
    Value,
    Var,
    While,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from wgsl_kernels.wgsl.syntax.tree import Attribute, Expression, Statement

_ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])


class StatementParser(ExpressionParser):
    """The parts of the grammar that stand in a function's body."""

    def block(self, attributes: tuple[Attribute, ...] = ()) -> CompoundStatement:
        """Read ``{ statements }``."""
        begin = attributes[0].begin if attributes else self.begins[self.at]
        self.expect("{")
        found: list[Statement] = []
        texts = self.texts
        while texts[self.at] != "}":
            if texts[self.at] == ";":
                self.at += 1
            else:
                found.append(self.statement())
        self.at += 1
        return CompoundStatement(begin, self.ends[self.at - 1], attributes, tuple(found))

    def statement(self) -> Statement:
        """Read one statement with its semicolon."""
        begin, attributes = self.leading()
        text = self.texts[self.at]
        if read := _COMPOUND.get(text):
            return read(self, begin, attributes)
        if attributes:
            self.fail("a block, 'if', 'switch' or a loop behind attributes")
        read_simple = _SIMPLE.get(text)
        found = read_simple(self, begin) if read_simple else self.action()
        self.expect(";")
        return found

    def action(self) -> Statement:
        """Read an assignment, a step or a call, without a semicolon."""
        at = self.at
        begin = self.begins[at]
        if self.texts[at] == "_" and self.texts[at + 1] == "=":
            self.at = at + 2
            value = self.expression()
            return Assign(begin, value.end, None, "=", value)
        target = self.unary()
        operator = self.texts[self.at]
        if operator in _ASSIGNMENTS:
            self.at += 1
            value = self.expression()
            return Assign(begin, value.end, target, operator, value)
        if operator in ("++", "--"):
            self.at += 1
            return IncrementStatement(begin, self.ends[self.at - 1], target, operator)
        if type(target) is Call:
            return CallStatement(begin, target.end, target)
        return self.fail("an assignment")

    def variable(self, begin: int, attributes: tuple[Attribute, ...] = ()) -> Var:
        """Read ``var<...> name: type = value``."""
        self.at += 1
        templates = self.templates()
        ident = self.ident("a variable")
        type_ = self.type() if self.skip(":") else None
        value = self.expression() if self.skip("=") else None
        return Var(begin, self.ends[self.at - 1], attributes, templates, ident, type_, value)

    def value(self, begin: int, attributes: tuple[Attribute, ...] = ()) -> Value:
        """Read ``const``, ``let`` or ``override``; only the last goes without a value."""
        keyword = self.texts[self.at]
        self.at += 1
        ident = self.ident("a constant" if keyword == "const" else f"what {keyword} declares")
        type_ = self.type() if self.skip(":") else None
        value = None
        if keyword != "override" or self.texts[self.at] == "=":
            self.expect("=")
            value = self.expression()
        return Value(begin, self.ends[self.at - 1], keyword, attributes, ident, type_, value)

    def const_assert(self, begin: int) -> ConstAssert:
        """Read ``const_assert condition``."""
        self.at += 1
        condition = self.expression()
        return ConstAssert(begin, condition.end, condition)

    def return_(self, begin: int) -> Return:
        """Read ``return`` with or without a value."""
        self.at += 1
        value = self.expression() if self.texts[self.at] != ";" else None
        return Return(begin, self.ends[self.at - 1], value)

    def jump(self, begin: int) -> Jump | BreakIf:
        """Read ``break``, ``break if``, ``continue`` or ``discard``."""
        keyword = self.texts[self.at]
        self.at += 1
        if keyword == "break" and self.skip("if"):
            condition = self.expression()
            return BreakIf(begin, condition.end, condition)
        return Jump(begin, self.ends[self.at - 1], keyword)

    def if_(self, begin: int, attributes: tuple[Attribute, ...]) -> If:
        """Read ``if`` with its branches."""
        heads: list[tuple[int, tuple[Attribute, ...], Expression, CompoundStatement]] = []
        otherwise: If | CompoundStatement | None = None
        while True:
            self.at += 1
            condition = self.expression()
            heads.append((begin, attributes, condition, self.block(self.attributes())))
            if not self.skip("else"):
                break
            begin, attributes = self.begins[self.at], ()
            if self.texts[self.at] != "if":
                otherwise = self.block(self.attributes())
                break
        end = self.ends[self.at - 1]
        for first, own, condition, body in reversed(heads):
            otherwise = If(first, end, own, condition, body, otherwise)
        assert isinstance(otherwise, If)
        return otherwise

    def switch(self, begin: int, attributes: tuple[Attribute, ...]) -> Switch:
        """Read ``switch``."""
        self.at += 1
        selector = self.expression()
        body_attributes = self.attributes()
        self.expect("{")
        clauses: list[Clause] = []
        while not self.skip("}"):
            clauses.append(self.clause())
        end = self.ends[self.at - 1]
        return Switch(begin, end, attributes, selector, body_attributes, tuple(clauses))

    def clause(self) -> Clause:
        """Read ``case`` or ``default``."""
        begin = self.begins[self.at]
        selectors: list[Expression | None] = []
        if self.skip("default"):
            selectors.append(None)
        elif self.skip("case"):
            while self.texts[self.at] not in (":", "{", "@"):
                selectors.append(None if self.skip("default") else self.expression())
                if not self.skip(","):
                    break
            if not selectors:
                self.fail("a value or 'default'")
        else:
            self.fail("'case', 'default' or '}'")
        self.skip(":")
        body = self.block(self.attributes())
        return Clause(begin, body.end, tuple(selectors), body)

    def loop(self, begin: int, attributes: tuple[Attribute, ...]) -> Loop:
        """Read ``loop``."""
        self.at += 1
        body = self.block(self.attributes())
        return Loop(begin, body.end, attributes, body)

    def continuing(self, begin: int, attributes: tuple[Attribute, ...]) -> Continuing:
        """Read ``continuing``."""
        self.at += 1
        body = self.block((*attributes, *self.attributes()))
        return Continuing(begin, body.end, body)

    def while_(self, begin: int, attributes: tuple[Attribute, ...]) -> While:
        """Read ``while``."""
        self.at += 1
        condition = self.expression()
        body = self.block(self.attributes())
        return While(begin, body.end, attributes, condition, body)

    def for_(self, begin: int, attributes: tuple[Attribute, ...]) -> For:
        """Read ``for``."""
        self.at += 1
        self.expect("(")
        first: Statement | None = None
        if self.texts[self.at] != ";":
            read = _SIMPLE.get(self.texts[self.at])
            first = read(self, self.begins[self.at]) if read else self.action()
        self.expect(";")
        condition = self.expression() if self.texts[self.at] != ";" else None
        self.expect(";")
        update = self.action() if self.texts[self.at] != ")" else None
        self.expect(")")
        body = self.block(self.attributes())
        return For(begin, body.end, attributes, first, condition, update, body)

    def plain_block(self, begin: int, attributes: tuple[Attribute, ...]) -> CompoundStatement:
        """Read a block behind its attributes."""
        return self.block(attributes)


_COMPOUND: dict[str, Callable[[StatementParser, int, tuple[Attribute, ...]], Statement]] = {
    "{": StatementParser.plain_block,
    "if": StatementParser.if_,
    "switch": lambda self, begin, attributes: self.switch(begin, attributes),  # may be overridden
    "loop": StatementParser.loop,
    "continuing": StatementParser.continuing,
    "while": StatementParser.while_,
    "for": StatementParser.for_,
}
_SIMPLE: dict[str, Callable[[StatementParser, int], Statement]] = {
    "var": StatementParser.variable,
    "let": StatementParser.value,
    "const": StatementParser.value,
    "const_assert": StatementParser.const_assert,
    "return": StatementParser.return_,
    "break": StatementParser.jump,
    "continue": StatementParser.jump,
    "discard": StatementParser.jump,
}
