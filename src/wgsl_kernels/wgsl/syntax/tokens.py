"""Tokens of WGSL text, each with its place; template lists told from comparisons."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ShaderError, coded
from wgsl_kernels.wgsl.syntax.limits import COMMENTS, check_counts, check_depth
from wgsl_kernels.wgsl.syntax.names import KEYWORDS

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text

NAME = "name"
KEYWORD = "keyword"
NUMBER = "number"
MARK = "mark"
TEMPLATE = "template"
INCLUDE = "include"
END = "end"

_LINE_ENDS = "\n\v\f\r\x85\u2028\u2029"
_FOREIGN = "\u0080-\u0084\u0086-\u200d\u2010-\u2027\u202a-\U0010ffff"  # beyond ASCII, no blanks
_TOKEN = re.compile(
    rf"(?:[ \t{_LINE_ENDS}\u200e\u200f]+|//[^{_LINE_ENDS}]*)*(?:"
    rf"([A-Za-z_{_FOREIGN}][A-Za-z0-9_{_FOREIGN}]*)"
    r"|(0[xX](?:[0-9a-fA-F]*\.[0-9a-fA-F]+|[0-9a-fA-F]+\.?)(?:[pP][+-]?[0-9]+[fh]?)?(?:l?[iu])?"
    r"|(?:[0-9]*\.[0-9]+|[0-9]+\.?)(?:[eE][+-]?[0-9]+)?(?:l[iuf]|[fhiu])?)"
    r"|(/\*)"
    r"|(->|::|\+\+|--|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=(){}\[\],.;:@])"
    r'|(\#include[ \t]+"[^"\n]*")'
    r"|(.)"
    r"|\Z)",
    re.DOTALL,
)
_KINDS = ("", NAME, NUMBER, "comment", MARK, INCLUDE, "stray")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_ENDS_EXPRESSION = frozenset([";", "{", ":", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="])
_TEMPLATE_MARKS = _ENDS_EXPRESSION | frozenset(["<", ">", "(", "[", ")", "]", "&&", "||"])
_JOINED = frozenset(["<<", "<<=", "<=", ">>", ">>=", ">="])


@dataclass(frozen=True, slots=True)
class Token:
    """One token: ``text[begin:end]`` of the file.

    ``kind`` is TEMPLATE for the angle brackets of a template list; other ``<`` and ``>`` are
    marks, and joined to operators like ``>>=``.
    """

    kind: str
    text: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """A file's tokens as columns, which a parser reads faster than rows.

    The last one is of kind END, empty, and stands where the text ends.
    """

    kinds: list[str]
    texts: list[str]
    begins: list[int]
    ends: list[int]


def tokenize(source: Text) -> tuple[Token, ...]:
    """Return the tokens of ``source`` without blanks and comments; see ``scan``."""
    found = scan(source)
    rows = zip(found.kinds, found.texts, found.begins, found.ends, strict=True)
    return tuple(Token(*row) for row in rows)[:-1]


class UnbalancedError(ShaderError):
    """A bracket has no partner.

    Attributes:
        at: Where the text cannot go on as it is; None at its end.
        words: Which bracket has none.
    """

    def __init__(self, message: str, at: int | None, words: str) -> None:
        super().__init__(message)
        self.code = "syntax"
        self.at = at
        self.words = words


def scan(source: Text, *, is_balanced: bool = True) -> Tokens:
    """Return the tokens of ``source`` without blanks and comments.

    Characters that no token of WGSL begins with become marks of their own: the compiler names
    them better than a reader could.

    Args:
        source: The text.
        is_balanced: Whether its brackets must match.

    Raises:
        ShaderError: A block comment is never closed, brackets do not match, an include line is
            malformed, or the text is nested too deeply.
    """
    tokens = _scan(source)
    if is_balanced:
        _check_brackets(source, tokens)
    if _mark_templates(tokens):
        tokens = _join(tokens)
    check_depth(source, tokens, TEMPLATE)
    check_counts(source, tokens)
    return tokens


def _scan(source: Text) -> Tokens:
    text = source.text
    kinds: list[str] = []
    texts: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    at: int | None = 0
    while at is not None:
        start, at = at, None
        for match in _TOKEN.finditer(text, start):
            group = match.lastindex
            if group is None:
                break
            begin, end = match.span(group)
            word = match.group(group)
            kind = _KINDS[group]
            if kind is NAME:
                if word in KEYWORDS:
                    kind = KEYWORD
            elif kind == "comment":
                at = _comment_end(source, begin)
                break
            elif kind == "stray":
                kind = MARK
                if word == "#":
                    message = 'want #include "path"; WGSL has no other # line. Write a const.'
                    raise ShaderError(source.point(message, begin))
            kinds.append(kind)
            texts.append(word)
            begins.append(begin)
            ends.append(end)
    kinds.append(END)
    texts.append("")
    begins.append(len(text))
    ends.append(len(text))
    return Tokens(kinds, texts, begins, ends)


def _comment_end(source: Text, at: int) -> int:
    depth = 0
    for edge in _COMMENT_EDGE.finditer(source.text, at):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
        if depth > COMMENTS:
            message = f"this comment is nested more than {COMMENTS} levels deep."
            raise ShaderError(source.point(message, edge.start()))
    raise coded("syntax", source.point("this comment is never closed; want */.", at))


def _check_brackets(source: Text, tokens: Tokens) -> None:
    open_: list[tuple[str, int]] = []
    for at, text in enumerate(tokens.texts):
        if text in _CLOSERS:
            open_.append((text, tokens.begins[at]))
        elif text in (")", "]", "}"):
            begin = tokens.begins[at]
            if not open_:
                message = f"this {text} closes nothing."
                raise UnbalancedError(source.point(message, begin), begin, message)
            opener, opened = open_.pop()
            if _CLOSERS[opener] != text:
                message = (
                    f"this {opener} is not closed before the {text} of line "
                    f"{source.place(begin).line}; want {_CLOSERS[opener]}."
                )
                raise UnbalancedError(
                    source.point(message, opened), begin, _unclosed(source, opener, opened)
                )
    if open_:
        opener, opened = open_[-1]
        message = f"this {opener} is never closed; want {_CLOSERS[opener]}."
        words = _unclosed(source, opener, opened)
        raise UnbalancedError(source.point(message, opened), None, words)


def _unclosed(source: Text, opener: str, at: int) -> str:
    place = source.place(at)
    return f"The {opener} of line {place.line}, column {place.column} is not closed."


def _mark_templates(tokens: Tokens) -> bool:
    """Give the brackets of template lists their kind; say whether other ``<`` or ``>`` touch.

    Source: WebGPU Shading Language, section 3.9, template list discovery.
    """
    kinds, texts, begins = tokens.kinds, tokens.texts, tokens.begins
    pending: list[tuple[int, int]] = []
    depth = 0
    touch = False
    for at, text in enumerate(texts):
        if text not in _TEMPLATE_MARKS:
            continue
        if text == "<":
            followed = begins[at + 1] == begins[at] + 1 and texts[at + 1] in ("<", "=")
            touch = touch or followed
            if not followed and at and kinds[at - 1] in (NAME, KEYWORD):
                pending.append((at, depth))
        elif text == ">":
            if pending and pending[-1][1] == depth:
                kinds[pending.pop()[0]] = kinds[at] = TEMPLATE
            else:
                touch = touch or begins[at + 1] == begins[at] + 1
        elif text in ("(", "["):
            depth += 1
        elif text in (")", "]"):
            while pending and pending[-1][1] >= depth:
                pending.pop()
            depth = max(depth - 1, 0)
        elif text in ("&&", "||"):
            while pending and pending[-1][1] >= depth:
                pending.pop()
        elif text != "=" or not _is_comparison(tokens, at):
            depth = 0
            pending.clear()
    return touch


def _is_comparison(tokens: Tokens, at: int) -> bool:
    """Say whether the ``=`` at ``at`` ends ``<=``, ``>=`` or ``>>=``, which end no expression."""
    touches = at > 0 and tokens.ends[at - 1] == tokens.begins[at]
    if not touches or tokens.kinds[at - 1] == TEMPLATE or tokens.texts[at - 1] not in "<>":
        return False
    is_shift = (
        at > 1 and tokens.texts[at - 2] == "<" and tokens.ends[at - 2] == tokens.begins[at - 1]
    )
    return not is_shift


def _join(tokens: Tokens) -> Tokens:
    """Return the tokens with ``<`` and ``>`` outside templates joined to longer operators."""
    kinds: list[str] = []
    texts: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    rows = zip(tokens.kinds, tokens.texts, tokens.begins, tokens.ends, strict=True)
    for kind, text, begin, end in rows:
        if kind is MARK and ends and ends[-1] == begin and kinds[-1] is MARK:
            joined = texts[-1] + text
            if joined in _JOINED:
                texts[-1] = joined
                ends[-1] = end
                continue
        kinds.append(kind)
        texts.append(text)
        begins.append(begin)
        ends.append(end)
    return Tokens(kinds, texts, begins, ends)
