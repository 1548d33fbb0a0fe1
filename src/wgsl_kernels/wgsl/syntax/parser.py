"""Parsing WGSL: text in, a syntax tree out, by recursive descent.

What is not understood stays in the tree as ``Broken``, and the module says what was wanted: the
compiler has the last word on whether a shader is valid.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ShaderError, coded
from wgsl_kernels.wgsl.syntax.edited import EditedText
from wgsl_kernels.wgsl.syntax.expressions import WantedError
from wgsl_kernels.wgsl.syntax.known import once_per_text
from wgsl_kernels.wgsl.syntax.places import Text
from wgsl_kernels.wgsl.syntax.statements import StatementParser
from wgsl_kernels.wgsl.syntax.tokens import END, INCLUDE, NAME, UnbalancedError
from wgsl_kernels.wgsl.syntax.tree import (
    Alias,
    Attribute,
    Broken,
    CompoundStatement,
    Declaration,
    Directive,
    Expression,
    Function,
    Ident,
    Include,
    Module,
    Parameter,
    Struct,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECTIVES = frozenset({"enable", "requires", "diagnostic"})
_STARTERS = frozenset({"fn", "struct", "var", "const", "override", "alias", "const_assert"})
_OPENERS, _CLOSERS = frozenset("([{"), frozenset(")]}")


@once_per_text
def parse(source: Text) -> Module:
    """Return the syntax tree of ``source``.

    Raises:
        ShaderError: A comment is never closed, brackets do not match, or an include is malformed.
    """
    if isinstance(source, EditedText) and source.known is not None:
        module: Module = source.known.module
        return module
    try:
        parser = Parser(source)
    except UnbalancedError as error:
        raise nearer(error, source, lambda: Parser(source, is_balanced=False).module()) from None
    return parser.module()


def nearer(error: UnbalancedError, source: Text, read: Callable[[], object]) -> ShaderError:
    """Return where a text with an unmatched bracket stops being WGSL: mostly before it is missed.

    Args:
        error: The bracket.
        source: The text.
        read: Reads it in spite of that, up to where it cannot go on.
    """
    try:
        read()
    except WantedError as wanted:
        begin = wanted.problem.begin
        missed = len(source.text.rstrip()) if error.at is None else error.at
        if begin < missed:
            message = f"{wanted.problem.message} {error.words}"
            return coded("syntax", source.point(message, begin))
    except (IndexError, ShaderError):
        pass
    return error


@functools.lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression | None:
    """Return the tree of one expression or type, None where ``text`` is no such."""
    try:
        parser = Parser(Text("", text))
        found = parser.expression()
    except (WantedError, ShaderError):
        return None
    return found if parser.kinds[parser.at] is END else None


class Parser(StatementParser):
    """The parts of the grammar that stand at module level.

    It goes on behind what is not understood where brackets match, and raises `WantedError` else.
    """

    def __init__(self, source: Text, *, is_balanced: bool = True) -> None:
        super().__init__(source, is_balanced=is_balanced)
        self._is_balanced = is_balanced

    def module(self) -> Module:
        """Read a whole file, going on behind what is not understood."""
        directives: list[Directive] = []
        includes: list[Include] = []
        declarations: list[Declaration] = []
        while self.kinds[self.at] is not END:
            text = self.texts[self.at]
            if text == ";":
                self.at += 1
            elif self.kinds[self.at] is INCLUDE:
                path = text.partition('"')[2].rstrip('"')
                includes.append(Include(self.begins[self.at], self.ends[self.at], path))
                self.at += 1
            else:
                found = self._guarded(self.directive if text in DIRECTIVES else self._declaration)
                if isinstance(found, Directive):
                    directives.append(found)
                else:
                    declarations.append(found)
        problems = tuple(sorted(self.problems, key=lambda problem: problem.begin))
        return Module(
            self.source, tuple(directives), tuple(includes), tuple(declarations), problems
        )

    def _guarded(self, read: Callable[[], Declaration | Directive]) -> Declaration | Directive:
        start = self.at
        try:
            return read()
        except WantedError as error:
            if not self._is_balanced:
                raise
            self.problems.append(error.problem)
        return self._skip_declaration(start)

    def directive(self) -> Directive:
        """Read ``enable``, ``requires`` or ``diagnostic`` with its semicolon."""
        begin = self.begins[self.at]
        keyword = self.texts[self.at]
        self.at += 1
        if self.texts[self.at] == "(":
            arguments = self.arguments()
        else:
            arguments = (self.type(),)
            while self.skip(",") and self.texts[self.at] != ";":
                arguments += (self.type(),)
        self.expect(";")
        return Directive(begin, self.ends[self.at - 1], keyword, arguments)

    def _declaration(self) -> Declaration:
        return self.declaration(*self.leading())

    def declaration(self, begin: int, attributes: tuple[Attribute, ...]) -> Declaration:
        """Read one declaration behind its attributes."""
        keyword = self.texts[self.at]
        if keyword == "fn":
            return self._function(begin, attributes)
        if keyword == "struct":
            return self._struct(begin)
        if keyword == "var":
            found: Declaration = self.variable(begin, attributes)
        elif keyword in ("const", "override"):
            found = self.value(begin, attributes)
        elif keyword == "alias":
            found = self._alias(begin)
        elif keyword == "const_assert":
            found = self.const_assert(begin)
        else:
            self.fail("a declaration")
        self.expect(";")
        return dataclasses.replace(found, end=self.ends[self.at - 1])

    def _function(self, begin: int, attributes: tuple[Attribute, ...]) -> Function:
        self.at += 1
        ident = self.ident("a function")
        self.expect("(")
        parameters = self.parameters(")")
        return_attributes: tuple[Attribute, ...] = ()
        returns = None
        if self.skip("->"):
            return_attributes = self.attributes()
            returns = self.type()
        inner = self.attributes()
        body = self._body(inner)
        end = self.ends[self.at - 1]
        return Function(begin, end, attributes, ident, parameters, return_attributes, returns, body)

    def _body(self, attributes: tuple[Attribute, ...]) -> CompoundStatement | Broken:
        start = self.at
        if self.texts[start] != "{":
            self.fail("'{'")
        try:
            return self.block(attributes)
        except WantedError as error:
            if not self._is_balanced:
                raise
            self.problems.append(error.problem)
        self.at = start
        self._skip_group()
        return self._broken(start)

    def _struct(self, begin: int) -> Struct:
        self.at += 1
        ident = self.ident("a struct")
        self.expect("{")
        members = self.parameters("}")
        return Struct(begin, self.ends[self.at - 1], ident, members)

    def _alias(self, begin: int) -> Alias:
        self.at += 1
        ident = self.ident("an alias")
        self.expect("=")
        type_ = self.type()
        return Alias(begin, type_.end, ident, type_)

    def parameters(self, closer: str) -> tuple[Parameter, ...]:
        """Read ``name: type, ...`` up to and with ``closer``."""
        what = "a parameter" if closer == ")" else "a field"
        found: list[Parameter] = []
        while not self.skip(closer):
            begin, attributes = self.leading()
            ident = self.ident(what)
            self.expect(":")
            type_ = self.type()
            found.append(Parameter(begin, type_.end, attributes, ident, type_))
            if not self.skip(",") and self.texts[self.at] != closer:
                self.fail(f"',' or {closer!r}")
        return tuple(found)

    # Going on behind what is not understood.

    def _skip_group(self) -> None:
        """Pass a bracketed group; brackets are known to match."""
        depth = 0
        while True:
            text = self.texts[self.at]
            depth += (text in _OPENERS) - (text in _CLOSERS)
            self.at += 1
            if depth == 0:
                return

    def _skip_declaration(self, start: int) -> Broken:
        """Take what stands from ``start`` to where the next declaration can begin."""
        self.at = start
        depth = 0
        seen_keyword = False
        while self.kinds[self.at] is not END:
            text = self.texts[self.at]
            if depth == 0 and seen_keyword and (text in _STARTERS or text == "@"):
                break
            seen_keyword = seen_keyword or text in _STARTERS or text in DIRECTIVES
            depth += (text in _OPENERS) - (text in _CLOSERS)
            self.at += 1
            if depth == 0 and text in (";", "}"):
                break
        return self._broken(start)

    def _broken(self, start: int) -> Broken:
        names = tuple(
            Ident(self.begins[at], self.ends[at], self.texts[at])
            for at in range(start, self.at)
            if self.kinds[at] is NAME and self.texts[at - 1] != "."
        )
        begin, end = self.begins[start], self.ends[self.at - 1]
        return Broken(begin, end, self.source.text[begin:end], names)
