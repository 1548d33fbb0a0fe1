"""Reading a WGSL file's declarations. Bodies and expressions are left to the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wgsl_kernels.backends.webgpu.wgsl.facts import (
    Alias,
    Attribute,
    Constant,
    Declaration,
    Directive,
    Facts,
    Function,
    Include,
    Member,
    Other,
    Struct,
    Variable,
)
from wgsl_kernels.backends.webgpu.wgsl.places import Span, Text
from wgsl_kernels.backends.webgpu.wgsl.tokens import INCLUDE, NAME, Token, tokenize
from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from collections.abc import Callable

_DIRECTIVES = frozenset({"enable", "requires", "diagnostic"})
_KEYWORDS = frozenset({"fn", "struct", "var", "const", "override", "alias", "const_assert"})
_CLOSERS = {"(": ")", "[": "]", "{": "}"}


def read(source: Text) -> Facts:
    """Return what ``source`` declares.

    A declaration that is not understood is kept as ``Other``, so that the compiler can say in
    its own words what is wrong with it.

    Raises:
        ShaderError: A comment is never closed, brackets do not match, or an include is malformed.
    """
    tokens = tokenize(source)
    _check_brackets(source, tokens)
    return _Reader(source, tokens).facts()


def names_in(tokens: tuple[Token, ...]) -> frozenset[str]:
    """Return the names among ``tokens``, members after a dot excepted."""
    return frozenset(
        token.text
        for at, token in enumerate(tokens)
        if token.kind == NAME and (at == 0 or tokens[at - 1].text != ".")
    )


def _check_brackets(source: Text, tokens: tuple[Token, ...]) -> None:
    open_: list[Token] = []
    for token in tokens:
        if token.text in _CLOSERS:
            open_.append(token)
        elif token.text in _CLOSERS.values() and token.kind != INCLUDE:
            if not open_:
                raise ShaderError(source.point(f"this {token.text} closes nothing.", token.begin))
            opener = open_.pop()
            if _CLOSERS[opener.text] != token.text:
                place = source.place(token.begin)
                raise ShaderError(
                    source.point(
                        f"this {opener.text} is not closed before the {token.text} of line "
                        f"{place.line}; want {_CLOSERS[opener.text]}.",
                        opener.begin,
                    )
                )
    if open_:
        opener = open_[-1]
        message = f"this {opener.text} is never closed; want {_CLOSERS[opener.text]}."
        raise ShaderError(source.point(message, opener.begin))


class _NotUnderstoodError(Exception):
    """The tokens do not form the declaration that their keyword announces."""


class _Reader:
    """A cursor over the tokens of one file, whose brackets are known to match."""

    def __init__(self, source: Text, tokens: tuple[Token, ...]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0

    def facts(self) -> Facts:
        """Read the whole file."""
        directives: list[Directive] = []
        includes: list[Include] = []
        declarations: list[Declaration] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.kind == INCLUDE:
                includes.append(Include(token.text, Span(token.begin, token.end)))
                self.at += 1
            elif token.text == ";":
                self.at += 1
            elif token.text in _DIRECTIVES:
                directives.append(self._directive())
            else:
                declarations.append(self._declaration())
        return Facts(
            self.source,
            tuple(directives),
            tuple(includes),
            tuple(declarations),
            names_in(self.tokens),
            self._indexed(),
        )

    def _indexed(self) -> frozenset[str]:
        return frozenset(
            token.text
            for at, token in enumerate(self.tokens[:-1])
            if token.kind == NAME
            and self.tokens[at + 1].text == "["
            and (at == 0 or self.tokens[at - 1].text != ".")
        )

    def _directive(self) -> Directive:
        first = self.tokens[self.at]
        self.at += 1
        start = self.at
        while self.at < len(self.tokens) and self.tokens[self.at].text != ";":
            if self.tokens[self.at].text in _KEYWORDS:
                break
            self.at += 1
        end = min(self.at, len(self.tokens) - 1)
        arguments = self._slice(start, self.at)
        if self.tokens[end].text == ";":
            self.at += 1
        else:
            end = self.at - 1
        return Directive(first.text, arguments, Span(first.begin, self.tokens[end].end))

    def _declaration(self) -> Declaration:
        start = self.at
        try:
            attributes = self._attributes()
            keyword = self._expect_name()
            read_rest = self._forms().get(keyword)
            if read_rest is None:
                raise _NotUnderstoodError
            return read_rest(start, attributes)
        except _NotUnderstoodError:
            return self._other(start, known=False)

    def _forms(self) -> dict[str, Callable[[int, tuple[Attribute, ...]], Declaration]]:
        return {
            "fn": self._function,
            "struct": self._struct,
            "var": self._variable,
            "const": self._constant,
            "override": self._constant,
            "alias": self._alias,
            "const_assert": lambda start, _: self._other(start, known=True),
        }

    # What follows reads one declaration each, from behind its keyword.

    def _function(self, start: int, attributes: tuple[Attribute, ...]) -> Declaration:
        name = self._expect_kind(NAME)
        self._expect("(")
        parameters = self._members(")")
        returns = None
        returns_at = name
        if self._skip("->"):
            self._attributes()
            returns_at = self._peek()
            returns = self._type()
        body_begin = self._peek().begin
        self._group("{")
        body = Span(body_begin, self.tokens[self.at - 1].end)
        span, names = self._since(start)
        returns_span = Span(returns_at.begin, returns_at.end)
        return Function(
            name.text, span, _span(name), names, parameters, returns, returns_span, attributes, body
        )

    def _struct(self, start: int, attributes: tuple[Attribute, ...]) -> Declaration:
        name = self._expect_kind(NAME)
        self._expect("{")
        fields = self._members("}")
        close = self.tokens[self.at - 1].begin
        span, names = self._since(start)
        return Struct(name.text, span, _span(name), names, fields, close)

    def _variable(self, start: int, attributes: tuple[Attribute, ...]) -> Declaration:
        space, access = "", ""
        if self._skip("<"):
            space = self._expect_name()
            access = "read" if space == "storage" else "read_write"
            if self._skip(","):
                access = self._expect_name()
                self._skip(",")
            self._expect(">")
        name = self._expect_kind(NAME)
        type_ = self._type() if self._skip(":") else ""
        self._to_semicolon()
        span, names = self._since(start)
        return Variable(
            name.text,
            span,
            _span(name),
            names,
            space,
            "read" if space == "uniform" else access,
            type_,
            _number(attributes, "group"),
            _number(attributes, "binding"),
        )

    def _constant(self, start: int, attributes: tuple[Attribute, ...]) -> Declaration:
        keyword = self.tokens[self.at - 1].text
        name = self._expect_kind(NAME)
        type_ = self._type() if self._skip(":") else None
        value = None
        if self._skip("="):
            begin = self.at
            self._to_semicolon()
            value = self._slice(begin, self.at - 1)
        else:
            self._expect(";")
        span, names = self._since(start)
        return Constant(name.text, span, _span(name), names, keyword, type_, value)

    def _alias(self, start: int, attributes: tuple[Attribute, ...]) -> Declaration:
        name = self._expect_kind(NAME)
        self._expect("=")
        type_ = self._type()
        self._expect(";")
        span, names = self._since(start)
        return Alias(name.text, span, _span(name), names, type_)

    def _other(self, start: int, *, known: bool) -> Declaration:
        """Take what stands from ``start`` to where the next declaration can begin."""
        self.at = start
        depth = 0
        seen_keyword = False
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if depth == 0 and seen_keyword and token.text in (_KEYWORDS | {"@"}):
                break
            seen_keyword = seen_keyword or token.text in _KEYWORDS
            depth += (token.text in _CLOSERS) - (token.text in _CLOSERS.values())
            self.at += 1
            if depth == 0 and token.text in (";", "}"):
                break
        span, names = self._since(start)
        first = self.tokens[start]
        return Other("", span, _span(first), names, known)

    # What follows reads parts of declarations.

    def _attributes(self) -> tuple[Attribute, ...]:
        found: list[Attribute] = []
        while self.at < len(self.tokens) and self.tokens[self.at].text == "@":
            begin = self.tokens[self.at].begin
            self.at += 1
            name = self._expect_name()
            arguments: tuple[str, ...] = ()
            if self._peek().text == "(":
                arguments = self._group("(")
            found.append(Attribute(name, arguments, Span(begin, self.tokens[self.at - 1].end)))
        return tuple(found)

    def _members(self, closer: str) -> tuple[Member, ...]:
        """Read ``name: type, ...`` up to and with ``closer``."""
        found: list[Member] = []
        while not self._skip(closer):
            start = self.at
            attributes = self._attributes()
            name = self._expect_kind(NAME)
            self._expect(":")
            type_ = self._type()
            span = Span(self.tokens[start].begin, self.tokens[self.at - 1].end)
            found.append(Member(name.text, type_, attributes, span))
            if not self._skip(",") and self._peek().text != closer:
                raise _NotUnderstoodError
        return tuple(found)

    def _type(self) -> str:
        start = self.at
        self._expect_kind(NAME)
        if self._skip("<"):
            depth = 1
            while depth:
                if self._peek().text in ("(", "["):
                    self._group(self._peek().text)
                    continue
                if self._peek().text in (";", "{", "}", ")", "]"):
                    raise _NotUnderstoodError
                if self._is_left_shift():
                    self.at += 2
                    continue
                depth += (self._peek().text == "<") - (self._peek().text == ">")
                self.at += 1
        words = (token.text for token in self.tokens[start : self.at])
        return "".join(", " if word == "," else word for word in words)

    def _is_left_shift(self) -> bool:
        """Say whether two ``<`` touch here; a ``>>`` always closes two template lists."""
        pair = self.tokens[self.at : self.at + 2]
        return [token.text for token in pair] == ["<", "<"] and pair[0].end == pair[1].begin

    def _group(self, opener: str) -> tuple[str, ...]:
        """Pass a bracketed group; return the texts between its top-level commas."""
        self._expect(opener)
        parts: list[str] = []
        start = self.at
        depth = 1
        while True:
            token = self._peek()
            depth += (token.text in _CLOSERS) - (token.text in _CLOSERS.values())
            if (depth == 0 or (depth == 1 and token.text == ",")) and self.at > start:
                parts.append(self._slice(start, self.at))
                start = self.at + 1
            self.at += 1
            if depth == 0:
                return tuple(parts)

    def _to_semicolon(self) -> None:
        """Pass everything up to and with the next ``;`` outside brackets."""
        depth = 0
        while True:
            token = self._peek()
            if depth == 0 and token.text in _KEYWORDS:
                raise _NotUnderstoodError
            depth += (token.text in _CLOSERS) - (token.text in _CLOSERS.values())
            self.at += 1
            if depth == 0 and token.text == ";":
                return

    def _peek(self) -> Token:
        if self.at >= len(self.tokens):
            raise _NotUnderstoodError
        return self.tokens[self.at]

    def _skip(self, text: str) -> bool:
        if self._peek().text != text:
            return False
        self.at += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            raise _NotUnderstoodError

    def _expect_kind(self, kind: str) -> Token:
        token = self._peek()
        if token.kind != kind:
            raise _NotUnderstoodError
        self.at += 1
        return token

    def _expect_name(self) -> str:
        return self._expect_kind(NAME).text

    def _slice(self, start: int, stop: int) -> str:
        if stop <= start:
            return ""
        return self.source.text[self.tokens[start].begin : self.tokens[stop - 1].end]

    def _since(self, start: int) -> tuple[Span, frozenset[str]]:
        tokens = self.tokens[start : self.at]
        return Span(tokens[0].begin, tokens[-1].end), names_in(tokens)


def _span(token: Token) -> Span:
    return Span(token.begin, token.end)


def _number(attributes: tuple[Attribute, ...], name: str) -> int | None:
    for attribute in attributes:
        if attribute.name == name and attribute.arguments:
            text = attribute.arguments[0].rstrip("iu")
            return int(text) if text.isdecimal() else None
    return None
