"""Tokens of WGSL text, each with its place."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.engine.errors import ShaderError

if TYPE_CHECKING:
    from wgsl_kernels.backends.webgpu.wgsl.places import Text

NAME = "name"
NUMBER = "number"
MARK = "mark"
INCLUDE = "include"

_LINE_END = re.compile("[\n\v\f\r\x85\u2028\u2029]")
_BLANK = re.compile("[ \t\n\v\f\r\x85\u200e\u200f\u2028\u2029]+")
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(
    r"0[xX](?:[0-9a-fA-F]*\.[0-9a-fA-F]+|[0-9a-fA-F]+\.?)(?:[pP][+-]?[0-9]+[fh]?)?[iu]?"
    r"|(?:[0-9]*\.[0-9]+|[0-9]+\.?)(?:[eE][+-]?[0-9]+)?[fhiu]?"
)
_MARK = re.compile(r"->|==|!=|&&|\|\||[-+*/%&|^~!<>=(){}\[\],.;:@]")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_INCLUDE = re.compile(r'#include[ \t]+"([^"\n]*)"')


@dataclass(frozen=True, slots=True)
class Token:
    """One token: ``text[begin:end]`` of the file; for an include, ``text`` is the path.

    ``<`` and ``>`` are always single, so that template lists nest; two of them that touch are a
    shift operator only where an expression is read.
    """

    kind: str
    text: str
    begin: int
    end: int


@functools.lru_cache(maxsize=256)
def tokenize(source: Text) -> tuple[Token, ...]:
    """Return the tokens of ``source`` without blanks and comments.

    Characters that no token of WGSL begins with become marks of their own: the compiler names
    them better than a reader of declarations could.

    Raises:
        ShaderError: A block comment is never closed, or an include line is malformed.
    """
    text = source.text
    found: list[Token] = []
    at = 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
        elif text.startswith("//", at):
            line_end = _LINE_END.search(text, at)
            at = line_end.start() if line_end else len(text)
        elif text.startswith("/*", at):
            at = _comment_end(source, at)
        else:
            token = _token(source, at)
            found.append(token)
            at = token.end
    return tuple(found)


def _token(source: Text, at: int) -> Token:
    text = source.text
    if text[at] == "#":
        include = _INCLUDE.match(text, at)
        if include is None:
            raise ShaderError(source.point('want #include "path"; WGSL has no other # line.', at))
        return Token(INCLUDE, include.group(1), at, include.end())
    for kind, pattern in ((NAME, _NAME), (NUMBER, _NUMBER), (MARK, _MARK)):
        match = pattern.match(text, at)
        if match is not None:
            return Token(kind, match.group(), at, match.end())
    return Token(MARK, text[at], at, at + 1)


def _comment_end(source: Text, at: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(source.text, at):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise ShaderError(source.point("this comment is never closed; want */.", at))
